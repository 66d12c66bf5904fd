"""The range search: train one trunk on all transforms, and move the range of each."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.learn.borders import is_border
from augnet.learn.config import DEFAULTS, LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.measure import Evaluator, Samples
from augnet.learn.result import Invariance
from augnet.learn.strengths import apply_at_strength
from augnet.training import Loop, Row, descend, one_cycle
from augnet.transforms import Bernoulli, Transform
from augnet.transforms.base import full_precision, grouped
from augnet.transforms.noise import permutation, uniform

STATE = (
    "ranges", "margins", "added", "rejections", "least_error", "timed", "planned", "rounds",
    "effort",
)  # fmt: skip


class RangeSearch:
    """Train a trunk on known strengths, one transform per sample; measure on held-out samples."""

    def __init__(
        self,
        data: LearnData,
        transforms: Sequence[Transform],
        trunk: nn.Module,
        generator: Generator,
        config: LearnConfig = DEFAULTS,
    ) -> None:
        self.data, self.transforms, self.trunk = data, transforms, trunk
        self.generator, self.config = generator, config
        self.evaluator = Evaluator(data, trunk, generator, config)
        # No Bernoulli transform is applied before the error without any is measured.
        self.ranges = [0.0 if isinstance(t, Bernoulli) else config.start for t in transforms]
        self.rejections = [-1 for _ in transforms]
        self.margins = [config.margin for _ in transforms]
        self.added = [1.0 for _ in transforms]
        self.least_error = 1.0
        self.timed = self.planned = False
        self.rounds, self.effort = config.rounds, 1.0
        self.seconds: float | None = None
        self.batch_size = max(config.batch_size, 4 * (len(transforms) + 1))
        self.optimizer = torch.optim.AdamW(
            trunk.parameters(), lr=config.search_lr, weight_decay=config.weight_decay
        )
        self.per_epoch = max(1, len(data.fitted) // self.batch_size)
        steps = max(config.search_steps, config.search_epochs * self.per_epoch)
        if config.epochs is not None:
            steps = config.epochs * self.per_epoch
        self.loop = Loop(self._batches, self._step, steps=steps, schedule=self._schedule)

    @property
    def steps(self) -> int:
        """How many steps are planned."""
        assert self.loop.steps is not None
        return self.loop.steps

    def fit(self, seconds: float | None = None) -> Iterator[Row]:
        """Train from the current state; yield one row per epoch.

        `seconds` are for the training and for `evaluate`. How many steps fit is planned twice: when
        the time of a step is known, and when that of a measurement is.
        """
        self.seconds = seconds
        self.trunk.train()
        for row in self.loop:
            yield {
                "phase": "ranges",
                **row,
                "done": self.config.search_fraction * self.loop.progress,
                "transforms": [
                    {"name": transform.name, "strength": float(transform.strength(fraction))}
                    for transform, fraction in zip(self.transforms, self.ranges, strict=True)
                ],
            }

    def evaluate(self) -> list[Invariance]:
        """Measure all transforms once more, precisely."""
        return self.evaluator.evaluate(self.transforms, self.ranges, self.effort)

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, except the trunk and the generator."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "loop": self.loop.state_dict(),
            **{name: getattr(self, name) for name in STATE},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another search with the same arguments was left."""
        self.optimizer.load_state_dict(state["optimizer"])
        self.loop.load_state_dict(state["loop"])
        for name in STATE:
            setattr(self, name, state[name])

    def _batches(self) -> Sequence[Tensor]:
        rows = self.data.fitted
        order = rows[permutation(self.data.x, len(rows), self.generator)]
        return order.split(self.batch_size)[: self.per_epoch]

    def _schedule(self, progress: float) -> None:
        if self.seconds is not None and self.loop.pace and not self.timed:
            fitting = int(self.seconds / (self.config.timed_margin * self.loop.pace))
            self.loop.steps = max(self.config.min_steps, fitting)
            self.timed = True
        one_cycle(self.optimizer, self.config.search_lr, self.loop.progress)

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        loss = self._loss(rows)
        descend(self.optimizer, loss)
        done, steps = self.loop.done + 1, self.steps
        if done % max(1, steps // self.rounds) == 0 and done > steps // 12:
            started = time.monotonic()
            self._move_ranges(growing=done < self.config.settled * steps)
            if self.timed and not self.planned:
                self._plan(done, time.monotonic() - started)
        return {"loss": loss.detach()}

    def _plan(self, done: int, measuring: float) -> None:
        """Divide the time, now that the time of a measurement is known.

        The final measurements get a third at most, and measurements of the search half of the
        rest, if that is enough for either; else there are fewer strengths, or fewer rounds.
        Steps get what is left.
        """
        assert self.seconds is not None
        config, pace = self.config, self.loop.pace
        left = self.seconds - done * pace - measuring
        final = self.evaluator.final_cost * measuring
        self.effort = min(1.0, max(config.min_effort, left / 3 / final))
        left -= self.effort * final
        self.rounds = min(config.rounds, max(config.min_rounds, int(left / 2 / measuring)))
        more = int((left - self.rounds * measuring) / pace)
        self.loop.steps = max(config.min_steps, done + more)
        self.planned = True

    def _loss(self, rows: Tensor) -> Tensor:
        """Apply one transform or none to each sample, at its own strength; compare with labels."""
        x, y = self.data.x[rows], self.data.y[rows]
        count = len(self.transforms) + 1
        # If there are fewer samples than transforms, transforms take turns.
        turn = self.loop.done * len(x) if len(x) < count else 0
        choice = (permutation(x, len(x), self.generator) + turn) % count
        groups, _ = grouped(choice, count)
        views = [x[groups[0]]]
        with full_precision(x):
            for transform, fraction, margin, mine in zip(
                self.transforms, self.ranges, self.margins, groups[1:], strict=True
            ):
                u = uniform(x, mine.shape, self.generator)
                fractions = u * min(1.0, margin * fraction)
                if isinstance(transform, Bernoulli):
                    fractions = (u < 0.5 * fraction).to(x)
                view = x[mine]
                if len(mine):
                    view = apply_at_strength(transform, view, fractions, self.generator)
                views.append(view)
        output, target = self.trunk(torch.cat(views)), y[torch.cat(groups)]
        return self.data.loss(output, target)

    def _move_ranges(self, growing: bool) -> None:
        """Move every range to where the error starts to rise, if the error is not too high."""
        samples = self.evaluator.sample_held_out()
        base = float(samples.errors.mean())
        least = self.least_error
        for index, transform in enumerate(self.transforms):
            if isinstance(transform, Bernoulli):
                added = self.evaluator.added_error(transform, samples)
                self._count_rejection(index, added + max(0.0, base - least))
        if base > least + 0.1 and base > 2 * least:
            return
        for index, transform in enumerate(self.transforms):
            if not isinstance(transform, Bernoulli):
                self._move_range(index, samples, growing)
        self.least_error = min(least, base)

    def _move_range(self, index: int, samples: Samples, growing: bool) -> None:
        """Move a range to where the error starts to rise.

        At a border, a class becomes another, and training stays within it: beyond, a trunk would
        learn to predict labels from traces of the transform (a blur, an empty margin). Any other
        rise may be a guess of a trunk that was not trained on such strengths: while ranges grow, it
        counts only at strengths that were trained on.
        """
        transform, fraction = self.transforms[index], self.ranges[index]
        config, count = self.config, self.config.round_strengths
        curve = self.evaluator.measure_onset(transform, samples, 2 * fraction, count, 2)
        border = is_border(self.evaluator, transform, fraction, samples, curve)
        guess = growing and not border
        window = min(1.0, self.margins[index] * fraction)
        if guess and curve.window > window:
            curve = self.evaluator.measure_onset(transform, samples, window, count, 2)
        ramp = curve.fit(samples.equal_weights)
        end = ramp.reaches(self.evaluator.tolerance).item()
        if end < 1 and not guess:
            end = max(ramp.onset.item(), 0.005)
        growth = config.growth if growing else config.settled_growth
        self.ranges[index] = min(max(end, fraction / config.shrinkage), fraction * growth, 1.0)
        self.margins[index] = config.border_margin if border else config.margin if growing else 1.0

    def _count_rejection(self, index: int, added: Tensor) -> None:
        """Stop applying a Bernoulli transform if it keeps adding to the least error measured.

        Otherwise the trunk would memorize contradictory labels, and all transforms would be
        measured less well. The first measurement gives the error without any of them.
        """
        if self.rejections[index] < 0:
            self.ranges[index], self.rejections[index] = 1.0, 0
            return
        mean = float(self.evaluator.mean_added(added, torch.ones_like(added)[None]))
        remains = self.config.persistence * self.added[index]
        rejected = mean > max(self.evaluator.bernoulli, remains)
        self.rejections[index] = self.rejections[index] + 1 if rejected else 0
        self.added[index] = mean
        if self.rejections[index] >= self.config.rejections:
            self.ranges[index] = 0.0
