"""The base classes of transforms: stateless, differentiable functions T(x; μ).

Transform            params of its own
├── Bernoulli        the whole transform with probability μ · limit, else nothing
├── Linear           x plus a linear function of x
└── Ranged           a strength, drawn for each sample
    ├── Unsigned     uniform on [0, μ · limit]
    └── Signed       uniform on ±μ · limit
        ├── Affine       an affine map of images (geometry.py)
        └── Resampling   signals, read at other times (time.py)
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

import torch
from torch import Generator, Tensor

from augnet import validation
from augnet.transforms.noise import uniform
from augnet.transforms.relax import bernoulli

Params: TypeAlias = Any
"""A tensor, or tensors in a tuple or list; the batch is their first axis."""
Magnitude: TypeAlias = float | Tensor
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True)
class Domain:
    """A kind of input: its name and its axes; digits are fixed sizes."""

    name: str
    axes: tuple[str, ...]

    def fits(self, shape: Sequence[int]) -> bool:
        """Tell whether a batch of this shape is of this kind."""
        if self.axes[-1] == "...":
            return len(shape) >= len(self.axes) - 1
        return len(shape) == len(self.axes) and all(
            not axis.isdigit() or int(axis) == size
            for axis, size in zip(self.axes, shape, strict=True)
        )

    def __str__(self) -> str:
        return f"{self.name} ({', '.join(self.axes)})"


IMAGES = Domain("images", ("B", "C", "H", "W"))
COLOR_IMAGES = Domain("color images", ("B", "3", "H", "W"))
SIGNALS = Domain("signals", ("B", "C", "T"))
ANYTHING = Domain("batches", ("B", "..."))


@dataclass(frozen=True)
class Transform(ABC):
    """A transform T(x; μ): the identity at magnitude 0, at its `limit` at magnitude 1.

    `sample_params` draws random params, `apply` is a pure function of its arguments. Params depend
    on the shape of the batch only, not on its values nor on the magnitude, and have the batch as
    their first axis: the params of some samples are a slice of the params of all. So one draw can
    be applied at several magnitudes, and params can be drawn before the data is there.

    Magnitude 0 is the identity exactly, without a tolerance. Transforms therefore add what they
    change to the input.

    A transform has no parameters, no state and no device. It can be printed, compared and hashed.
    """

    limit: float

    name: ClassVar[str]
    unit: ClassVar[str]
    domain: ClassVar[Domain] = ANYTHING
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    """Valid limits: above the first, up to the second."""
    prefix: ClassVar[str] = ""
    """What `describe` writes before a strength: `up to `, `±`."""
    batch_coupled: ClassVar[bool] = False
    """Whether the view of a sample depends on other samples; `apply` then needs the whole batch."""
    resamples: ClassVar[bool] = True
    """Whether values move to other places, which leaves traces: soft edges, margins, gaps."""
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Laws of `augnet.testing` that do not hold for this transform, each with the reason."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):  # FTSurrogate becomes ft_surrogate
            humps = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
            cls.name = re.sub(humps, "_", cls.__name__).lower()

    def __post_init__(self) -> None:
        low, high = self.bounds
        if not isinstance(self.limit, Real):
            raise TypeError(f"{self.name} takes a number as its limit; got {self.limit!r}")
        if not (low < self.limit <= high and math.isfinite(self.limit)):
            expected = f"above {low:g}" + ("" if math.isinf(high) else f" and up to {high:g}")
            raise ValueError(f"{self.name} takes a limit {expected} {self.unit}; got {self.limit}")

    @abstractmethod
    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Params:
        """Draw params for a batch of shape (B, ...), in the dtype and on the device of `like`."""

    @abstractmethod
    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Transform a batch at one magnitude, or at one per sample, with these params."""

    def __call__(
        self, x: Tensor, magnitude: Magnitude = 1.0, generator: Generator | None = None
    ) -> Tensor:
        """Check the input, draw params, and transform each sample with its own."""
        validation.batch(x, self.name)
        self.check(x)
        validation.magnitude(magnitude, x, self.name)
        with full_precision(x):
            return checked_apply(self, x, magnitude, self.sample_params(x.shape, x, generator))

    def strength(self, magnitude: Any) -> Any:
        """Convert a magnitude to physical units (`unit`)."""
        return magnitude * self.limit

    def describe(self, magnitude: float) -> str:
        """Describe a magnitude: `±45.0°`, `up to 4.00 bits`, `with probability 0.50`."""
        strength = self.strength(magnitude)
        if self.unit == "probability":
            return f"with probability {strength:.2f}"
        number = f"{strength:#.3g}".rstrip(".")
        return f"{self.prefix}{number}{'°' if self.unit == 'degrees' else f' {self.unit}'}"

    def check(self, x: Tensor) -> None:
        """Raise an error if `x` is not of this transform's domain."""
        if not self.domain.fits(x.shape):
            raise ValueError(f"{self.name} takes {self.domain}; got shape {tuple(x.shape)}")
        validation.floats(x, self.name)


