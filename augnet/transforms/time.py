"""Transforms of signals along time, and of values of any shape."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

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

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Multiply."""
        return x * spread(strength, x)
