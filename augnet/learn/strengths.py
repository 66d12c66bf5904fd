"""Apply a transform at a known fraction of its limit."""

import torch
from torch import Generator, Tensor

from augnet.transforms import Bernoulli, Signed, Transform, Unsigned, spread
from augnet.transforms.base import checked_apply


def apply_at_strength(
    transform: Transform,
    x: Tensor,
    fractions: Tensor,
    generator: Generator,
    signs: Tensor | None = None,
) -> Tensor:
    """Transform each sample at its own fraction (B,) of the limit, exactly.

    A ranged transform has this strength in one direction, drawn uniformly unless `signs` gives it.
    A Bernoulli transform is applied for every fraction above 0. A transform with other random
    params takes the fraction as its magnitude.
    """
    if isinstance(transform, Bernoulli):
        return torch.where(spread(fractions > 0, x), transform.transform(x), x)
    noise = transform.sample_params(x.shape, x, generator)
    if isinstance(transform, Signed):
        noise = torch.where(noise < 0, -1.0, 1.0).to(x) if signs is None else signs
    elif isinstance(transform, Unsigned):
        noise = torch.ones_like(noise)
    return checked_apply(transform, x, fractions, noise)
