"""The weights of a layer that follow from the ranges of its transforms."""

from typing import Literal, TypeAlias

import torch
from torch import Generator, Tensor

from augnet.layers.edges import distance
from augnet.layers.layer import AugmentationLayer

Selection: TypeAlias = Literal["all", "one"]

NO_WEIGHT = -1000.0
"""A logit, in temperatures, that gives a weight of exactly 0."""


@torch.no_grad()
def weigh(layer: AugmentationLayer, kept: Tensor, moves: Tensor, select: Selection) -> Tensor:
    """Share the weight between the kept transforms of a layer, or give it to one; return its index.

    That is the one that moves the data farthest, by `moves`, which is NaN where nothing was
    measured. In a layer that keeps none, all of them count: it is the identity, because all of its
    magnitudes are near 0.
    """
    kept = kept | ~kept.any()
    farthest = torch.where(kept, moves.nan_to_num(nan=-1.0), -2.0).argmax()
    if select == "one":
        kept = torch.arange(len(kept), device=kept.device) == farthest
    layer.logits.copy_(torch.where(kept, 0.0, NO_WEIGHT * layer.temperature))
    return farthest


@torch.no_grad()
def displacement(layer: AugmentationLayer, x: Tensor, generator: Generator | None = None) -> Tensor:
    """Measure how far each transform moves samples on average, at its magnitude in the layer."""
    layer.check(x)
    views = (
        transform.apply(x, magnitude, transform.sample_params(x.shape, x, generator))
        for transform, magnitude in zip(layer.transforms, layer.magnitudes, strict=True)
    )
    return torch.stack([distance(x, view).mean() for view in views])
