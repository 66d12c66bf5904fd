"""Transforms of signals along time, and of values of any shape."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from augnet import validation
from augnet.transforms.base import (
    SIGNALS,
    Bernoulli,
    Domain,
    Magnitude,
    Multiplicative,
    Params,
    Signed,
    Transform,
    per_sample,
    spread,
)
from augnet.transforms.noise import normal, uniform
from augnet.transforms.registry import register_transform
from augnet.transforms.relax import window

Padding: TypeAlias = Literal["zeros", "circular"]


def resample(x: Tensor, position: Tensor, padding: Padding = "zeros") -> Tensor:
    """Read signals (B, C, T) at positions (B, T), in samples, by linear interpolation.

    Whole positions are read exactly. Outside of a signal there are zeros, or its repetitions
    (`circular`).
    """
    size = x.shape[-1]
    start = position.floor()
    first = start.long()[:, None].expand(-1, x.shape[1], -1)
    if padding == "zeros":  # one zero on either side represents everything outside
        signal = F.pad(x, (1, 1))
        left, right = (
            signal.gather(-1, index.clamp(0, size + 1)) for index in (first + 1, first + 2)
        )
    else:
        left, right = (x.gather(-1, index.remainder(size)) for index in (first, first + 1))
    return left.lerp(right, (position - start)[:, None])


@dataclass(frozen=True)
class Resampling(Signed):
    """A signed transform that reads signals at other times.

    `padding` is what is outside of a signal: `zeros`, such as silence, or the signal again
    (`circular`).
    """

    padding: Padding = "zeros"

    domain: ClassVar[Domain] = SIGNALS

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.one_of(self.padding, get_args(Padding), self.name)

    @abstractmethod
    def position(self, time: Tensor, strength: Tensor) -> Tensor:
        """Return where to read (B, T), in samples, for the times (T,) and strengths (B,)."""

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Read the signals there."""
        time = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device)
        return resample(x, self.position(time, strength), self.padding)


@register_transform
@dataclass(frozen=True)
class TimeReverse(Bernoulli):
    """Reverse signals in time."""

    domain: ClassVar[Domain] = SIGNALS

    def transform(self, x: Tensor) -> Tensor:
        """Reverse time."""
        return x.flip(-1)


@register_transform
@dataclass(frozen=True)
class TimeShift(Resampling):
    """Shift signals in time by up to ±limit of their duration, later if positive.

    What leaves at one end comes in at the other, as in audiomentations, so that a shift loses
    nothing: recordings often start with the sound, and windows of EEG have no empty parts. With
    `padding="zeros"` it is lost, as if the recording had started at another time.

    Shifts are not rounded to whole samples, so that there is a gradient. Linear interpolation
    damps the highest frequencies if a shift is not whole.
    """

    limit: float = 0.25
    padding: Padding = "circular"

    unit: ClassVar[str] = "of the duration"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def position(self, time: Tensor, strength: Tensor) -> Tensor:
        """Read earlier samples."""
        return time - (strength * len(time))[:, None]


@register_transform
@dataclass(frozen=True)
class Speed(Multiplicative, Resampling):
    """Play signals up to limit times faster or slower, about their center.

    Tempo and pitch change together, as in torchaudio's and Kaldi's speed perturbation. A time
    stretch, which would keep the pitch, is another transform. The window stays: a slower signal
    loses its ends, a faster one is padded. Frequencies that exceed half the sampling rate alias.
    """

    limit: float = 1.25

    def position(self, time: Tensor, strength: Tensor) -> Tensor:
        """Read at a multiple of the distance from the center."""
        center = (len(time) - 1) / 2
        return center + strength[:, None] * (time - center)


@register_transform
@dataclass(frozen=True)
class SignFlip(Bernoulli):
    """Change the sign of samples."""

    def transform(self, x: Tensor) -> Tensor:
        """Negate."""
        return -x


@register_transform
@dataclass(frozen=True)
class TimeMask(Transform):
    """Set up to limit consecutive samples to zero, anywhere in the signal, on all channels."""

    limit: float = 200.0

    unit: ClassVar[str] = "samples"
    domain: ClassVar[Domain] = SIGNALS

    def check(self, x: Tensor) -> None:
        """Raise an error if signals are shorter than the longest mask."""
        super().check(x)
        if self.limit > x.shape[-1]:
            raise ValueError(
                f"{self.name} of up to {self.limit:g} samples takes signals at least as long; "
                f"got {x.shape[-1]}: lower its limit"
            )

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw the position of the mask within the free space."""
        return uniform(like, shape[:1], generator)

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Multiply by one minus a window; longer signals have softer edges."""
        duration = x.shape[-1]
        length = self.strength(per_sample(magnitude, x))
        start = params * (duration - length)
        position = torch.arange(duration, dtype=x.dtype, device=x.device)
        sharpness = 1000 / duration  # as in braindecode, so that ranges are comparable
        return x * (1 - window(position, spread(start, x), spread(length, x), sharpness))


@register_transform
@dataclass(frozen=True)
class GaussianNoise(Transform):
    """Add white noise of a standard deviation of up to limit, in the units of the data."""

    limit: float = 0.2

    unit: ClassVar[str] = "std"

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw one number per value."""
        return normal(like, shape, generator)

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Add the scaled noise."""
        return x + spread(self.strength(per_sample(magnitude, x)), x) * params


@register_transform
@dataclass(frozen=True)
class AmplitudeScale(Multiplicative, Signed):
    """Multiply samples by a factor between 1 / limit and limit."""

    limit: float = 2.0

    resamples: ClassVar[bool] = False

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Multiply."""
        return x * spread(strength, x)
