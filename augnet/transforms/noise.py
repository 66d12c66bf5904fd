"""The dice: all randomness of the transforms comes from here, on the input's device."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
    source = _source(like, generator)
    if isinstance(generator, Strata):
        draw = generator.draw(tuple(shape), source)
    else:
        draw = torch.rand(tuple(shape), **source)
    return draw if (low, high) == (0.0, 1.0) else draw.mul_(high - low).add_(low)


class Strata(Generator):
    """Dice for the copies of a batch that cover their range evenly together: a Latin hypercube.

    Of C copies of a sample, each draws from another C-th of the range, in random order. So each
    copy by itself is drawn as always, no mean has a bias, and the copies cannot all fall on one
    side. Transforms, being chosen by such a draw too, are allotted to copies in proportion to their
    weights. Normal noise is independent, as ever.

    Copies are drawn one after the other, each `with strata.turn(copy):`. Numbers come from
    `generator`, or from the device's own, which goes on where a turn ends.
    """

    def __new__(cls, like: Tensor, generator: Generator | None, copies: int) -> "Strata":
        """Stand in for the generator, on its device."""
        return super().__new__(cls, device=like.device)  # type: ignore[call-arg]

    def __init__(self, like: Tensor, generator: Generator | None, copies: int) -> None:
        self.source = _source(like, generator).get("generator") or _default(like.device)
        self.copies = copies
        self.orders: list[Tensor] = []
        self.copy = self.next = 0

    @contextmanager
    def turn(self, copy: int) -> Iterator["Strata"]:
        """Throw the dice of one copy."""
        self.copy, self.next = copy, 0
        self.set_state(self.source.get_state())
        yield self
        self.source.set_state(self.get_state())

    def draw(self, shape: tuple[int, ...], source: dict[str, Any]) -> Tensor:
        """Draw evenly from [0, 1): the n-th draw of a copy belongs with those of the others."""
        if self.copy == 0:
            self.orders.append(torch.rand((self.copies, *shape[:1]), **source).argsort(0))
        if self.next >= len(self.orders) or self.orders[self.next].shape[1:] != shape[:1]:
            raise RuntimeError(
                "stratified copies roll the same dice, but this one drew more of them or others: "
                "sampling='independent' takes any augment"
            )
        stratum = self.orders[self.next][self.copy].reshape(-1, *(1,) * (len(shape) - 1))
        self.next += 1
        return (torch.rand(shape, **source) + stratum) / self.copies


def _default(device: torch.device) -> Generator:
    """Give the generator that a device draws from if none is named."""
    if device.type == "cpu":
        return torch.default_generator
    module = torch.get_device_module(device)
    index = module.current_device() if device.index is None else device.index
    return module.default_generators[index]


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
    return chosen(uniform(weights, (size, 1), generator), weights)


def chosen(u: Tensor, weights: Tensor) -> Tensor:
    """Give the index that each number in [0, 1), shape (B, 1), stands for."""
    return (u >= weights.detach().cumsum(0)[:-1]).sum(1)


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
