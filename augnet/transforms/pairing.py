"""Transforms that mix a sample with another one of its batch."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from augnet.transforms.base import Magnitude, Noise, Transform, per_sample, spread
from augnet.transforms.noise import permutation, uniform


@dataclass(frozen=True)
class SamplePairing(Transform):
    """Blend each sample with a random one of the batch, which gets up to limit of the weight.

    Inoue 2018. The partner is part of the dice: the batch that it came from is not asked again.
    What is rolled is the way from a sample to its partner, in rows, which holds for copies of a
    batch one after the other, too; of a part of a batch, it leads round to some sample of it.
    """

    limit: float = 0.4

    unit: ClassVar[str] = "of another sample"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    reach: ClassVar[str] = "up to "

    def sample(self, x: Tensor, generator: Generator | None = None) -> tuple[Tensor, Tensor]:
        """Draw a part of the strength and a partner for each sample."""
        return self.meet(x, self.roll(x, generator))

    def roll(self, x: Tensor, generator: Generator | None = None) -> tuple[Tensor, Tensor]:
        """Draw a part of the strength and the way to a partner."""
        share = uniform(x, x.shape[:1], generator)
        return share, permutation(x, x.shape[0], generator) - _rows(x)

    def meet(self, x: Tensor, rolled: Noise) -> tuple[Tensor, Tensor]:
        """Go to the partners."""
        share, way = rolled
        return share, x[(_rows(x) + way) % x.shape[0]]

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Blend."""
        share, partner = noise
        return x.lerp(partner, spread(self.strength(share * per_sample(magnitude, x)), x))


def _rows(x: Tensor) -> Tensor:
    """Give the index of each sample."""
    return torch.arange(x.shape[0], device=x.device)