@dataclass(frozen=True)
class Bernoulli(Transform):
    """Apply the whole transform to a sample with probability μ · limit, else nothing.

    Outcomes are hard; the gradient in the probability is that of `bernoulli`.
    """

    limit: float = 0.5

    unit: ClassVar[str] = "probability"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"exact_gradient": "an outcome is applied or not: its gradient is a straight-through one"}
    )

    @abstractmethod
    def transform(self, x: Tensor) -> Tensor:
        """Transform all samples."""

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw one number per sample, which is compared with the probability."""
        return uniform(like, shape[:1], generator)

    def outcomes(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Return 1 for each sample that is transformed and 0 for the others, (B,)."""
        return bernoulli(params, self.strength(per_sample(magnitude, x)))

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Transform the samples whose outcome is 1."""
        return x.lerp(self.transform(x), spread(self.outcomes(x, magnitude, params), x))


@dataclass(frozen=True)
class Linear(Transform):
    """Add to each sample a linear function of it: x + O x.

    Operators can be summed before they act: Σ w (x + O x) = (Σ w) x + (Σ w O) x. A mixture of
    transforms with the same `act`, such as filters, therefore costs one action: all filters of a
    layer share one Fourier transform and its inverse, all sensor rotations one matrix product.
    """

    @abstractmethod
    def operator(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Return the operators of a batch as `act` takes them, 0 at magnitude 0."""

    @staticmethod
    @abstractmethod
    def act(x: Tensor, operator: Tensor) -> Tensor:
        """Apply operators, one per sample: O x."""

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Add what the operator makes of each sample."""
        return x + self.act(x, self.operator(x, magnitude, params))


@dataclass(frozen=True)
class Ranged(Transform):
    """Transform each sample at a strength drawn from a range; subclass `Unsigned` or `Signed`."""

    low: ClassVar[float]
    """The lowest number that is drawn; the highest is 1."""

    @abstractmethod
    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Transform each sample at its own strength, shape (B,), in physical units."""

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw one fraction of the magnitude per sample."""
        return uniform(like, shape[:1], generator, self.low, 1.0)

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Transform each sample at its own fraction of the magnitude."""
        return self.transform(x, self.strength(params * per_sample(magnitude, x)))


@dataclass(frozen=True)
class Unsigned(Ranged):
    """Transform each sample at a strength uniform on [0, μ · limit]."""

    low: ClassVar[float] = 0.0
    prefix: ClassVar[str] = "up to "


@dataclass(frozen=True)
class Signed(Ranged):
    """Transform each sample at a strength uniform on ±μ · limit."""

    low: ClassVar[float] = -1.0
    prefix: ClassVar[str] = "±"


class Multiplicative:
    """A mixin for signed transforms whose strength is a factor from 1 / limit^μ to limit^μ."""

    limit: float

    unit: ClassVar[str] = "times"
    bounds: ClassVar[tuple[float, float]] = (1.0, math.inf)
    prefix: ClassVar[str] = "up or down "

    def strength(self, magnitude: Any) -> Any:
        """Convert a magnitude to a factor; a negative magnitude gives its inverse."""
        return self.limit**magnitude


def checked_apply(
    transform: Transform,
    x: Tensor,
    magnitude: Magnitude,
    params: Params,
    rows: Tensor | None = None,
) -> Tensor:
    """Apply a transform to all samples, or to some rows, and check that shape and dtype are kept.

    A batch-coupled transform is applied to the whole batch even if only some rows are wanted.
    """
    coupled = transform.batch_coupled
    if rows is not None and not coupled:
        x, params = x[rows], take(params, rows)
    view = transform.apply(x, magnitude, params)
    if view.shape != x.shape or view.dtype != x.dtype:
        raise TypeError(
            f"{transform.name} made {view.dtype} {tuple(view.shape)} of {x.dtype} "
            f"{tuple(x.shape)}: a transform keeps shape and type"
        )
    return view[rows] if rows is not None and coupled else view


def full_precision(x: Tensor) -> AbstractContextManager[object]:
    """Disable autocast, which is for trunks: positions and phases do not survive bfloat16."""
    kind = x.device.type
    available = torch.amp.is_autocast_available(kind)
    return torch.autocast(kind, enabled=False) if available else nullcontext()


def per_sample(value: Magnitude, x: Tensor) -> Tensor:
    """Return one value, or one per sample, as a tensor of shape (B,) in the dtype of `x`."""
    if not isinstance(value, Tensor):
        return x.new_full(x.shape[:1], value)
    return value.to(x.dtype).expand(x.shape[0])


def spread(values: Tensor, x: Tensor) -> Tensor:
    """Reshape one value per sample so that it broadcasts over the rest of `x`."""
    return values.reshape(-1, *(1,) * (x.dim() - 1))


def constant(
    make: Callable[[K, torch.device, torch.dtype], Tensor],
) -> Callable[[K, Tensor], Tensor]:
    """Keep what `make` makes of each key, on the device and in the dtype of another tensor.

    To copy values to a device for each batch would make the host wait. Graphs keep nothing, because
    tensors in a graph have no values, and tensors that are kept are not of inference mode, because
    training uses them too.
    """
    kept = lru_cache(maxsize=64)(torch.inference_mode(False)(make))

    def placed(key: K, like: Tensor) -> Tensor:
        found = make if torch.compiler.is_compiling() else kept
        return found(key, like.device, like.dtype)

    return placed


def take(params: Params, rows: Tensor | slice) -> Params:
    """Return the params of some samples of the batch."""
    if isinstance(params, tuple | list):
        parts = [take(part, rows) for part in params]
        return type(params)(*parts) if hasattr(params, "_fields") else type(params)(parts)
    return None if params is None else params[rows]


def join(params: Sequence[Params]) -> Params:
    """Concatenate the params of several batches: the reverse of `take`."""
    first = params[0]
    if isinstance(first, tuple | list):
        parts = [join(part) for part in zip(*params, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return first if first is None or len(params) == 1 else torch.cat(list(params))


def grouped(choice: Tensor, count: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Return the rows of each of `count` choices, and the order that undoes the grouping.

    This reads the sizes of the groups from the device, once.
    """
    sizes = choice.bincount(minlength=count).tolist()
    order = choice.argsort(stable=True)
    return order.split(sizes), order.argsort()
