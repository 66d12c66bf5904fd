"""What a transform is: a stateless, differentiable transformation T(x; μ), and its families.

Transform            a transform with noise of its own
├── Bernoulli         a coin: the whole transformation, with probability μ · limit
├── Linear           an operator: x plus a linear function of x
└── Unsigned           a strength, uniform on [0, μ · limit]
    └── Signed       a signed strength, uniform on ±μ · limit
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Real
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import torch
from torch import Generator, Tensor

from augnet import validation
from augnet.transforms.noise import uniform
from augnet.transforms.relax import bernoulli

Noise: TypeAlias = Any  # a tensor or some of them in a tuple, the batch being their first axis
Magnitude: TypeAlias = float | Tensor


@dataclass(frozen=True)
class Domain:
    """A kind of input: its name and its axes, of which numbers are fixed sizes."""

    name: str
    axes: tuple[str, ...]

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether a batch of this shape is of this kind."""
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
    """A transform: T(x; μ), the identity at magnitude 0 and at full strength, `limit`, at magnitude 1.

    First the dice, then a pure function: `sample` draws noise that knows nothing of the
    magnitude, `transform` rolls no dice and is differentiable in `x` and in the magnitude. All
    noise has the batch as its first axis. Calling the transform does both, with its input checked.

    The dice of many copies, and of layers to come, are rolled before what they act on is there: so
    `sample` looks at the shape of `x`, and a transform that needs values of other samples rolls who
    they are (`roll`) and looks when they are there (`meet`).

    A transform has no parameters, no state and no device; it can be printed, compared and hashed.
    """

    limit: float

    name: ClassVar[str]
    unit: ClassVar[str]
    domain: ClassVar[Domain] = ANYTHING
    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    """Limits that make sense: above the first, up to the second."""
    reach: ClassVar[str] = ""
    """How a strength is spoken of, before the number: `up to `, `±`."""
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Laws (see tests/test_laws.py) that do not hold for this transform, each with the reason."""

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
    def sample(self, x: Tensor, generator: Generator | None = None) -> Noise:
        """Roll the dice for a batch, whatever the magnitude."""

    @abstractmethod
    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Transform a batch at one magnitude, or at one per sample, given the dice."""

    def roll(self, x: Tensor, generator: Generator | None = None) -> Noise:
        """Roll the dice for a batch that has the shape of `x`, whatever its values."""
        return self.sample(x, generator)

    def meet(self, x: Tensor, rolled: Noise) -> Noise:
        """Make noise of what was rolled, now that the batch is there."""
        return rolled

    def strength(self, magnitude: Any) -> Any:
        """Give a magnitude in physical units (`unit`)."""
        return magnitude * self.limit

    def describe(self, magnitude: float) -> str:
        """Give a magnitude in transforms: `±45.0°`, `up to 4.00 bits`, `with probability 0.50`."""
        strength = self.strength(magnitude)
        if self.unit == "probability":
            return f"with probability {strength:.2f}"
        number = f"{strength:#.3g}".rstrip(".")
        return f"{self.reach}{number}{'°' if self.unit == 'degrees' else f' {self.unit}'}"

    def check(self, x: Tensor) -> None:
        """Refuse what is not of this transform's domain."""
        if not self.domain.fits(tuple(x.shape)):
            raise ValueError(f"{self.name} takes {self.domain}; got shape {tuple(x.shape)}")
        validation.floats(x, self.name)

    def __call__(
        self, x: Tensor, magnitude: Magnitude = 1.0, generator: Generator | None = None
    ) -> Tensor:
        """Transform each sample with noise of its own."""
        validation.batch(x, self.name)
        self.check(x)
        validation.magnitude(magnitude, x, self.name)
        with full_precision(x):
            return self.view(x, magnitude, generator)

    def view(self, x: Tensor, magnitude: Magnitude, generator: Generator | None = None) -> Tensor:
        """Sample and transform: what layers do, having checked their input once."""
        return self.replay(x, magnitude, self.sample(x, generator))

    def replay(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Transform, and insist that shape and type survive."""
        view = self.transform(x, magnitude, noise)
        if view.shape != x.shape or view.dtype != x.dtype:
            raise TypeError(
                f"{self.name} made {view.dtype} {tuple(view.shape)} of {x.dtype} "
                f"{tuple(x.shape)}: a transform keeps shape and type"
            )
        return view


@dataclass(frozen=True)
class Bernoulli(Transform):
    """A coin: the whole transformation or nothing, so that a flip has a magnitude like others."""

    limit: float = 0.5

    unit: ClassVar[str] = "probability"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"exact gradient": "a coin has two outcomes: its gradient is a straight-through one"}
    )

    @abstractmethod
    def apply(self, x: Tensor) -> Tensor:
        """Transform every sample."""

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw one number per sample, to be compared with the probability."""
        return uniform(x, x.shape[:1], generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Transform the samples whose coin shows heads."""
        tossed = bernoulli(noise, self.strength(per_sample(magnitude, x)))
        return x.lerp(self.apply(x), spread(tossed, x))


@dataclass(frozen=True)
class Linear(Transform):
    """A transform that adds to a sample a linear function of it: x + O x.

    Operators can be summed before they act. So a mixture of transforms that act alike, such as two
    filters, costs one action: Σ w (x + O x) = (Σ w) x + (Σ w O) x.
    """

    @abstractmethod
    def operator(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Give the operators of a batch, 0 at magnitude 0, in the form that `act` takes."""

    @staticmethod
    @abstractmethod
    def act(x: Tensor, operator: Tensor) -> Tensor:
        """Apply operators, one per sample: O x."""

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Add what the operator makes of each sample."""
        return x + self.act(x, self.operator(x, magnitude, noise))


@dataclass(frozen=True)
class Unsigned(Transform):
    """A strength that is uniform between nothing and μ · limit."""

    reach: ClassVar[str] = "up to "

    @abstractmethod
    def apply(self, x: Tensor, strength: Tensor) -> Tensor:
        """Transform each sample at its own strength, shape (B,), in physical units."""

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw one number in [0, 1) per sample."""
        return uniform(x, x.shape[:1], generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Transform each sample at its own part of the magnitude."""
        return self.apply(x, self.strength(noise * per_sample(magnitude, x)))


@dataclass(frozen=True)
class Signed(Unsigned):
    """A signed strength that is uniform between −μ · limit and +μ · limit."""

    reach: ClassVar[str] = "±"

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw one number in [−1, 1) per sample."""
        return uniform(x, x.shape[:1], generator, -1.0, 1.0)


class Multiplicative:
    """A mixin for ranged transforms whose strength is a factor between 1 / limit^μ and limit^μ."""

    limit: float

    unit: ClassVar[str] = "times"
    bounds: ClassVar[tuple[float, float]] = (1.0, math.inf)
    reach: ClassVar[str] = "up or down "

    def strength(self, magnitude: Any) -> Any:
        """Give the factor; a negative magnitude gives its inverse."""
        return self.limit**magnitude


def full_precision(x: Tensor) -> AbstractContextManager[object]:
    """Keep autocast, which is for trunks, from rounding positions and phases to eight bits."""
    kind = x.device.type
    available = torch.amp.is_autocast_available(kind)
    return torch.autocast(kind, enabled=False) if available else nullcontext()


def per_sample(value: Magnitude, x: Tensor) -> Tensor:
    """Give one value, or one per sample, as a tensor of shape (B,) in the type of `x`."""
    if not isinstance(value, Tensor):
        return x.new_full(x.shape[:1], value)
    return value.to(x.dtype).expand(x.shape[0])


def spread(values: Tensor, x: Tensor) -> Tensor:
    """Shape one value per sample so that it broadcasts over the rest of `x`."""
    return values.reshape(-1, *(1,) * (x.dim() - 1))


def take(noise: Noise, rows: Tensor) -> Noise:
    """Give the noise of some samples of the batch."""
    if isinstance(noise, tuple | list):
        parts = [take(part, rows) for part in noise]
        return type(noise)(*parts) if hasattr(noise, "_fields") else type(noise)(parts)
    return None if noise is None else noise[rows]


def join(noises: Sequence[Noise]) -> Noise:
    """Give the noise of several batches as that of one: the reverse of `take`."""
    first = noises[0]
    if isinstance(first, tuple | list):
        parts = [join(part) for part in zip(*noises, strict=True)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    return first if first is None or len(noises) == 1 else torch.cat(list(noises))


def grouped(choice: Tensor, count: int) -> tuple[tuple[Tensor, ...], Tensor]:
    """Give the rows that made each of `count` choices, and the order that undoes the grouping.

    This reads the sizes of the groups off the device, once.
    """
    sizes = choice.bincount(minlength=count).tolist()
    order = choice.argsort(stable=True)
    return order.split(sizes), order.argsort()
