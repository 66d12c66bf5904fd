"""One resampling of images under several affine maps.

It is faster and sharper than one resampling after the other, and pixels that leave the image in
between can return.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import torch
from torch import Tensor

from augnet.transforms import Transform, spread
from augnet.transforms.base import Magnitude, Params
from augnet.transforms.geometry import Affine, Flip, Interpolation, Padding, compose, warp

Resampling: TypeAlias = tuple[Interpolation, Padding]


class Maps(NamedTuple):
    """Affine maps of a batch, (B, 2, 3), and the flips that are part of them.

    `flips` has the outcomes (B,) of each flipped dimension. `resample` applies these by reversing
    pixels, because resampling under the matrix of a flip rounds.
    """

    matrix: Tensor
    flips: dict[int, Tensor]


def shared_resampling(transforms: Iterable[Transform]) -> Resampling | None:
    """Return how transforms resample images, if all are affine maps and do it in the same way.

    Flips do not interpolate, so they fit any resampling. Flips alone need none: None.
    """
    ways = set()
    for transform in transforms:
        if isinstance(transform, Affine):
            ways.add((transform.interpolation, transform.padding))
        elif not isinstance(transform, Flip):
            return None
    return ways.pop() if len(ways) == 1 else None


def chosen_maps(
    x: Tensor, choice: Tensor, drawn: Iterable[tuple[Transform, Magnitude, Params]]
) -> Maps:
    """Return the map of the transform that each sample chose, (B,), of those that were drawn.

    The maps of all transforms are computed, six numbers each; nothing is read from the device.
    """
    matrices: list[Tensor] = []
    flips: dict[int, Tensor] = {}
    for index, (transform, magnitude, params) in enumerate(drawn):
        if isinstance(transform, Flip):
            applied = transform.outcomes(x, magnitude, params) * (choice == index)
            flips[transform.dim] = flips.get(transform.dim, 0) + applied
            matrices.append(transform.matrix(applied.detach()))
        elif isinstance(transform, Affine):
            matrices.append(transform.map(x, magnitude, params))
    rows = torch.arange(x.shape[0], device=x.device)
    return Maps(torch.stack(matrices)[choice, rows], flips)


def compose_maps(first: Maps, second: Maps, x: Tensor) -> Maps:
    """Return the product of two maps of images `x`: `first`, then `second`."""
    flips = dict(first.flips)
    for dim, applied in second.flips.items():  # flipped by one of the two, not by both
        before = flips.get(dim, torch.zeros_like(applied))
        flips[dim] = before + applied - 2 * before * applied
    return Maps(compose(first.matrix, second.matrix, x), flips)


def resample(x: Tensor, maps: Maps, how: Resampling) -> Tensor:
    """Flip images, exactly, and resample them once under the rest of their maps.

    The gradient in the probability of a flip is that of `bernoulli` if no other map comes before
    the flip.
    """
    matrix = maps.matrix
    if maps.flips:
        still = torch.ones_like(matrix[:, 0, 0])
        signs = [
            1 - 2 * maps.flips[dim].detach() if dim in maps.flips else still for dim in (-1, -2)
        ]
        # A map is a flip followed by the rest, so the rest is the map times the flip.
        matrix = torch.cat((matrix[..., :2] * torch.stack(signs, -1)[:, None], matrix[..., 2:]), -1)
        for dim, applied in maps.flips.items():
            x = x.lerp(x.flip(dim), spread(applied, x))
    return warp(x, matrix, *how)
