"""The measurements: the error of samples against the dose of a word, and the verdicts."""

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Generator, Tensor, nn

from augnet.learn.curve import Readings
from augnet.learn.door import Data
from augnet.learn.dose import dose, ladders
from augnet.learn.found import Invariance, Verdict
from augnet.transforms import Ranged, Switched, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import permutation, uniform

Before: TypeAlias = tuple[Tensor, Tensor]
"""The error of each sample, and what was predicted."""
MEASURED = 512
"""At most so many samples of either kind, fitted and held out, are measured in the end."""
TOLERANCE = 0.08, 0.2
"""What error a dose may add, for classes and for values (there, of the spread of the targets)."""
COIN = 0.15, 0.3
"""The same for coins, which are tossed or not: there is no smaller dose to fall back to."""
ROOM = 0.1
"""A range below this part of the dose that loses half of what can be lost is no range."""
SLACK = 0.05
"""What the places of borders leave uncertain, as a part of the range, in every interval."""


class Meter:
    """Ask a trunk about samples at doses of words."""

    def __init__(self, data: Data, trunk: nn.Module, generator: Generator) -> None:
        self.data, self.trunk, self.generator = data, trunk, generator
        kind = 0 if data.classes else 1
        self.tolerance, self.coin = TOLERANCE[kind], COIN[kind]

    def held_out(self, most: int) -> tuple[Tensor, Tensor]:
        """Draw some samples that are not fitted."""
        rows = self._some(self.data.held_out, most)
        return self.data.x[rows], self.data.y[rows]

    def _some(self, rows: Tensor, most: int) -> Tensor:
        return rows[permutation(self.data.x, len(rows), self.generator)[:most]]

    @torch.no_grad()
    def errors(self, x: Tensor, y: Tensor) -> Before:
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
            told = [
                self.errors(dose(word, x, parts[:, i], self.generator, signs[:, i]), y)
                for i in range(doses)
            ]
        errors, outputs = (torch.stack(values, 1) for values in zip(*told, strict=True))
        classes = y, outputs, before[1]
        return Readings(
            parts,
            signs,
            errors,
            before[0],
            window,
            isinstance(word, Ranged),
            *(classes if self.data.classes else (None, None, None)),
        )

    def zoom(
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
        window, readings = min(1.0, window), None
        for _ in range(tries):
            tried = self.read(word, x, y, before, window, doses)
            ramp = tried.pooled(torch.ones_like(before[0])[None])
            onset, width, height = (v.item() for v in (ramp.onset, ramp.width, ramp.height))
            rises = height > self.tolerance
            if readings is not None and not rises and window < readings.window:
                return readings  # too near to see anything
            smaller = readings is None or window < readings.window
            readings = tried
            if rises and smaller and onset + min(width, 2 * onset) < 0.25 * window:
                window *= 0.4
            elif tries > 2 and (not rises or onset > 0.8 * window) and window < 1:
                window = min(1.0, 2 * window)
            else:
                break
        assert readings is not None
        return readings

    def verdicts(self, words: Sequence[Transform], reaches: Sequence[float]) -> list[Invariance]:
        """Measure all words with care, around the ranges found in training."""
        held_out = self.data.held_out[:MEASURED]
        rows = torch.cat((held_out, self._some(self.data.fitted, MEASURED)))
        x, y = self.data.x[rows], self.data.y[rows]
        before = self.errors(x, y)
        # The bootstrap: other samples could have come, so each gets a random weight.
        weights = -uniform(x, (200, len(x)), self.generator).clamp(min=1e-6).log()
        weights = torch.cat((torch.ones_like(weights[:1]), weights))
        return [
            self._toss(word, x, y, before, weights)
            if isinstance(word, Switched)
            else self._measure(word, reach, x, y, before, weights)
            for word, reach in zip(words, reaches, strict=True)
        ]

    def _counted(self, errors: Tensor, weights: Tensor) -> Tensor:
        """Leave out the samples that were fitted if they show less error than the others.

        Then the trunk knows them by heart, and they say nothing about what can be told. If it
        treats them like the others, they are as good, and there are more of them.
        """
        count = min(MEASURED, len(self.data.held_out))
        held_out = torch.arange(len(errors), device=errors.device) < count
        mine, others = errors[held_out], errors[~held_out]
        noise = (mine.var() / len(mine) + others.var() / len(others)).sqrt()
        by_heart = mine.mean() - others.mean() > 1.5 * noise + 1e-3
        return weights * torch.where(held_out | ~by_heart, 1.0, 1e-6)

    def _toss(
        self, word: Transform, x: Tensor, y: Tensor, before: Before, weights: Tensor
    ) -> Invariance:
        view = dose(word, x, x.new_ones(len(x)), self.generator)
        after = self.errors(view, y)[0]
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
        readings = self.zoom(word, x, y, before, 3 * reach, doses, 8)
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
