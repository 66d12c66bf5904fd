"""The dose: a word at a known part of its limit."""

import torch
from torch import Generator, Tensor

from augnet.transforms import Graded, Ranged, Switched, Transform, spread
from augnet.transforms.noise import uniform


def dose(
    word: Transform, x: Tensor, parts: Tensor, generator: Generator, signs: Tensor | None = None
) -> Tensor:
    """Transform each sample at its own part (B,) of the limit, exactly.

    A ranged word goes that far in one direction, drawn evenly unless `signs` gives it; a coin shows
    heads for every part above 0; a word with noise of its own takes the part as its magnitude.
    """
    if isinstance(word, Switched):
        return torch.where(spread(parts > 0, x), word.apply(x), x)
    noise = word.sample(x, generator)
    if isinstance(word, Ranged):
        noise = torch.where(noise < 0, -1.0, 1.0).to(x) if signs is None else signs
    elif isinstance(word, Graded):
        noise = torch.ones_like(noise)
    return word.replay(x, parts, noise)


def ladders(like: Tensor, count: int, steps: int, generator: Generator) -> Tensor:
    """Draw numbers in [0, 1) for `count` samples: one from each of `steps` even steps, rising."""
    rungs = torch.arange(steps, dtype=like.dtype, device=like.device)
    return (rungs + uniform(like, (count, steps), generator)) / steps
