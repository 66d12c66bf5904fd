"""What comes in: data, labels, transforms, a trunk and a budget, checked before anything is trained."""

import copy
import inspect
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augnet import validation
from augnet.transforms import TRANSFORMS, Transform, TransformSpec, build_transforms
from augnet.trunks.small import default_trunk

Trunk: TypeAlias = nn.Module | Callable[..., nn.Module] | None
LEAST = 16
PER_CLASS = 4
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
HELD_OUT = 2
"""Every other sample of each class is for measuring."""


@dataclass(frozen=True)
class Data:
    """Samples with labels or targets, some for fitting and the others for measuring."""

    x: Tensor
    y: Tensor
    fitted: Tensor
    held_out: Tensor
    classes: int
    """The number of classes; 0 for values."""
    mean: Tensor
    scale: Tensor
    """Of targets that are values."""

    @property
    def outputs(self) -> int:
        """How many numbers a network predicts per sample."""
        return self.classes or math.prod(self.y.shape[1:])

    def loss(self, output: Tensor, target: Tensor) -> Tensor:
        """Compare predictions with labels or values.

        For values by the absolute difference, rounded off at zero: the median of what conflicting
        doses say is the truth, and their mean is not.
        """
        if self.classes:
            return F.cross_entropy(output, target)
        difference = (output - target) / self.scale
        return F.smooth_l1_loss(difference, torch.zeros_like(difference), beta=0.1)


def data(x: Any, y: Any, generator: torch.Generator | None = None) -> Data:
    """Check samples and labels, and set every other sample of each class aside."""
    samples, labels = _tensor(x, "x"), _tensor(y, "y").to(_tensor(x, "x").device)
    if not samples.is_floating_point():
        raise TypeError(f"learn takes x in floats; got {samples.dtype}: x.float(), / 255 for bytes")
    samples = samples.detach() if samples.dtype in validation.FLOATS else samples.detach().float()
    if samples.dim() < 2:
        raise ValueError(f"learn takes x as (N, ...); got shape {tuple(samples.shape)}")
    if labels.dim() == 2 and labels.shape[1] == 1 and not labels.is_floating_point():
        labels = labels[:, 0]
    if labels.shape[:1] != samples.shape[:1]:
        raise ValueError(
            f"learn takes one label per sample; got {len(samples)} samples and y of shape "
            f"{tuple(labels.shape)}"
        )
    if len(samples) < LEAST:
        raise ValueError(f"learn takes at least {LEAST} samples; got {len(samples)}")
    validation.finite(samples, "learn takes finite x; it has NaN or infinite values")
    regression = labels.is_floating_point()
    if regression:
        labels = labels.detach().to(samples.dtype)
        validation.finite(labels, "learn takes finite y; it has NaN or infinite values")
        if bool((labels.std(0) == 0).any()):
            raise ValueError("learn takes targets that vary; some of these are all the same")
    else:
        labels = _classes(labels)
    order = torch.randperm(len(samples), generator=generator).to(samples.device)
    if not regression:
        order = order[labels[order].argsort(stable=True)]
    fitted, held_out = (
        part[torch.randperm(len(part), generator=generator).to(part.device)]
        for part in (order[::HELD_OUT], order[1::HELD_OUT])
    )
    return Data(
        samples,
        labels,
        fitted,
        held_out,
        0 if regression else int(labels.max()) + 1,
        labels.mean(0) if regression else labels.new_zeros(()),
        labels.std(0) if regression else labels.new_ones(()),
    )


def _tensor(value: Any, name: str) -> Tensor:
    if isinstance(value, Tensor):
        return value
    try:
        return torch.as_tensor(np.asarray(value))
    except (TypeError, ValueError) as error:
        raise TypeError(f"learn takes {name} as a tensor or an array of numbers: {error}") from None


