"""The profile: one trunk, every candidate, and for each how far it may go."""

import time
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet.learn.curve import Readings
from augnet.learn.door import Data
from augnet.learn.dose import dose, ladders
from augnet.learn.found import Invariance, Row, Verdict
from augnet.transforms import Ranged, Switched, Transform
from augnet.transforms.base import full_precision, grouped
from augnet.transforms.noise import permutation, uniform

Before: TypeAlias = tuple[Tensor, Tensor]
"""The error of each sample, and what was predicted."""
BATCH = 64
MEASURED = 512
"""At most so many samples of either kind are measured in the end."""
STEPS = 900
"""Or ten epochs, if that is more."""
START = 0.15
"""Of the limit: where every range begins."""
GROWTH, SHRINKAGE = 1.3, 1.5
"""By how much a range may change from one measurement to the next."""
SETTLED, SETTLING = 0.6, 1.02
"""After this part of the training, ranges grow by no more than this."""
MARGIN = 1.15
"""While a range grows, doses in training go this much beyond it; else not.

Doses that make one class of another teach the trunk to look for traces of the dose itself (a blur,
an empty margin): then it can tell the label where nobody else could, and the range drifts."""
ROUNDS = 24
TOLERANCE = 0.08, 0.2
"""What error a dose may add, for classes and for values (there, of the spread of the targets)."""
COIN = 0.15, 0.3
"""The same for coins, which are tossed or not: there is no smaller dose to fall back to."""
ROOM = 0.1
"""A range below this part of the dose that loses half of what can be lost is no range."""
SLACK = 0.05
"""What the places of borders leave uncertain, as a part of the range, in every interval."""


