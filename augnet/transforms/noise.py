"""Random numbers: transforms draw all of theirs here, on the device of the input."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator, Tensor

MOST_STRATIFIED = 8
"""Draws of more numbers per sample, such as phases, are independent: strata would gain nothing."""


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
    each draw, and for each number if a draw has several per sample, such as one per channel. So
    each copy keeps its distribution, means stay unbiased, and copies cannot all fall on one side.
    The choice of a transform in a layer is such a draw, so transforms are used in proportion to
    their weights. Normal draws are independent, and so are draws of more than `MOST_STRATIFIED`
    numbers per sample. Even spacing with one random offset was tried instead, and did worse
    (docs/studies/what-did-not-work.md).

    If the number of copies has a divisor from 4 to 8, such as 5 of 20, each run of so many copies
    (`run_length`) has one copy in each part of the range of that size, too. So the first copies are
    stratified by themselves, for those who need no more (`AugNet.predict`).

    Copies are drawn in order, one or several at a time, `with strata.copy(first, count):`. The
    batch of several copies is that of one, repeated. Numbers come from `generator` or the default
    generator of the device, whose state advances each time.
    """

    def __new__(cls, like: Tensor, generator: Generator | None, copies: int) -> "Strata":
        """Create a generator on the device of `like`."""
        return super().__new__(cls, device=like.device)  # type: ignore[call-arg]

    def __init__(self, like: Tensor, generator: Generator | None, copies: int) -> None:
        self.source = _source(like, generator).get("generator") or _default(like.device)
        self.copies = copies
        self.orders: list[Tensor] = []
        self.first = self.draws = 0
        self.count = 1

    @contextmanager
    def copy(self, first: int, count: int = 1) -> Iterator["Strata"]:
        """Draw the params of one copy, or of several at once."""
        self.first, self.count, self.draws = first, count, 0
        self.set_state(self.source.get_state())
        yield self
        self.source.set_state(self.get_state())

    def draw(self, shape: tuple[int, ...], source: dict[str, Any]) -> Tensor:
        """Draw from [0, 1); the n-th draws of all copies are stratified together."""
        if math.prod(shape[1:]) > MOST_STRATIFIED:
            return torch.rand(shape, **source)
        one = (*(size // self.count for size in shape[:1]), *shape[1:])
        if self.first == 0:
            self.orders.append(_order(self.copies, one, source))
        if self.draws >= len(self.orders) or self.orders[self.draws].shape[1:] != one:
            raise RuntimeError(
                "stratified copies make the same draws, but this one made more or others: "
                "sampling='independent' takes any augment"
            )
        order = self.orders[self.draws][self.first : self.first + self.count]
        stratum = order.flatten(0, 1) if shape else order[0]
        self.draws += 1
        drawn = (torch.rand(shape, **source) + stratum) / self.copies
        # The highest stratum can round to 1.
        return drawn.clamp_(max=1 - torch.finfo(drawn.dtype).eps / 2)


def run_length(copies: int) -> int:
    """Return how many copies in succession divide the range between them: a divisor, or 1."""
    return next((size for size in (5, 4, 6, 7, 8) if copies % size == 0), 1)


def _order(copies: int, shape: tuple[int, ...], source: dict[str, Any]) -> Tensor:
    """Draw the order in which copies take the strata: (C, *shape), a permutation per number."""
    size = run_length(copies)
    runs = copies // size
    part = torch.rand((runs, size, *shape), **source).argsort(1)  # of the range, for each copy
    within = torch.rand((size, runs, *shape), **source).argsort(1)  # strata of each part, by run
    return (part * runs + within.transpose(0, 1).gather(1, part)).flatten(0, 1)


def global_generators() -> list[Generator]:
    """Return the default generators of all devices in use: CPU, and accelerators if initialized."""
    found = [torch.default_generator]
    for module in (torch.cuda, torch.xpu):
        if module.is_initialized():
            found += module.default_generators
    if torch.backends.mps.is_available() and not torch.mps._is_in_bad_fork():
        found.append(torch.mps._get_default_mps_generator())
    return found


def _default(device: torch.device) -> Generator:
    """Return the default generator of a device."""
    if device.type == "cpu":
        return torch.default_generator
    if device.type == "mps":  # it has one device, and no list of generators
        return torch.mps._get_default_mps_generator()
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