def _classes(labels: Tensor) -> Tensor:
    if labels.dim() != 1:
        raise ValueError(
            f"learn takes one whole number per sample as its class; got shape {tuple(labels.shape)}"
            ": y.argmax(1) makes classes of one-hot labels"
        )
    labels = labels.detach().long()
    present, counts = labels.unique(return_counts=True)
    if len(present) < 2:
        raise ValueError(f"learn takes at least 2 classes; all labels are {present.tolist()}")
    if int(present[0]) < 0:
        raise ValueError(f"learn takes classes from 0; got {int(present[0])}: y - y.min()?")
    if int(present[-1]) >= 10 * len(present) + 100:
        raise ValueError(
            f"learn takes classes 0, 1, ...; got numbers up to {int(present[-1])} for "
            f"{len(present)} classes: y.unique(return_inverse=True)[1], or y.float() for values"
        )
    if int(counts.min()) < PER_CLASS:
        rare = present[counts < PER_CLASS].tolist()
        raise ValueError(
            f"learn takes at least {PER_CLASS} samples of each class; too few of {rare}"
        )
    return labels


def candidates(
    specs: str | TransformSpec | Iterable[TransformSpec], x: Tensor, **shared: Any
) -> list[Transform]:
    """Build transforms, or take all of the transforms that fit, and try each on two samples."""
    if isinstance(specs, str) and specs == "auto":
        built = _fitting(x, shared)
    else:
        built = build_transforms(specs, **shared)
    if not built:
        raise ValueError('learn takes at least one transform, or transforms="auto"')
    for transform in built:
        transform(x[:2], generator=_dice(x))
    return built


def _fitting(x: Tensor, shared: dict[str, Any]) -> list[Transform]:
    """Take the transforms that need no more than is given and accept two samples."""
    fitting = []
    for name in TRANSFORMS:
        try:
            (transform,) = build_transforms([name], **shared)
            transform(x[:2], generator=_dice(x))
        except (ValueError, TypeError, ImportError):
            continue
        fitting.append(transform)
    return fitting


def _dice(x: Tensor) -> torch.Generator:
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


def trunk(given: Trunk, data: Data) -> nn.Module:
    """Build the default trunk, call the function that makes one, or copy the one that came."""
    shape = tuple(data.x.shape[1:])
    if given is None:
        made = default_trunk(shape, data.outputs)
    elif isinstance(given, nn.Module):
        made = copy.deepcopy(given)
    elif callable(given):
        made = (
            given(shape, data.outputs) if len(inspect.signature(given).parameters) > 1 else given()
        )
    else:
        made = given
    if not isinstance(made, nn.Module):
        raise TypeError(
            "learn takes as trunk a module, or a function that makes one, of nothing or of "
            f"(shape, outputs); got {type(made).__name__}"
        )
    made = made.to(data.x.device, data.x.dtype)
    was = made.training
    with torch.no_grad():
        output = made.eval()(data.x[:2])
    made.train(was)
    if not isinstance(output, Tensor) or output[0].numel() != data.outputs:
        came = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ValueError(
            f"the trunk must give {data.outputs} numbers per sample, (2, {data.outputs}) for two; "
            f"got {came}"
        )
    return made if data.classes else Scaled(made, data.mean, data.scale).to(data.x.device)


def budget(given: int | float | str | None) -> int | float | None:
    """Read a budget: epochs as a whole number, or seconds as a float.

    Text is read as on the command line: "90s", "10m" and "1.5h" are times, "30" is epochs.
    """
    if given is None or (isinstance(given, Integral) and not isinstance(given, bool)):
        return None if given is None else validation.count(int(given), "budget")
    if isinstance(given, str):
        if given.isdecimal() and int(given):
            return int(given)
        match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh])", given.strip())
        value = float(match[1]) * UNITS[match[2]] if match else math.nan
    else:
        value = float(given) if isinstance(given, Real) else math.nan
    if isinstance(given, bool) or not value > 0:
        raise ValueError(
            "budget takes a whole number of epochs, or a time, such as '90s', '10m' or '1h', or "
            f"seconds as 30.0; got {given!r}"
        )
    return value