class Profile:
    """Train a trunk on doses of all words, one per sample, and measure on samples not fitted."""

    def __init__(
        self, data: Data, words: Sequence[Transform], trunk: nn.Module, generator: Generator
    ) -> None:
        self.data, self.words, self.trunk, self.generator = data, words, trunk, generator
        self.reach = [1.0 if isinstance(word, Switched) else START for word in words]
        self.margin = [MARGIN for _ in words]
        kind = 0 if data.classes else 1
        self.tolerance, self.coin = TOLERANCE[kind], COIN[kind]
        self.batch = max(BATCH, 4 * (len(words) + 1))
        self.steps = 0

    def fit(self, epochs: int | None, seconds: float | None = None) -> Iterator[Row]:
        """Train; give one row per epoch."""
        fitted = self.data.fitted
        per_epoch = max(1, len(fitted) // self.batch)
        steps = max(STEPS, 10 * per_epoch) if epochs is None else epochs * per_epoch
        optimiser = torch.optim.AdamW(self.trunk.parameters(), lr=3e-3, weight_decay=1e-3)
        begun, done, best = time.monotonic(), 0, 1.0
        self.trunk.train()
        for epoch in range(1, steps + 1):
            total = fitted.new_zeros((), dtype=self.data.x.dtype)
            for rows in self._shuffled(fitted).split(self.batch)[:per_epoch]:
                if seconds is not None and done == 20:
                    steps = max(60, int(seconds / (1.3 * (time.monotonic() - begun) / 20)))
                one_cycle(optimiser, 3e-3, done / steps)
                loss = self._loss(rows)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += loss.detach() / per_epoch
                done += 1
                if done % max(1, steps // ROUNDS) == 0 and done > steps // 12:
                    best = self._widen(best, GROWTH if done < SETTLED * steps else SETTLING)
                if done >= steps:
                    break
            row: Row = {"phase": "profile", "epoch": epoch, "loss": total.item()}
            for word, reach in zip(self.words, self.reach, strict=True):
                row[word.name] = float(word.strength(reach))
            yield row
            if done >= steps:
                break
        self.steps = done

    def _shuffled(self, rows: Tensor) -> Tensor:
        return rows[permutation(self.data.x, len(rows), self.generator)]

    def _loss(self, rows: Tensor) -> Tensor:
        """Give each sample one word, or none, at a dose of its own, and compare with its label."""
        x, y = self.data.x[rows], self.data.y[rows]
        count = len(self.words) + 1
        choice = permutation(x, len(x), self.generator) % count
        groups, _ = grouped(choice, count)
        views = [x[groups[0]]]
        with full_precision(x):
            for word, reach, margin, mine in zip(
                self.words, self.reach, self.margin, groups[1:], strict=True
            ):
                u = uniform(x, mine.shape, self.generator)
                parts = u * min(1.0, margin * reach)
                if isinstance(word, Switched):
                    parts = (u < 0.5).to(x)
                views.append(dose(word, x[mine], parts, self.generator) if len(mine) else x[mine])
        output, target = self.trunk(torch.cat(views)), y[torch.cat(groups)]
        if self.data.classes:
            return F.cross_entropy(output, target)
        # The median of what conflicting doses say is the truth; their mean is not.
        difference = (output - target) / self.data.scale
        return F.smooth_l1_loss(difference, torch.zeros_like(difference), beta=0.1)

    def _widen(self, best: float, growth: float) -> float:
        """Move every range to where the error begins to rise."""
        x, y = self._held_out(128)
        before = self._errors(x, y)
        base = float(before[0].mean())
        if base > best + 0.1 and base > 2 * best:  # a bad moment to ask
            return best
        for index, word in enumerate(self.words):
            if isinstance(word, Switched):
                continue
            reach = self.reach[index]
            readings = self._zoom(word, x, y, before, min(1.0, 2 * reach), 8, 2)
            ramp = readings.pooled(torch.ones_like(before[0])[None])
            onset, height = ramp.onset.item(), ramp.height.item()
            found = 1.0 if height <= self.tolerance else max(onset, 0.005)
            self.margin[index] = MARGIN if growth == GROWTH and found >= growth * reach else 1.0
            self.reach[index] = min(max(found, reach / SHRINKAGE), reach * growth, 1.0)
        return min(best, base)

    def _held_out(self, most: int) -> tuple[Tensor, Tensor]:
        rows = self._shuffled(self.data.held_out)[:most]
        return self.data.x[rows], self.data.y[rows]

    @torch.no_grad()
    def _errors(self, x: Tensor, y: Tensor) -> Before:
        """Give the error of each sample, and what was predicted."""
        was = self.trunk.training
        self.trunk.eval()
        output = torch.cat([self.trunk(part) for part in x.split(256)])
        self.trunk.train(was)
        if self.data.classes:
            return (output.argmax(1) != y).to(x.dtype), output
        return ((output - y) / self.data.scale).square().reshape(len(x), -1).mean(1), output

    @torch.no_grad()
    def read(
        self, word: Transform, x: Tensor, y: Tensor, before: Before, window: float, doses: int
    ) -> Readings:
        """Ask the trunk about samples at doses of a word up to a part of its limit."""
        parts = window * ladders(x, len(x), doses, self.generator)
        signs = torch.ones_like(parts)
        if isinstance(word, Ranged):  # every other dose, from either end
            signs[:, ::2] = -1
            first = uniform(x, (len(x), 1), self.generator) < 0.5
            signs = torch.where(first, signs, -signs)
        with full_precision(x):
            views = [
                dose(word, x, parts[:, index], self.generator, signs[:, index])
                for index in range(doses)
            ]
        labels = y.repeat(doses, *(1,) * (y.dim() - 1))
        errors, output = self._errors(torch.cat(views), labels)
        shape = (doses, len(x))
        classes = y, output.reshape(*shape, -1).transpose(0, 1), before[1]
        return Readings(
            parts,
            signs,
            errors.reshape(shape).T,
            before[0],
            window,
            isinstance(word, Ranged),
            *(classes if self.data.classes else (None, None, None)),
        )

    def _zoom(
        self,
        word: Transform,
        x: Tensor,
        y: Tensor,
        before: Before,
        window: float,
        doses: int,
        tries: int,
    ) -> Readings:
        """Read in a window that shows where the error begins to rise, if it does."""
        everyone, readings = torch.ones_like(before[0])[None], None
        for attempt in range(tries):
            tried = self.read(word, x, y, before, min(1.0, window), doses)
            ramp = tried.pooled(everyone)
            onset, width, height = (v.item() for v in (ramp.onset, ramp.width, ramp.height))
            rises = height > self.tolerance
            if readings is not None and attempt and not rises and window < readings.window:
                return readings  # too near to see anything
            smaller = readings is None or window < readings.window
            readings = tried
            if rises and onset + min(width, 2 * onset) < 0.25 * window and smaller:
                window *= 0.4
            elif tries > 2 and (not rises or onset > 0.8 * window) and window < 1:
                window *= 2
            else:
                break
        assert readings is not None
        return readings

    def verdicts(self) -> list[Invariance]:
        """Measure all words once more, with care."""
        held_out, fitted = (
            self.data.held_out[:MEASURED],
            self._shuffled(self.data.fitted)[:MEASURED],
        )
        rows = torch.cat((held_out, fitted))
        x, y = self.data.x[rows], self.data.y[rows]
        before = self._errors(x, y)
        # The bootstrap: other samples could have come, so each gets a random weight.
        weights = -uniform(x, (200, len(x)), self.generator).clamp(min=1e-6).log()
        weights = torch.cat((torch.ones_like(weights[:1]), weights))
        return [
            self._toss(word, x, y, before, weights)
            if isinstance(word, Switched)
            else self._measure(word, reach, x, y, before, weights)
            for word, reach in zip(self.words, self.reach, strict=True)
        ]

    def _counted(self, errors: Tensor, weights: Tensor) -> Tensor:
        """Leave out the samples that were fitted if they show less error than the others.

        Then the trunk knows them by heart, and they say nothing about what can be told. If it
        treats them like the others, they are as good, and several times as many.
        """
        held_out = torch.arange(len(errors), device=errors.device) < min(
            MEASURED, len(self.data.held_out)
        )
        mine, others = errors[held_out], errors[~held_out]
        noise = (mine.var() / len(mine) + others.var() / len(others)).sqrt()
        by_heart = mine.mean() - others.mean() > 1.5 * noise + 1e-3
        return weights * torch.where(held_out | ~by_heart, 1.0, 1e-6)

    def _toss(
        self, word: Transform, x: Tensor, y: Tensor, before: Before, weights: Tensor
    ) -> Invariance:
        after = self._errors(dose(word, x, torch.ones_like(x.flatten(1)[:, 0]), self.generator), y)[
            0
        ]
        weights = self._counted(after - before[0], weights)
        added = (weights @ (after - before[0])) / weights.sum(1)
        if not self.data.classes:
            added = added.clamp(min=0).sqrt()
        kept = added <= self.coin
        low, high = (
            kept.to(x).quantile(x.new_tensor([0.05, 0.95]), interpolation="nearest").tolist()
        )
        verdict: Verdict = "at least" if kept[0] else "none"
        return Invariance(
            word, verdict, word.limit * float(kept[0]), (word.limit * low, word.limit * high)
        )

    def _measure(
        self, word: Transform, reach: float, x: Tensor, y: Tensor, before: Before, weights: Tensor
    ) -> Invariance:
        doses = 2 * max(8, min(32, 3000 // len(x)))
        readings = self._zoom(word, x, y, before, 3 * reach, doses, 8)
        weights = self._counted(readings.errors.mean(1), weights)
        ramps = readings.pooled(weights)
        onsets = torch.where(ramps.height > self.tolerance, ramps.onset, 1.0)
        borders = readings.borders(weights) if onsets[0] < 1 else None
        if borders is not None:
            onsets = borders[borders[:, 0] < 1.3 * borders[:, 0].min()].mean(0)
        found = min(1.0, onsets[0].item())
        spread = onsets[1:].std().item()
        half = ((1.645 * spread) ** 2 + (SLACK * found) ** 2) ** 0.5
        verdict: Verdict = "within"
        if found > 0.95:
            verdict, found = "at least", 1.0
        elif found < ROOM * self._lost(word, x, y, before):
            verdict, found = "none", 0.0
        low, high = max(0.0, found - half), min(1.0, found + half)
        if verdict == "at least":
            low, high = min(1.0, onsets.quantile(0.05).item()), 1.0
        nothing = float(word.strength(0.0))
        ends = (float(word.strength(low)), float(word.strength(high)))
        return Invariance(word, verdict, float(word.strength(found)) if found else nothing, ends)

    def _lost(self, word: Transform, x: Tensor, y: Tensor, before: Before) -> float:
        """Give the dose at which half of what can be lost is lost."""
        readings = self.read(word, x, y, before, 1.0, 24)
        curve = readings.errors.mean(0) - before[0].mean()
        if not self.data.classes:
            curve = curve.clamp(min=0).sqrt()
        beyond = (curve >= curve.max() / 2).nonzero()[0]
        return (beyond.item() + 0.5) / 24


def one_cycle(optimiser: torch.optim.Optimizer, peak: float, progress: float) -> None:
    """Warm up over a tenth, then follow half a cosine down to nothing."""
    warm = min(1.0, progress / 0.1 + 0.05)
    cool = 0.5 * (1 + torch.cos(torch.tensor(torch.pi * max(0.0, progress - 0.1) / 0.9))).item()
    for group in optimiser.param_groups:
        group["lr"] = peak * warm * max(cool, 1e-3)
