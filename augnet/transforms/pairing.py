"""Transforms that mix a sample with another one of its batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, Tensor

from augnet.transforms.base import Magnitude, Params, Transform, per_sample, spread
from augnet.transforms.noise import permutation, uniform
from augnet.transforms.registry import register_transform


@register_transform
@dataclass(frozen=True)
class SamplePairing(Transform):
    """Blend each sample with a random one of the batch, which gets up to limit of the weight.

    Inoue 2018. Batch-coupled: the params have the offset, in rows, from each sample to its partner.
    An offset stays valid if copies of a batch are concatenated, so copies are never mixed. In a
    part of a batch it leads to another sample of that part, modulo its size.
    """

    limit: float = 0.4

    unit: ClassVar[str] = "of another sample"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    prefix: ClassVar[str] = "up to "
    batch_coupled: ClassVar[bool] = True

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Draw a fraction of the strength and the offset to a partner for each sample."""
        fraction = uniform(like, shape[:1], generator)
        return fraction, permutation(like, shape[0], generator) - _rows(shape[0], like)

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Blend each sample with its partner."""
        fraction, offset = params
        partner = x[(_rows(x.shape[0], x) + offset) % x.shape[0]]
        return x.lerp(partner, spread(self.strength(fraction * per_sample(magnitude, x)), x))


def _rows(size: int, like: Tensor) -> Tensor:
    return torch.arange(size, device=like.device)
