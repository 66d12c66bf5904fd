"""Random numbers: transforms draw all of theirs here, on the device of the input."""

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
    """Draw from the uniform distribution on [low, high)."""
    source = _source(like, generator)
    if isinstance(generator, Strata):
        draw = generator.draw(tuple(shape), source)
    else:
        draw = torch.rand(tuple(shape), **source)
    return draw if (low, high) == (0.0, 1.0) else draw.mul_(high - low).add_(low)


class Strata(Generator):
    """A generator for the copies of a batch, whose uniform draws form a Latin hypercube.

    Of C copies of a sample, each draws from another C-th of the range; the order is drawn anew for
    each draw. So each copy keeps its distribution, means stay unbiased, and copies cannot all fall
    on one side. The choice of a transform in a layer is such a draw, so transforms are used in
    proportion to their weights. Normal draws are independent. Even spacing with one random offset
    was tried instead, and did worse (docs/studies/what-did-not-work.md).

    Copies are drawn one after the other, each `with strata.copy(number):`. Numbers come from
    `generator` or the default generator of the device, whose state advances with each copy.
    """

    def __new__(cls, like: Tensor, generator: Generator | None, copies: int) -> "Strata":
        """Create a generator on the device of `like`."""
        return super().__new__(cls, device=like.device)  # type: ignore[call-arg]

    def __init__(self, like: Tensor, generator: Generator | None, copies: int) -> None:
        self.source = _source(like, generator).get("generator") or _default(like.device)
        self.copies = copies
        self.orders: list[Tensor] = []
        self.number = self.draws = 0

    @contextmanager
    def copy(self, number: int) -> Iterator["Strata"]:
        """Draw the params of one copy."""
        self.number, self.draws = number, 0
        self.set_state(self.source.get_state())
        yield self
        self.source.set_state(self.get_state())

    def draw(self, shape: tuple[int, ...], source: dict[str, Any]) -> Tensor:
        """Draw from [0, 1); the n-th draws of all copies are stratified together."""
        if self.number == 0:
            self.orders.append(torch.rand((self.copies, *shape[:1]), **source).argsort(0))
        if self.draws >= len(self.orders) or self.orders[self.draws].shape[1:] != shape[:1]:
            raise RuntimeError(
                "stratified copies make the same draws, but this one made more or others: "
                "sampling='independent' takes any augment"
            )
        stratum = self.orders[self.draws][self.number].reshape(-1, *(1,) * (len(shape) - 1))
        self.draws += 1
        return (torch.rand(shape, **source) + stratum) / self.copies


def _default(device: torch.device) -> Generator:
    """Return the default generator of a device."""
    if device.type == "cpu":
        return torch.default_generator
    module = torch.get_device_module(device)
    index = module.current_device() if device.index is None else device.index
    return module.default_generators[index]


def normal(like: Tensor, shape: Sequence[int], generator: Generator | None) -> Tensor:
    """Draw from the standard normal distribution."""
    return torch.randn(tuple(shape), **_source(like, generator))


def permutation(like: Tensor, size: int, generator: Generator | None) -> Tensor:
    """Draw a permutation of `size` indices."""
    return uniform(like, (size,), generator).argsort()


def derangement(like: Tensor, size: int, generator: Generator | None) -> Tensor:
    """Draw a permutation without fixed points: one random cycle through all indices."""
    if size < 2:
        raise ValueError(f"pairs need two samples or more; got a batch of {size}")
    order = permutation(like, size, generator)
    return torch.empty_like(order).scatter_(0, order, order.roll(1))


def categorical(weights: Tensor, size: int, generator: Generator | None) -> Tensor:
    """Draw `size` indices with the given probabilities, by one uniform number each."""
    return chosen(uniform(weights, (size, 1), generator), weights)


def chosen(u: Tensor, weights: Tensor) -> Tensor:
    """Return the index that each number in [0, 1), shape (B, 1), selects."""
    return (u >= weights.detach().cumsum(0)[:-1]).sum(1)


def _source(like: Tensor, generator: Generator | None) -> dict[str, Any]:
    """Return the dtype, device and generator to draw with."""
    source: dict[str, Any] = {"dtype": like.dtype, "device": like.device}
    if generator is None:  # a graph with a free batch size cannot take generator=None
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
