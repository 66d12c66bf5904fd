"""AugNet: augment, trunk, aggregate (figure 1)."""

from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias, get_args

import torch
from torch import Generator, Tensor, nn

from augnet import checks
from augnet.aggregate import AGGREGATES, Aggregate
from augnet.transforms.noise import Strata

Sampling: TypeAlias = Literal["independent", "stratified"]


class AugNet(nn.Module):
    """Average a trunk's predictions over augmented copies of its input.

    `augment` is any callable `(x, generator) -> x`, `trunk` any module from `(B, ...)` to
    `(B, ...)`, and `aggregate` a name of `AGGREGATES` or a callable `(C, B, ...) -> (B, ...)`.

    There are `train_copies` in training and `copies` in eval. A copy is one call of `augment` on
    the whole batch. In eval, at most `max_batch` samples go through the trunk at once, whatever
    the number of copies, with the same result; in training all go together, because the trunk's
    batch statistics are to be those of the whole batch.

    With `sampling="stratified"` the copies of a sample share out the range of each word and the
    words among them (see `Strata`), in eval: the mean is that of independent copies, and needs
    fewer of them. Graphs draw independently.
    """

    def __init__(
        self,
        augment: Callable[[Tensor, Generator | None], Tensor],
        trunk: nn.Module,
        aggregate: str | Aggregate = "logits",
        copies: int = 20,
        train_copies: int = 1,
        max_batch: int | None = None,
        sampling: Sampling = "independent",
    ) -> None:
        super().__init__()
        if isinstance(aggregate, str):
            if aggregate not in AGGREGATES:
                raise ValueError(f"aggregate is one of {', '.join(AGGREGATES)}; got {aggregate!r}")
            aggregate = AGGREGATES[aggregate]
        if not isinstance(trunk, nn.Module) or not callable(augment):
            raise TypeError(
                "AugNet takes an augment, which is called with (x, generator), and a trunk, which "
                f"is a module; got {type(augment).__name__} and {type(trunk).__name__}"
            )
        if sampling not in get_args(Sampling):
            raise ValueError(
                f"sampling is one of {', '.join(get_args(Sampling))}; got {sampling!r}"
            )
        self.augment = augment
        self.trunk = trunk
        self.aggregate = aggregate
        self.copies = checks.count(copies, "copies")
        self.train_copies = checks.count(train_copies, "train_copies")
        self.sampling = sampling
        self.max_batch = None if max_batch is None else checks.count(max_batch, "max_batch")

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Predict; the same `generator` state gives the same prediction."""
        checks.batch(x, "AugNet")
        return self.aggregate(self.outputs(x, generator))

    def outputs(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Give the trunk's predictions for all copies, (C, B, ...)."""
        copies = self.train_copies if self.training else self.copies
        # A graph has one size of chunk, or a free batch size: not both.
        cap = None if self.training or torch.compiler.is_compiling() else self.max_batch
        at_once = copies if cap is None else max(1, cap // x.shape[0])
        parts: list[Tensor] = []
        views_of_copies = self._views(x, generator, copies)
        for start in range(0, copies, at_once):
            count = min(at_once, copies - start)
            views = torch.cat([next(views_of_copies) for _ in range(count)])
            chunks = (views,) if cap is None else views.split(cap)
            parts += [self._predict(chunk) for chunk in chunks]
        return torch.cat(parts).unflatten(0, (copies, x.shape[0]))

    def _views(self, x: Tensor, generator: Generator | None, copies: int) -> Iterator[Tensor]:
        """Augment the batch once per copy, when the view is asked for."""
        together = self.sampling == "stratified" and not self.training and copies > 1
        if not together or torch.compiler.is_compiling():
            for _ in range(copies):
                yield self._view(x, generator)
            return
        strata = Strata(x, generator, copies)
        for copy in range(copies):
            with strata.turn(copy) as dice:
                view = self._view(x, dice)
            yield view

    def _view(self, x: Tensor, generator: Generator | None) -> Tensor:
        view = self.augment(x, generator)
        if view.shape[:1] != x.shape[:1]:
            raise TypeError(
                f"the augment must give one view per sample; it made {tuple(view.shape)} of "
                f"{tuple(x.shape)}"
            )
        return view

    def _predict(self, views: Tensor) -> Tensor:
        output = self.trunk(views)
        if not isinstance(output, Tensor) or output.shape[:1] != views.shape[:1]:
            came = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise TypeError(
                "the trunk must give one prediction per sample, as a tensor "
                f"({views.shape[0]}, ...); got {came}"
            )
        return output

    def extra_repr(self) -> str:
        """Say how many copies."""
        return f"copies={self.copies}, train_copies={self.train_copies}"
