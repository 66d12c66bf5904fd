"""AugNet: augment, trunk, aggregate (figure 1)."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import islice
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, cast, get_args, runtime_checkable

import torch
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.aggregate import AGGREGATES, Aggregate, uncertainty
from augnet.distill import distill
from augnet.transforms.base import Noise, join, take
from augnet.transforms.noise import Strata

Sampling: TypeAlias = Literal["independent", "stratified"]

ROWS = 256
"""How many samples go through augment and trunk at once in eval, if nobody says so."""


@runtime_checkable
class Rolling(Protocol):
    """An augment that rolls its dice first, and then does what they say, in eval.

    Dice are tensors, or some in tuples and lists, that have the batch as their first axis: those of
    copies can be joined, and the copies made in one pass.
    """

    def check(self, x: Tensor) -> None:
        """Refuse what it cannot take."""

    def roll(self, x: Tensor, generator: Generator | None = None) -> Noise:
        """Roll the dice for a batch of this shape."""

    def follow(self, x: Tensor, dice: Noise) -> Tensor:
        """View each sample as the dice say."""


class Prediction(NamedTuple):
    """The answer to each sample, and how many copies it took."""

    output: Tensor
    copies: Tensor


class AugNet(nn.Module):
    """Average a trunk's predictions over augmented copies of its input.

    `augment` is any callable `(x, generator) -> x`, `trunk` any module from `(B, ...)` to
    `(B, ...)`, and `aggregate` a name of `AGGREGATES` or a callable `(C, B, ...) -> (B, ...)`.

    There are `train_copies` in training and `copies` in eval. A copy is what one call of `augment`
    makes of the whole batch. In training all copies go through the trunk together, because its
    batch statistics are to be those of the whole batch. In eval at most `max_batch` samples do, by
    default whole copies of up to 256 samples: memory does not grow with the number of copies, and
    the result does not depend on it. An augment that rolls its dice first (`Rolling`, as all in
    this package do) makes the copies that go together in one pass; others are called once for each.

    With `sampling="stratified"` the copies of a sample share out the range of each transform and the
    transforms among them (see `Strata`), in eval: the mean is that of independent copies, and needs
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
        self.meaning = aggregate if isinstance(aggregate, str) else "values"
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
        self.copies = validation.count(copies, "copies")
        self.train_copies = validation.count(train_copies, "train_copies")
        self.sampling = sampling
        self.max_batch = None if max_batch is None else validation.count(max_batch, "max_batch")

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Predict; the same `generator` state gives the same prediction."""
        validation.batch(x, "AugNet")
        return self.aggregate(self.outputs(x, generator))

    def outputs(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Give the trunk's predictions for all copies, (C, B, ...)."""
        copies = self.train_copies if self.training else self.copies
        return self._answers(x, self._sources(x, generator, copies), copies)

    @torch.no_grad()
    def predict(
        self,
        x: Tensor,
        tolerance: float = 0.05,
        generator: Generator | None = None,
        step: int = 4,
    ) -> Prediction:
        """Predict with as many copies of each sample as its answer takes, up to `copies`.

        Copies are made `step` at a time. A sample gets no more of them when its answer is settled:
        when it changes by less than `tolerance` within the confidence interval of the mean over its
        copies (95 %, one look at a time), in probability if the trunk gives the scores of classes,
        else in its own units (see `uncertainty`). At a tolerance of 0 this is what calling the net
        gives: the copies of a sample do not depend on which others are settled, but for sample
        pairing, which pairs what is left.
        """
        validation.batch(x, "AugNet")
        if self.training:
            raise RuntimeError("predict is for trained nets: call net.eval() first")
        if tolerance < 0:
            raise ValueError(f"tolerance is a width from 0; got {tolerance}")
        step = validation.count(step, "step")
        sources = self._sources(x, generator, self.copies)
        rows = torch.arange(x.shape[0], device=x.device)  # which samples are not settled
        seen: list[Tensor] = []  # what the trunk said about them
        answers, places, used = [], [], []
        while len(rows):
            made = sum(map(len, seen))
            seen = [
                torch.cat((*seen, self._answers(x, sources, min(step, self.copies - made), rows)))
            ]
            settled = uncertainty(seen[0], self.meaning) < tolerance
            if len(seen[0]) == self.copies:
                settled = torch.ones_like(settled)
            if settled.any():
                answers.append(self.aggregate(seen[0][:, settled]))
                places.append(rows[settled])
                used.append(torch.full_like(places[-1], len(seen[0])))
                seen, rows = [seen[0][:, ~settled]], rows[~settled]
        order = torch.cat(places).argsort()
        return Prediction(torch.cat(answers)[order], torch.cat(used)[order])

    def distill(
        self,
        x: Tensor,
        epochs: int = 20,
        lr: float = 1e-3,
        batch: int = 64,
        into: nn.Module | None = None,
        generator: Generator | None = None,
    ) -> nn.Module:
        """Distill the average over copies into a copy of the trunk; see `augnet.distill.distill`."""
        return distill(self, x, epochs, lr, batch, into, generator)

    def roll(
        self, x: Tensor, generator: Generator | None = None, copies: int | None = None
    ) -> list[Noise]:
        """Roll the dice of all copies of a batch of this shape, as calling the net in eval does."""
        if self._rolling() is None:
            raise TypeError(
                "only an augment that rolls its dice first (check, roll, follow) has dice to "
                f"give, in eval; this is {type(self.augment).__name__}"
            )
        return list(self._sources(x, generator, copies or self.copies))

    def _answers(
        self, x: Tensor, sources: Iterator[Any], copies: int, rows: Tensor | None = None
    ) -> Tensor:
        """Ask the trunk about the next copies, of all samples or of some: (C, B, ...)."""
        size = x.shape[0] if rows is None else len(rows)
        # A graph has one size of chunk, or a free batch size: not both.
        whole = self.training or _in_graph()
        cap = copies * size if whole else self.max_batch or max(size, ROWS)
        at_once = copies if whole else max(1, cap // size)
        parts: list[Tensor] = []
        for start in range(0, copies, at_once):
            views = self._views(x, list(islice(sources, min(at_once, copies - start))), rows)
            parts += [self._ask(chunk) for chunk in ((views,) if whole else views.split(cap))]
        return torch.cat(parts).unflatten(0, (copies, size))

    def _rolling(self) -> Rolling | None:
        """Give the augment if its dice can be rolled first, as in eval they can."""
        rolls = isinstance(self.augment, Rolling) and not getattr(self.augment, "training", False)
        return cast(Rolling, self.augment) if rolls else None

    def _sources(self, x: Tensor, generator: Generator | None, copies: int) -> Iterator[Any]:
        """Give for each copy, when it is asked for, its dice, or else its view.

        Copies roll their dice one after the other, so that they are what they are however many of
        them are made at once.
        """
        rolling = self._rolling()
        if rolling:
            rolling.check(x)
        make = rolling.roll if rolling else self._view
        together = self.sampling == "stratified" and not self.training and copies > 1
        strata = Strata(x, generator, copies) if together and not _in_graph() else None
        for copy in range(copies):
            with strata.turn(copy) if strata else nullcontext(generator) as dice:
                made = make(x, dice)
            yield made

    def _views(self, x: Tensor, sources: list[Any], rows: Tensor | None) -> Tensor:
        """Make the views of some copies, one copy after the other, (C · B, ...)."""
        rolling = self._rolling()
        if rows is not None:
            x, sources = x[rows], [take(source, rows) for source in sources]
        if not rolling:
            return torch.cat(sources)
        return rolling.follow(x.repeat(len(sources), *(1,) * (x.dim() - 1)), join(sources))

    def _view(self, x: Tensor, generator: Generator | None) -> Tensor:
        view = self.augment(x, generator)
        if view.shape[:1] != x.shape[:1]:
            raise TypeError(
                f"the augment must give one view per sample; it made {tuple(view.shape)} of "
                f"{tuple(x.shape)}"
            )
        return view

    def _ask(self, views: Tensor) -> Tensor:
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


def _in_graph() -> bool:
    """Whether a graph is being made, which takes neither chunks nor dice of its own."""
    return torch.compiler.is_compiling()
