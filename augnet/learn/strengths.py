"""The dose: a transform at a known part of its limit."""

import torch
from torch import Generator, Tensor

from augnet.transforms import Bernoulli, Signed, Transform, Unsigned, spread
from augnet.transforms.base import checked_apply
from augnet.transforms.noise import uniform


def dose(
    transform: Transform,
    x: Tensor,
    parts: Tensor,
    generator: Generator,
    signs: Tensor | None = None,
) -> Tensor:
    """Transform each sample at its own part (B,) of the limit, exactly.

    A ranged transform goes that far in one direction, drawn evenly unless `signs` gives it; a coin shows
    heads for every part above 0; a transform with noise of its own takes the part as its magnitude.
    """
    if isinstance(transform, Bernoulli):
        return torch.where(spread(parts > 0, x), transform.transform(x), x)
    noise = transform.sample_params(x.shape, x, generator)
    if isinstance(transform, Signed):
        noise = torch.where(noise < 0, -1.0, 1.0).to(x) if signs is None else signs
    elif isinstance(transform, Unsigned):
        noise = torch.ones_like(noise)
    return checked_apply(transform, x, parts, noise)


def ladders(like: Tensor, count: int, steps: int, generator: Generator) -> Tensor:
    """Draw numbers in [0, 1) for `count` samples: one from each of `steps` even steps, rising."""
    rungs = torch.arange(steps, dtype=like.dtype, device=like.device)
    return (rungs + uniform(like, (count, steps), generator)) / steps
