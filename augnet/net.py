"""AugNet: augment, trunk, aggregate (figure 1)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import Literal, NamedTuple, Protocol, TypeAlias, cast, get_args

import torch
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.aggregate import AGGREGATES, Aggregate, uncertainty
from augnet.copies import Called, CopyParams
from augnet.distill import distill
from augnet.transforms.base import Params, take
from augnet.transforms.noise import Strata, run_length

Augment: TypeAlias = Callable[[Tensor, Generator | None], Tensor]
Sampling: TypeAlias = Literal["independent", "stratified"]

ROWS = 256
"""How many samples go through augment and trunk at once in eval, by default."""
CPU_ROWS = 128
"""The same on a CPU, whose cache the activations of more samples do not fit into."""
TOLERANCE = 0.4
"""How uncertain `AugNet.predict` may leave an answer, by default.

This is as if copies were independent: stratified ones are less uncertain (benchmarks/inference.py).
"""
SMALL = 2**16
"""Params of all copies are drawn at once if they have so many values altogether."""
STEP = 4
"""How many copies `AugNet.predict` computes at a time if their number has no divisor near it."""


class Joinable(Protocol):
    """An augmentation that samples params first, and whose params of copies can be joined.

    It says so by a true attribute `joinable_params`. Params are tensors, or tensors in tuples and
    lists, and have the batch as their first axis: one pass can then compute several copies. With a
    true `independent_params`, no row of them depends on another: one call can then draw several
    copies.
    """

    def check(self, x: Tensor) -> None:
        """Raise an error if it does not accept `x`."""

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Params:
        """Draw params for a batch of this shape."""

    def apply_params(self, x: Tensor, params: Params) -> Tensor:
        """Return the view of each sample with these params."""


class Prediction(NamedTuple):
    """The answer for each sample, and the number of copies it took."""

    output: Tensor
    copies: Tensor


class AugNet(nn.Module):
    """Average a trunk's predictions over augmented copies of its input.

    `augment` is any callable `(x, generator) -> x`, `trunk` any module from `(B, ...)` to
    `(B, ...)`, and `aggregate` a name of `AGGREGATES` or a callable `(C, B, ...) -> (B, ...)`.

    There are `train_copies` in training and `copies` in eval. A copy is one call of `augment` on
    the whole batch. In training, also of the trunk alone, all copies go through the trunk together,
    because batch statistics are those of the whole batch. In eval at most `max_batch` samples do,
    by default 128 on a CPU, elsewhere whole copies of 256 samples or more: memory does not grow
    with the number of copies, and the result does not depend on `max_batch`. The augmentations of
    this package sample their params first (`Joinable`), those of several copies at once, so one
    pass computes all copies of a chunk; other callables are called once per copy.

    With `sampling="stratified"` the copies of a sample divide the range of each transform and the
    transforms between them in eval (see `Strata`). The mean is that of independent copies, and
    needs fewer of them. Graphs draw independent copies.
    """

    def __init__(
        self,
        augment: Augment,
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

    def forward(
        self, x: Tensor, generator: Generator | None = None, copies: int | None = None
    ) -> Tensor:
        """Predict; the same `generator` state gives the same prediction."""
        validation.batch(x, "AugNet")
        return self.aggregate(self.outputs(x, generator, copies))

    def outputs(
        self, x: Tensor, generator: Generator | None = None, copies: int | None = None
    ) -> Tensor:
        """Return the trunk's predictions for all copies, (C, B, ...); for so many, if given."""
        if copies is None:
            copies = self.train_copies if self.training else self.copies
        copies = validation.count(copies, "copies")
        if self.training and copies > 1 and self._tuned():
            raise ValueError(
                "a RangeTuner needs the loss of each view, but a loss here is that of the average "
                f"over train_copies={copies}: use train_copies=1"
            )
        return self._outputs(x, self._params(x, generator, copies), copies)

    def copy_params(
        self, x: Tensor, generator: Generator | None = None, copies: int | None = None
    ) -> Params:
        """Draw the params of all copies of a batch like `x`, as a call in eval does, and join them.

        The params of a copy follow those of the copy before: (C · B, ...).
        """
        if not getattr(self.augment, "joinable_params", False):
            raise TypeError(
                "copy_params needs an augment with joinable params, such as AugmentationModule "
                f"in eval; this is {type(self.augment).__name__}"
            )
        copies = copies or self.copies
        return self._params(x, generator, copies).take(copies)

    @torch.no_grad()
    def predict(
        self,
        x: Tensor,
        tolerance: float = TOLERANCE,
        generator: Generator | None = None,
        step: int | None = None,
        copies: int | None = None,
        sampling: Sampling | None = None,
    ) -> Prediction:
        """Predict with as many copies of each sample as its answer needs, up to `copies`.

        Copies are stratified, also each run of `step` of them, by default 4 to 8 (see `Strata`);
        those of other callables are drawn as the net draws them. Answers are looked at after `step`
        copies, then after twice as many as before, or all. A sample gets no more copies once its
        answer changes by less than `tolerance` within the confidence interval of the mean over its
        copies (95 % at each look, as if they were independent), in probability if the trunk returns
        scores of classes, else in its own units (see `uncertainty`). At tolerance 0 this equals
        calling a net with the same `sampling`. Once some samples are finished, params are drawn for
        the others only, so their later copies depend on which samples are left. Other callables
        always get the whole batch.
        """
        validation.batch(x, "AugNet")
        if self.training:
            raise RuntimeError("predict is for trained nets: call net.eval() first")
        if tolerance < 0:
            raise ValueError(f"tolerance is a width from 0; got {tolerance}")
        most = self.copies if copies is None else validation.count(copies, "copies")
        runs = run_length(most) if run_length(most) > 1 else STEP
        step = runs if step is None else validation.count(step, "step")
        if sampling is None:
            joinable = getattr(self.augment, "joinable_params", False)
            sampling = "stratified" if joinable else self.sampling
        params = self._params(x, generator, most, sampling)
        rows = torch.arange(x.shape[0], device=x.device)  # samples that need more copies
        outputs: Tensor | None = None  # for these samples
        answers, places, used = [], [], []
        while len(rows):
            made = 0 if outputs is None else len(outputs)
            count = min(made or step, most - made)
            if made and most - made < 2 * count:  # a last look at a few copies would not pay
                count = most - made
            new = self._outputs(x[rows] if len(rows) < len(x) else x, params, count)
            outputs = new if outputs is None else torch.cat((outputs, new))
            done = uncertainty(outputs, self.meaning) < tolerance
            if len(outputs) == most:
                done = torch.ones_like(done)
            if done.any():
                answers.append(self.aggregate(outputs[:, done]))
                places.append(rows[done])
                used.append(torch.full_like(places[-1], len(outputs)))
                outputs, rows = outputs[:, ~done], rows[~done]
                if len(rows):
                    params = self._params(x, generator, most - len(outputs), sampling, rows)
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
        """Distill the average over copies into a copy of the trunk; see `augnet.distill`."""
        return distill(self, x, epochs, lr, batch, into, generator)

    def _tuned(self) -> bool:
        """Tell whether a `RangeTuner` is attached to the augment or to a part of it."""
        parts = self.augment.modules() if isinstance(self.augment, nn.Module) else ()
        return any(getattr(part, "tuned", False) for part in parts)

    def _joinable(self) -> Joinable:
        """Return the augment, or an adapter for callables that do not sample params first."""
        if getattr(self.augment, "joinable_params", False):
            return cast(Joinable, self.augment)
        return Called(self.augment)

    def _params(
        self,
        x: Tensor,
        generator: Generator | None,
        copies: int,
        sampling: Sampling | None = None,
        rows: Tensor | None = None,
    ) -> CopyParams:
        """Draw the params of all copies of a batch, or of some of its rows, when they are needed.

        Params can be as large as the data, so those of all copies are never held at once, unless
        that is little. How many are drawn at once depends on the batch and on `copies` only: so
        they do not depend on how many copies are computed at once.
        """
        augment = self._joinable()
        called = isinstance(augment, Called)
        size = x.shape[0] if rows is None else len(rows)
        if rows is not None and not called:
            x = x[rows]
        augment.check(x)
        graph = torch.compiler.is_compiling()
        sampling = sampling or self.sampling
        stratified = sampling == "stratified" and copies > 1 and not (self.training or graph)
        strata = Strata(x, generator, copies) if stratified else None
        at_once = 1
        if getattr(self.augment, "independent_params", False) and not self.training:
            at_once = copies if graph or copies * x.numel() <= SMALL else run_length(copies)

        def draw() -> Iterator[Params]:
            for first in range(0, copies, at_once):
                count = min(at_once, copies - first)
                shape = (count * x.shape[0], *x.shape[1:])
                with strata.copy(first, count) if strata else nullcontext(generator) as source:
                    params = augment.sample_params(shape, x, source)
                yield take(params, rows) if called and rows is not None else params

        return CopyParams(draw(), size, at_once)

    def _outputs(self, x: Tensor, params: CopyParams, copies: int) -> Tensor:
        """Compute the predictions for the next copies: (C, B, ...)."""
        augment = self._joinable()
        size = x.shape[0]
        # A graph can have chunks of one size, or a free batch size, but not both.
        whole = self.training or self.trunk.training or torch.compiler.is_compiling()
        usual = CPU_ROWS if x.device.type == "cpu" else max(x.shape[0], ROWS)
        cap = copies * size if whole else self.max_batch or usual
        at_once = copies if whole else max(1, cap // size)
        parts: list[Tensor] = []
        for start in range(0, copies, at_once):
            count = min(at_once, copies - start)
            drawn = params.take(count)
            copied = x
            if count > 1 and not isinstance(augment, Called):  # whose params are its views
                copied = x.repeat(count, *(1,) * (x.dim() - 1))
            views = augment.apply_params(copied, drawn)
            if views is x:  # a trunk may change its input in place
                views = views.clone()
            parts += [
                self._predictions(chunk) for chunk in ((views,) if whole else views.split(cap))
            ]
        return torch.cat(parts).unflatten(0, (copies, size))

    def _predictions(self, views: Tensor) -> Tensor:
        output = self.trunk(views)
        if not isinstance(output, Tensor) or output.shape[:1] != views.shape[:1]:
            came = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise TypeError(
                "the trunk must give one prediction per sample, as a tensor "
                f"({views.shape[0]}, ...); got {came}"
            )
        return output

    def extra_repr(self) -> str:
        """Show the numbers of copies."""
        return f"copies={self.copies}, train_copies={self.train_copies}"
