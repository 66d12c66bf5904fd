"""The dice: all randomness of the words comes from here, on the input's device."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor


def uniform(
    like: Tensor,
    shape: Sequence[int],
    generator: Generator | None,
    low: float = 0.0,
    high: float = 1.0,
) -> Tensor:
    """Draw evenly from [low, high)."""
    draw = torch.rand(tuple(shape), **_source(like, generator))
    return draw if (low, high) == (0.0, 1.0) else low + (high - low) * draw


def normal(like: Tensor, shape: Sequence[int], generator: Generator | None) -> Tensor:
    """Draw from the standard normal distribution."""
    return torch.randn(tuple(shape), **_source(like, generator))


def permutation(like: Tensor, size: int, generator: Generator | None) -> Tensor:
    """Draw an order of `size` things, all orders being equally likely."""
    return uniform(like, (size,), generator).argsort()


def derangement(like: Tensor, size: int, generator: Generator | None) -> Tensor:
    """Draw for each of `size` things another one: one random cycle through all of them."""
    if size < 2:
        raise ValueError(f"pairs need two samples or more; got a batch of {size}")
    order = permutation(like, size, generator)
    return torch.empty_like(order).scatter_(0, order, order.roll(1))


def categorical(weights: Tensor, size: int, generator: Generator | None) -> Tensor:
    """Draw `size` indices with the given probabilities, by one uniform number each."""
    steps = weights.detach().cumsum(0)[:-1]
    return (uniform(weights, (size, 1), generator) >= steps).sum(1)


def _source(like: Tensor, generator: Generator | None) -> dict[str, Any]:
    """Say where and from what to draw."""
    source: dict[str, Any] = {"dtype": like.dtype, "device": like.device}
    if generator is None:  # not even named: a graph with a free batch size cannot take one
        return source
    if not isinstance(generator, Generator):
        raise TypeError(
            f"generator takes a torch.Generator; got {generator!r}: "
            "torch.Generator().manual_seed(0)"
        )
    if generator.device.type != like.device.type:
        raise ValueError(
            f"the generator is on {generator.device} and the input is on {like.device}: "
            f"make it with torch.Generator(device={like.device.type!r})"
        )
    return source | {"generator": generator}
