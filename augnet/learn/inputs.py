"""Validate samples, labels, transforms and a trunk before training starts."""

import copy
import inspect
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from augnet import validation
from augnet.categories import MANY, as_array, listing, look_like_values, number
from augnet.groups import halve, number_groups, refusal
from augnet.learn.config import DEFAULTS, LearnConfig, Trunk
from augnet.transforms import TRANSFORMS, Transform, TransformSpec, build_transforms
from augnet.transforms.noise import permutation
from augnet.trunks import build_trunk

MAX_VALUE = 1e15
"""Larger numbers are refused: their squares, and sums of these, overflow in float32."""
MIN_SPREAD = 1e-15
"""Numbers that differ by less are refused: the squares of differences underflow."""
MIN_MEASURED = 20
"""So many held-out samples of each class are measured, if there are."""
MIN_VARIATION = 1e-3
"""Values vary too little on a side if they deviate by less than this part of all deviations."""
IMAGE_CHANNELS = (1, 3, 4)
MIN_SIDE = 8
"""Two similar axes of at least this size before 1, 3 or 4 last ones are height and width."""


@dataclass(frozen=True)
class LearnData:
    """Samples with labels or targets, one half to fit and the other to measure."""

    x: Tensor
    y: Tensor
    fitted: Tensor
    held_out: Tensor
    classes: int
    """The number of classes; 0 for values."""
    mean: Tensor
    scale: Tensor
    """Mean and standard deviation of targets that are values."""
    class_names: tuple[str, ...] = ()
    """The names of classes, if labels were strings."""
    groups: Tensor | None = None
    """The group of each sample, from 0; no group is both fitted and held out."""

    @property
    def group_counts(self) -> tuple[int, int] | None:
        """How many groups are fitted, and how many are held out."""
        if self.groups is None:
            return None
        return len(self.groups[self.fitted].unique()), len(self.groups[self.held_out].unique())

    @property
    def outputs(self) -> int:
        """How many numbers a network predicts per sample."""
        return self.classes or math.prod(self.y.shape[1:])

    def measured(self, most: int | None = None) -> Tensor:
        """Return the held-out rows that are measured: the first `most`, and some of each class."""
        if most is None or len(self.held_out) <= most:
            return self.held_out
        first = torch.arange(len(self.held_out), device=self.held_out.device)
        kept = first < most
        if self.classes:  # rank samples within their class
            labels = self.y[self.held_out]
            order, counts = labels.argsort(stable=True), labels.bincount(minlength=self.classes)
            before = counts.cumsum(0) - counts
            rank = torch.empty_like(order)
            rank[order] = first - before[labels[order]]
            kept |= rank < MIN_MEASURED
        return self.held_out[kept]

    def batches(self, size: int, generator: torch.Generator) -> list[Tensor]:
        """Return the fitted rows in random order, in whole batches, or in one if there are few."""
        order = self.fitted[permutation(self.x, len(self.fitted), generator)]
        return list(order.split(size)[: max(1, len(order) // size)])

    @property
    def aggregate(self) -> str:
        """How a net averages its predictions."""
        return "logits" if self.classes else "values"

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Compare predictions with labels or values.

        Values are compared by a smooth absolute error: where strengths contradict each other, the
        median of the targets is right, and their mean is not.
        """
        if self.classes:
            return F.cross_entropy(output, target)
        difference = (output - target) / self.scale
        return F.smooth_l1_loss(difference, torch.zeros_like(difference), beta=0.1)


def prepare_data(
    x: Any,
    y: Any,
    generator: torch.Generator | None = None,
    config: LearnConfig = DEFAULTS,
    groups: Any = None,
) -> LearnData:
    """Validate samples and labels, and hold out every other sample of each class.

    With `groups`, whole groups are held out, with about half of each class.
    """
    samples = _samples(x)
    labels, names = _labels(y)
    labels = labels.to(samples.device)
    if labels.shape[:1] != samples.shape[:1]:
        raise ValueError(
            f"learn takes one label per sample; got {len(samples)} samples and y of shape "
            f"{tuple(labels.shape)}"
        )
    if len(samples) < config.min_samples:
        raise ValueError(f"learn takes at least {config.min_samples} samples; got {len(samples)}")
    _check_values(samples, "x")
    _check_images(samples)
    regression = labels.is_floating_point()
    labels = _values(labels, samples.dtype) if regression else _classes(labels, names, config)
    numbers = None
    if groups is None:
        fitted, held_out = _halves(labels, regression, generator)
    else:
        numbers = number_groups(groups, len(samples)).to(samples.device)
        fitted, held_out = _group_halves(labels, names, numbers, generator)
    if regression:
        _check_sides(labels, fitted, held_out)
    return LearnData(
        samples,
        labels,
        fitted,
        held_out,
        0 if regression else int(labels.max()) + 1,
        labels.mean(0) if regression else labels.new_zeros(()),
        labels.std(0) if regression else labels.new_ones(()),
        names,
        numbers,
    )


def _samples(x: Any) -> Tensor:
    """Validate the type and the shape of samples."""
    samples = x if isinstance(x, Tensor) else _from_array(np.asarray(x), "x")
    if not samples.is_floating_point():
        raise TypeError(f"learn takes x in floats; got {samples.dtype}: x.float(), / 255 for bytes")
    if samples.dim() < 2:
        raise ValueError(f"learn takes x as (N, ...); got shape {tuple(samples.shape)}")
    return samples.detach() if samples.dtype in validation.FLOATS else samples.detach().float()


def _check_values(values: Tensor, name: str) -> None:
    """Refuse NaN, infinite values, and values that would become such, or 0, in training."""
    validation.finite(values, f"learn takes finite {name}; it has NaN or infinite values")
    largest = values.abs().amax().item()
    if largest > MAX_VALUE:
        raise ValueError(
            f"learn takes {name} up to {MAX_VALUE:.0e}; the largest value is {largest:.3g}: leave "
            "out wrong samples, or divide by the standard deviation"
        )
    spread = (values.amax() - values.amin()).item()
    if 0 < spread < MIN_SPREAD:
        raise ValueError(
            f"learn takes {name} that differ by {MIN_SPREAD:.0e} or more; they differ by "
            f"{spread:.3g}: divide by the standard deviation"
        )


def _from_array(array: NDArray[Any], name: str) -> Tensor:
    try:
        # Columns of pandas can be read-only, and torch warns about these.
        return torch.as_tensor(array if array.flags.writeable else array.copy())
    except (TypeError, ValueError) as error:
        raise TypeError(f"learn takes {name} as a tensor or an array of numbers: {error}") from None


def _check_images(x: Tensor) -> None:
    """Refuse images with their channels last, and images of bytes as floats."""
    if x.dim() != 4:
        return
    _, first, second, last = x.shape
    similar = min(first, second) >= MIN_SIDE and max(first, second) <= 2 * min(first, second)
    if last in IMAGE_CHANNELS and similar:
        raise ValueError(
            f"learn takes images (N, C, H, W); got shape {tuple(x.shape)}, which has its channels "
            "last: x.movedim(-1, 1), or np.moveaxis(x, -1, 1) for an array"
        )
    low, high = float(x.min()), float(x.max())
    if first not in IMAGE_CHANNELS or low < 0 or not 1 < high <= 255:
        return
    if bool((x[:2] == x[:2].round()).all()) and bool((x == x.round()).all()):
        scale = 255 if high > 127 else int(high)
        raise ValueError(
            "learn takes images with values from 0 to 1; these are whole numbers from "
            f"{low:g} to {high:g}: x / {scale}"
        )


def _labels(y: Any) -> tuple[Tensor, tuple[str, ...]]:
    """Return labels as a tensor, and the names of classes if labels are strings."""
    if isinstance(y, Tensor):
        column = y.dim() == 2 and y.shape[1] == 1 and not y.is_floating_point()
        return (y[:, 0] if column else y), ()
    array = as_array(y, "y")
    if array.dtype.kind == "U":
        if array.ndim != 1:
            raise ValueError(f"learn takes one label per sample; got y of shape {array.shape}")
        return number(array)
    return _from_array(array.astype(np.int64) if array.dtype.kind in "iu" else array, "y"), ()


def _values(labels: Tensor, dtype: torch.dtype) -> Tensor:
    """Validate targets that are values."""
    labels = labels.detach().to(dtype)
    _check_values(labels, "y")
    if bool((labels.std(0) == 0).any()):
        raise ValueError("learn takes targets that vary; some of these are all the same")
    return labels


def _check_sides(labels: Tensor, fitted: Tensor, held_out: Tensor) -> None:
    """Refuse targets that hardly vary among the fitted samples, or among those held out."""
    values = labels.reshape(len(labels), -1)
    least = MIN_VARIATION * values.std(0, correction=0)
    for side, rows in (("fitted", fitted), ("held-out", held_out)):
        still = (values[rows].std(0, correction=0) < least).nonzero()[:, 0].tolist()
        if still:
            raise ValueError(
                f"learn takes targets that vary on both sides of its split; of the {side} samples, "
                f"column {listing(still)} is nearly the same for all: leave it out, or give more "
                "samples or groups"
            )


def _classes(labels: Tensor, names: Sequence[str], config: LearnConfig) -> Tensor:
    """Validate labels that are classes; `names` are theirs, if they were strings."""
    if labels.dim() != 1:
        raise ValueError(
            f"learn takes one whole number per sample as its class; got shape {tuple(labels.shape)}"
            ": y.argmax(1) makes classes of one-hot labels"
        )
    labels = labels.detach().long()
    present, counts = labels.unique(return_counts=True)
    if len(present) < 2:
        raise ValueError(
            f"learn takes at least 2 classes; all labels are {list(names) or present.tolist()}"
        )
    if not names:
        _check_numbers(present, counts)
    least = config.min_samples_per_class
    if int(counts.min()) < least:
        rare = present[counts < least].tolist()
        rare = listing(names[each] if names else each for each in rare)
        hint = "" if names or len(present) <= MANY else ", or y.float() for values"
        raise ValueError(
            f"learn takes at least {least} samples of each class; too few of {rare}: leave these "
            f"classes out{hint}"
        )
    return labels


def _check_numbers(present: Tensor, counts: Tensor) -> None:
    """Refuse whole numbers that are values, or no numbers of classes."""
    if look_like_values(counts):
        raise ValueError(
            f"learn takes whole numbers as classes; {int(counts.sum())} samples have "
            f"{len(present)} different ones, most of them on {int(counts.median())} samples or "
            "fewer: y.float() if these are values"
        )
    if int(present[0]) < 0:
        raise ValueError(
            f"learn takes classes from 0; got {int(present[0])}: y - y.min(), or y.float() for "
            "values"
        )
    if int(present[-1]) >= 10 * len(present) + 100:
        raise ValueError(
            f"learn takes classes 0, 1, ...; got numbers up to {int(present[-1])} for "
            f"{len(present)} classes: y.unique(return_inverse=True)[1], or y.float() for values"
        )


def _halves(
    labels: Tensor, regression: bool, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Split rows into two random halves with the same classes, in random order."""
    order = torch.randperm(len(labels), generator=generator).to(labels.device)
    if not regression:
        order = order[labels[order].argsort(stable=True)]
    return _shuffle(order[::2], generator), _shuffle(order[1::2], generator)


def _group_halves(
    labels: Tensor, names: Sequence[str], groups: Tensor, generator: torch.Generator | None
) -> tuple[Tensor, Tensor]:
    """Split rows into two halves without a common group, in random order."""
    fitted = halve(groups, labels, generator)
    if fitted is None:
        raise ValueError(f"learn cannot split by groups: {refusal(groups, labels, 2, names)}")
    rows = torch.arange(len(labels), device=labels.device)
    return _shuffle(rows[fitted], generator), _shuffle(rows[~fitted], generator)


def _shuffle(rows: Tensor, generator: torch.Generator | None) -> Tensor:
    return rows[torch.randperm(len(rows), generator=generator).to(rows.device)]


def prepare_transforms(
    specs: str | TransformSpec | Iterable[TransformSpec], x: Tensor, **shared: Any
) -> list[Transform]:
    """Build transforms, or for "auto" all that fit, and try each on two samples."""
    if isinstance(specs, str) and specs == "auto":
        built = _fitting(x, shared)
    else:
        built = build_transforms(specs, **shared)
    if not built:
        raise ValueError('learn takes at least one transform, or transforms="auto"')
    for transform in built:
        transform(x[:2], generator=_generator(x))
    return built


def _fitting(x: Tensor, shared: dict[str, Any]) -> list[Transform]:
    """Build the transforms that need no other arguments and accept two samples."""
    fitting = []
    for name in TRANSFORMS:
        try:
            (transform,) = build_transforms([name], **shared)
            transform(x[:2], generator=_generator(x))
        except (ValueError, TypeError, ImportError):
            continue
        fitting.append(transform)
    return fitting


def _generator(x: Tensor) -> torch.Generator:
    return torch.Generator(device=x.device).manual_seed(0)


class Scaled(nn.Module):
    """Predict values in the units of the targets by a trunk that predicts standard ones."""

    mean: Tensor
    scale: Tensor

    def __init__(self, trunk: nn.Module, mean: Tensor, scale: Tensor) -> None:
        super().__init__()
        self.trunk = trunk
        self.register_buffer("mean", mean)
        self.register_buffer("scale", scale)

    def forward(self, x: Tensor) -> Tensor:
        """Predict, in the shape of the targets."""
        return self.trunk(x).reshape(-1, *self.mean.shape) * self.scale + self.mean


def prepare_trunk(trunk: Trunk, data: LearnData) -> nn.Module:
    """Build a trunk by its name or by a function, or copy a module; try it on two samples."""
    shape = tuple(data.x.shape[1:])
    if isinstance(trunk, str):
        built: Any = build_trunk(trunk, shape, data.outputs)
    elif isinstance(trunk, nn.Module):
        built = copy.deepcopy(trunk)
    elif callable(trunk):
        several = len(inspect.signature(trunk).parameters) > 1
        built = trunk(shape, data.outputs) if several else trunk()
    else:
        built = trunk
    if not isinstance(built, nn.Module):
        raise TypeError(
            "learn takes as trunk a name, a module, or a function that builds one, with no "
            f"arguments or with (shape, outputs); got {type(built).__name__}"
        )
    built = built.to(data.x.device, data.x.dtype)
    _check_outputs(built, data)
    return built if data.classes else Scaled(built, data.mean, data.scale).to(data.x.device)


@torch.no_grad()
def _check_outputs(trunk: nn.Module, data: LearnData) -> None:
    """Refuse a trunk that predicts another number of values."""
    training = trunk.training
    output = trunk.eval()(data.x[:2])
    trunk.train(training)
    if not isinstance(output, Tensor) or output[0].numel() != data.outputs:
        came = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(
            f"the trunk must give {data.outputs} numbers per sample, (2, {data.outputs}) for two; "
            f"got {came}"
        )
