"""Transforms that act on signals along time, and on values of any shape."""

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
    Noise,
    Signed,
    Transform,
    per_sample,
    spread,
)
from augnet.transforms.noise import normal, uniform
from augnet.transforms.relax import window


@dataclass(frozen=True)
class TimeReverse(Bernoulli):
    """Play signals backwards."""

    domain: ClassVar[Domain] = SIGNALS

    def apply(self, x: Tensor) -> Tensor:
        """Reverse time."""
        return x.flip(-1)


@dataclass(frozen=True)
class SignFlip(Bernoulli):
    """Exchange positive and negative."""

    def apply(self, x: Tensor) -> Tensor:
        """Change the sign."""
        return -x


@dataclass(frozen=True)
class TimeMask(Transform):
    """Silence up to limit samples in a row, anywhere in the signal, on all channels."""

    limit: float = 200.0

    unit: ClassVar[str] = "samples"
    domain: ClassVar[Domain] = SIGNALS

    def check(self, x: Tensor) -> None:
        """Refuse signals that are shorter than the longest silence."""
        super().check(x)
        if self.limit > x.shape[-1]:
            raise ValueError(
                f"{self.name} of up to {self.limit:g} samples takes signals at least as long; "
                f"got {x.shape[-1]}: lower its limit"
            )

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw where the silence lies, from one end of the free space to the other."""
        return uniform(x, x.shape[:1], generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Multiply by one minus a window whose edges soften with the length of the signal."""
        duration = x.shape[-1]
        length = self.strength(per_sample(magnitude, x))
        start = noise * (duration - length)
        position = torch.arange(duration, dtype=x.dtype, device=x.device)
        sharpness = 1000 / duration  # as in braindecode, so that ranges mean the same
        return x * (1 - window(position, spread(start, x), spread(length, x), sharpness))


@dataclass(frozen=True)
class GaussianNoise(Transform):
    """Add white noise of a standard deviation of up to limit, in the units of the data."""

    limit: float = 0.2

    unit: ClassVar[str] = "std"

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw one number per value."""
        return normal(x, x.shape, generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Add."""
        return x + spread(self.strength(per_sample(magnitude, x)), x) * noise


@dataclass(frozen=True)
class AmplitudeScale(Multiplicative, Signed):
    """Make samples louder or quieter by up to limit times."""

    limit: float = 2.0

    def apply(self, x: Tensor, strength: Tensor) -> Tensor:
        """Multiply."""
        return x * spread(strength, x)
