"""The params of the copies of a batch: drawn some copies at a time, taken in order."""

from collections.abc import Callable, Iterator, Sequence
from typing import cast

from torch import Generator, Tensor

from augnet.transforms.base import Params, join, take


class CopyParams:
    """The params of copies of a batch, drawn some copies at a time and taken in order."""

    def __init__(self, draws: Iterator[Params], size: int, at_once: int) -> None:
        self.draws, self.size, self.at_once = draws, size, at_once
        self.params: Params = None
        self.left = 0
        """How many copies of the last draw were not taken."""

    def take(self, count: int) -> Params:
        """Return the params of the next copies, joined."""
        parts = []
        while count:
            if not self.left:
                self.params, self.left = next(self.draws), self.at_once
            taken, first = min(count, self.left), self.at_once - self.left
            part = self.params
            if taken < self.at_once:
                part = take(part, slice(first * self.size, (first + taken) * self.size))
            parts.append(part)
            self.left -= taken
            count -= taken
        return join(parts)


class Called:
    """Adapt a callable `(x, generator) -> x` to `Joinable`: its params are its views."""

    def __init__(self, function: Callable[[Tensor, Generator | None], Tensor]) -> None:
        self.function = function

    def check(self, x: Tensor) -> None:
        """Leave checks to the callable."""

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Return the views of `like`, which is the batch itself."""
        view = self.function(like, generator)
        if view.shape[:1] != like.shape[:1]:
            raise TypeError(
                f"the augment must give one view per sample; it made {tuple(view.shape)} of "
                f"{tuple(like.shape)}"
            )
        return view

    def apply_params(self, x: Tensor, params: Params) -> Tensor:
        """Return the views."""
        return cast(Tensor, params)
