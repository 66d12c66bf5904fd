"""The profile: one trunk, every candidate, and for each how far it may go."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.learn.inputs import Data
from augnet.learn.measure import READ, Meter
from augnet.learn.result import Invariance, Row
from augnet.learn.strengths import dose
from augnet.transforms import Bernoulli, Transform
from augnet.transforms.base import full_precision, grouped
from augnet.transforms.noise import permutation, uniform

BATCH = 64
STEPS = 900
"""Or ten epochs, if that is more."""
START = 0.15
"""Of the limit: where every range begins."""
GROWTH, SHRINKAGE = 1.4, 1.5
"""By how much a range may change from one measurement to the next."""
SETTLED, SETTLING = 0.8, 1.02
"""After this part of the training, ranges grow by no more than this."""
MARGIN, INSIDE = 1.15, 0.85
"""Until then, doses in training go this much beyond the range found so far, unless
classes meet there: then they stay inside by this much.

Doses that make one class of another teach the trunk to look for traces of the dose itself (a blur,
an empty margin): then it can tell the label where nobody else could, and the range drifts."""
ROUNDS = 24
FEWEST, LEAST, THRIFT = 10, 60, 0.25
"""Rounds, steps, and the part of the doses of the verdicts, however short the time."""
DOUBTS = 3
"""So many measurements in a row must find a coin harmful, and hardly less than before."""
PART = 0.7
"""Of the whole work: the rest is the net at the end."""
CHANGING = (
    "reach", "margin", "harm", "doubts", "steps", "done", "epoch", "best", "pace",
    "planned", "rounds", "thrift",
)  # fmt: skip


class Profile:
    """Train a trunk on doses of all transforms, one per sample, and measure on samples not fitted."""

    def __init__(
        self, data: Data, transforms: Sequence[Transform], trunk: nn.Module, generator: Generator
    ) -> None:
        self.data, self.transforms, self.trunk, self.generator = data, transforms, trunk, generator
        self.reach = [
            0.0 if isinstance(transform, Bernoulli) else START for transform in transforms
        ]
        self.margin = [MARGIN for _ in transforms]
        self.meter = Meter(data, trunk, generator)
        self.harm, self.doubts = [1.0 for _ in transforms], [-1 for _ in transforms]
        self.batch = max(BATCH, 4 * (len(transforms) + 1))
        self.optimizer = torch.optim.AdamW(trunk.parameters(), lr=3e-3, weight_decay=1e-3)
        self.steps = self.done = self.epoch = 0
        self.best = 1.0
        self.pace, self.planned, self.rounds, self.thrift = 0.0, False, ROUNDS, 1.0

    def fit(self, epochs: int | None, seconds: float | None = None) -> Iterator[Row]:
        """Train from where it stands; give one row per epoch.

        `seconds` are for the training and for `verdicts`. How many steps fit in is planned twice:
        when the pace of steps is known, and when that of readings is.
        """
        fitted = self.data.fitted
        per_epoch = max(1, len(fitted) // self.batch)
        if not self.steps:
            self.steps = max(STEPS, 10 * per_epoch) if epochs is None else epochs * per_epoch
        begun, before = time.monotonic(), self.done
        self.trunk.train()
        while self.done < self.steps:
            self.epoch += 1
            total = fitted.new_zeros((), dtype=self.data.x.dtype)
            for rows in self._shuffled(fitted).split(self.batch)[:per_epoch]:
                if seconds is not None and self.done == 20 > before:
                    self.pace = (time.monotonic() - begun) / (20 - before)
                    self.steps = max(LEAST, int(seconds / (1.3 * self.pace)))
                one_cycle(self.optimizer, 3e-3, self.done / self.steps)
                loss = self._loss(rows)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.detach() / per_epoch
                self.done += 1
                done, steps = self.done, self.steps
                if done % max(1, steps // self.rounds) == 0 and done > steps // 12:
                    asked = time.monotonic()
                    self.best = self._widen(self.best, growing=done < SETTLED * steps)
                    if seconds is not None and self.pace and not self.planned:
                        self._plan(seconds, time.monotonic() - asked)
                if done >= steps:
                    break
            row: Row = {"phase": "profile", "epoch": self.epoch, "loss": total.item()}
            row["done"] = PART * min(1.0, self.done / self.steps)
            for transform, reach in zip(self.transforms, self.reach, strict=True):
                row[transform.name] = float(transform.strength(reach))
            yield row

    def _plan(self, seconds: float, reading: float) -> None:
        """Share out the time, now that it is known what a reading of all transforms takes.

        The verdicts get a third at most, and readings half of what is left, if that is enough for
        either: else there are fewer doses, or fewer rounds. The rest is for steps.
        """
        left = seconds - self.done * self.pace - reading
        verdicts = self.meter.work * reading
        self.thrift = min(1.0, max(THRIFT, left / 3 / verdicts))
        left -= self.thrift * verdicts
        self.rounds = min(ROUNDS, max(FEWEST, int(left / 2 / reading)))
        self.steps = max(LEAST, self.done + int((left - self.rounds * reading) / self.pace))
        self.planned = True

    def state_dict(self) -> dict[str, Any]:
        """Give all that changes in training, the trunk and the dice apart."""
        return {
            "optimizer": self.optimizer.state_dict(),
            **{name: getattr(self, name) for name in CHANGING},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the training where another left it."""
        self.optimizer.load_state_dict(state["optimizer"])
        for name in CHANGING:
            setattr(self, name, state[name])

    def _shuffled(self, rows: Tensor) -> Tensor:
        return rows[permutation(self.data.x, len(rows), self.generator)]

    def _loss(self, rows: Tensor) -> Tensor:
        """Give each sample one transform, or none, at a dose of its own, and compare with its label."""
        x, y = self.data.x[rows], self.data.y[rows]
        count = len(self.transforms) + 1
        # Where there are fewer samples than transforms, transforms take turns.
        turn = self.done * len(x) if len(x) < count else 0
        choice = (permutation(x, len(x), self.generator) + turn) % count
        groups, _ = grouped(choice, count)
        views = [x[groups[0]]]
        with full_precision(x):
            for transform, reach, margin, mine in zip(
                self.transforms, self.reach, self.margin, groups[1:], strict=True
            ):
                u = uniform(x, mine.shape, self.generator)
                parts = u * min(1.0, margin * reach)
                if isinstance(transform, Bernoulli):
                    parts = (u < 0.5 * reach).to(x)
                views.append(
                    dose(transform, x[mine], parts, self.generator) if len(mine) else x[mine]
                )
        output, target = self.trunk(torch.cat(views)), y[torch.cat(groups)]
        return self.data.loss(output, target)

    def _widen(self, best: float, growing: bool) -> float:
        """Move every range to where the error begins to rise.

        Where a class becomes another, that is a border, and no dose beyond it is trained on.
        Any other rise may be a guess of a trunk that never saw such doses: while ranges grow, it
        counts only among doses that were trained on.
        """
        x, y = self.meter.held_out(READ)
        before = self.meter.errors(x, y)
        base = float(before[0].mean())
        for index, transform in enumerate(self.transforms):
            if isinstance(transform, Bernoulli):
                self._doubt(index, self.meter.toss(transform, x, y, before) + max(0.0, base - best))
        if base > best + 0.1 and base > 2 * best:  # a bad moment to ask
            return best
        for index, transform in enumerate(self.transforms):
            if isinstance(transform, Bernoulli):
                continue
            reach = self.reach[index]
            readings = self.meter.zoom(transform, x, y, before, 2 * reach, 8, 2)
            border = self.meter.meet(transform, reach, x, y, readings)
            guess = growing and not border
            window = min(1.0, self.margin[index] * reach)
            if guess and readings.window > window:
                readings = self.meter.zoom(transform, x, y, before, window, 8, 2)
            ramp = readings.pooled(torch.ones_like(before[0])[None])
            found = ramp.reaches(self.meter.tolerance).item()
            if found < 1 and not guess:
                found = max(ramp.onset.item(), 0.005)
            growth = GROWTH if growing else SETTLING
            self.reach[index] = min(max(found, reach / SHRINKAGE), reach * growth, 1.0)
            self.margin[index] = INSIDE if border else MARGIN if growing else 1.0
        return min(best, base)

    def _doubt(self, index: int, added: Tensor) -> None:
        """Toss a coin no more if heads go on adding to the least error there was.

        Else the trunk would learn by heart what contradicts itself, and the rest would suffer. No
        coin is tossed before the first measurement, which says what the error is without any.
        """
        if self.doubts[index] < 0:
            self.reach[index], self.doubts[index] = 1.0, 0
            return
        harm = float(self.meter.harm(added, torch.ones_like(added)[None]))
        stuck = harm > max(self.meter.coin, 0.8 * self.harm[index])
        self.doubts[index] = self.doubts[index] + 1 if stuck else 0
        self.harm[index] = harm
        if self.doubts[index] >= DOUBTS:
            self.reach[index] = 0.0

    def verdicts(self) -> list[Invariance]:
        """Measure all transforms once more, with care."""
        return self.meter.verdicts(self.transforms, self.reach, self.thrift)


class Clock:
    """Find out how many steps fit into some time, once a few of them are done."""

    def __init__(self, done: int) -> None:
        self.begun, self.before = time.monotonic(), done

    def steps(self, done: int, planned: int, seconds: float | None) -> int:
        """Give the number of steps: what was planned, or what there is time for."""
        if seconds is None or done != 10 or self.before:
            return planned
        pace = (time.monotonic() - self.begun) / done
        return min(planned, max(2 * done, int(seconds / (1.2 * pace))))


def one_cycle(optimizer: torch.optim.Optimizer, peak: float, progress: float) -> None:
    """Warm up over a tenth, then follow half a cosine down to nothing."""
    warm = min(1.0, progress / 0.1 + 0.05)
    cool = 0.5 * (1 + torch.cos(torch.tensor(torch.pi * max(0.0, progress - 0.1) / 0.9))).item()
    for group in optimizer.param_groups:
        group["lr"] = peak * warm * max(cool, 1e-3)
