"""The measurements: the error of samples against the dose of a transform, and the verdicts."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import torch
from torch import Generator, Tensor, nn

from augnet.learn.curve import Readings
from augnet.learn.inputs import Data
from augnet.learn.result import Invariance, Status
from augnet.learn.strengths import dose, ladders
from augnet.transforms import Bernoulli, Signed, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import permutation, uniform

Before: TypeAlias = tuple[Tensor, Tensor]
"""The error of each sample, and what was predicted."""
READ = 128
"""Samples of a reading, while the trunk is trained."""
MEASURED = 512
"""At most so many samples of either kind, fitted and held out, are measured in the end."""
TOLERANCE = 0.08, 0.2
"""What error a dose may add, for classes and for values (there, of the spread of the targets)."""
COIN = 0.15, 0.3
"""The same for coins, which are tossed or not: there is no smaller dose to fall back to."""
NEAR = 0.8
"""A range beyond this part of the limit whose interval holds the limit has reached it."""
ROOM = 0.1
"""A range below this part of the dose that loses half of what can be lost is no range."""
NEARER = 0.6
"""Samples that come to another class keep less than this of their distance to it, beyond the
distance that its own samples have among each other."""
SLACK = 0.05
"""What the places of borders leave uncertain, as a part of the range, in every interval."""


def _looks(x: Tensor) -> list[Callable[[Tensor], Tensor]]:
    """Give ways to compare samples: as they are, and signals by their spectra too."""
    looks: list[Callable[[Tensor], Tensor]] = [lambda x: x.flatten(1)]
    if x.dim() == 3:
        looks.append(lambda x: torch.fft.rfft(x).abs().flatten(1))
    return looks


def _nearest(samples: Tensor, home: Tensor, itself: bool = True) -> Tensor:
    """Give the distance of each sample to the nearest view, of itself or only of others."""
    distances = torch.cdist(samples, home)
    if not itself:
        own = torch.eye(len(samples), dtype=torch.bool, device=samples.device)
        distances = distances.masked_fill(own.repeat(1, len(home) // len(samples)), torch.inf)
    return distances.amin(1)


def doses_of(count: int) -> int:
    """Give the number of doses that each of `count` samples is measured at in the end."""
    return 2 * max(8, min(32, 3000 // count))


class Meter:
    """Ask a trunk about samples at doses of transforms."""

    def __init__(self, data: Data, trunk: nn.Module, generator: Generator) -> None:
        self.data, self.trunk, self.generator = data, trunk, generator
        kind = 0 if data.classes else 1
        self.tolerance, self.coin = TOLERANCE[kind], COIN[kind]

    @property
    def work(self) -> float:
        """Say how much longer the verdicts take than a reading of all transforms: about 20 times."""
        held_out = len(self.data.held_out)
        count = min(MEASURED, held_out) + min(MEASURED, len(self.data.fitted))
        # Doses per sample: of the verdicts, some of them read twice, and of a reading likewise.
        return count * (1.5 * doses_of(count) + 24) / (min(READ, held_out) * 14)

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
        self, transform: Transform, x: Tensor, y: Tensor, before: Before, window: float, doses: int
    ) -> Readings:
        """Ask the trunk about samples at doses of a transform up to a part of its limit."""
        parts = window * ladders(x, len(x), doses, self.generator)
        signs = torch.ones_like(parts)
        if isinstance(transform, Signed):  # every other dose, from either end
            signs[:, ::2] = -1
            first = uniform(x, (len(x), 1), self.generator) < 0.5
            signs = torch.where(first, signs, -signs)
        with full_precision(x):
            told = [
                self.errors(dose(transform, x, parts[:, i], self.generator, signs[:, i]), y)
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
            isinstance(transform, Signed),
            *(classes if self.data.classes else (None, None, None)),
        )

    def zoom(
        self,
        transform: Transform,
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
            tried = self.read(transform, x, y, before, window, doses)
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

    @torch.no_grad()
    def meet(
        self, transform: Transform, reach: float, x: Tensor, y: Tensor, readings: Readings
    ) -> bool:
        """Tell whether a class becomes another here, and not only in the eyes of the trunk.

        Beyond the doses that it was trained on a trunk may take one class for another that looks
        quite different. Samples that really come to another class come nearer to its samples.
        """
        crossings = readings.crossings()
        if not isinstance(transform, Signed) or not crossings:
            return False
        parts = readings.window * (1 + uniform(x, (len(x),), self.generator)) / 2
        signs = torch.where(uniform(x, (len(x),), self.generator) < 0.5, -1.0, 1.0).to(x)
        with full_precision(x):
            far = dose(transform, x, parts, self.generator, signs)
            within = [reach * uniform(x, (len(x),), self.generator) for _ in range(2)]
            near = torch.cat((x, *(dose(transform, x, part, self.generator) for part in within)))
        answers, labels = self.errors(far, y)[1].argmax(1), y.repeat(3)
        for look in _looks(x):
            here, there, all_views = look(x), look(far), look(near)
            for own, other, sign in crossings:
                rows = (y == own) & (signs == sign) & (answers == other)
                home = all_views[labels == other]
                if rows.sum() < 2 or len(home) < 6:
                    continue
                before, after = (_nearest(side[rows], home) for side in (here, there))
                among = _nearest(here[y == other], home, itself=False).median()
                if ((after - among) / (before - among).clamp(min=1e-9)).median() < NEARER:
                    return True
        return False

    def verdicts(
        self, transforms: Sequence[Transform], reaches: Sequence[float], thrift: float = 1.0
    ) -> list[Invariance]:
        """Measure all transforms with care, around the ranges found in training.

        A `thrift` below 1 takes that part of the doses.
        """
        held_out = self.data.held_out[:MEASURED]
        rows = torch.cat((held_out, self._some(self.data.fitted, MEASURED)))
        x, y = self.data.x[rows], self.data.y[rows]
        before = self.errors(x, y)
        if self.data.classes:  # where much is lost already, less may be added
            # None of a rare class may be among them.
            chance = max(1.0, len(y) - float(y.bincount().max())) / len(y)
            left = max(0.25, 1 - float(before[0].mean()) / chance)
            self.tolerance, self.coin = left * TOLERANCE[0], left * COIN[0]
        # The bootstrap: other samples could have come, so each gets a random weight.
        weights = -uniform(x, (200, len(x)), self.generator).clamp(min=1e-6).log()
        weights = torch.cat((torch.ones_like(weights[:1]), weights))
        return [
            self._kept(transform, x, y, before, weights)
            if isinstance(transform, Bernoulli)
            else self._measure(transform, reach, x, y, before, weights, thrift)
            for transform, reach in zip(transforms, reaches, strict=True)
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

    def toss(self, transform: Transform, x: Tensor, y: Tensor, before: Before) -> Tensor:
        """Give the error that heads add to each sample."""
        view = dose(transform, x, x.new_ones(len(x)), self.generator)
        return self.errors(view, y)[0] - before[0]

    def harm(self, added: Tensor, weights: Tensor) -> Tensor:
        """Give what is lost, on average over samples, for each row of weights."""
        mean = (weights @ added) / weights.sum(1)
        return mean if self.data.classes else mean.clamp(min=0).sqrt()

    def _kept(
        self, transform: Transform, x: Tensor, y: Tensor, before: Before, weights: Tensor
    ) -> Invariance:
        added = self.toss(transform, x, y, before)
        kept = self.harm(added, self._counted(added, weights)) <= self.coin
        low, high = (
            kept.to(x).quantile(x.new_tensor([0.05, 0.95]), interpolation="nearest").tolist()
        )
        status: Status = "reached_limit" if kept[0] else "not_invariant"
        return Invariance(
            transform,
            status,
            transform.limit * float(kept[0]),
            (transform.limit * low, transform.limit * high),
        )

    def _measure(
        self,
        transform: Transform,
        reach: float,
        x: Tensor,
        y: Tensor,
        before: Before,
        weights: Tensor,
        thrift: float,
    ) -> Invariance:
        doses = 2 * max(4, round(thrift * doses_of(len(x)) / 2))
        readings = self.zoom(transform, x, y, before, 3 * reach, doses, 8)
        while True:
            counted = self._counted(readings.errors.mean(1), weights)
            ramps = readings.pooled(counted)
            if readings.window >= 1 or (ramps.height > self.tolerance).all():
                break
            # The end of this window does not tell for sure whether the rise goes on.
            readings = self.read(transform, x, y, before, min(1.0, 4 * readings.window), doses)
        onset, places = ramps.onset[0].item(), ramps.reaches(self.tolerance)
        borders = readings.borders(counted) if places[0] < 1 else None
        if borders is not None:
            places = borders[borders[:, 0] < 1.3 * borders[:, 0].min()].mean(0)
            onset = places[0].item()
        found = min(1.0, places[0].item())
        spread = places[1:].std().item()
        half = ((1.645 * spread) ** 2 + (SLACK * found) ** 2) ** 0.5
        status: Status = "bounded"
        if found > NEAR and found + half >= 1:  # nothing says that the range ends before the limit
            status, found = "reached_limit", 1.0
        elif onset < ROOM * self._lost(transform, x, y, before):
            status, found = "not_invariant", 0.0
        low, high = max(0.0, found - half), min(1.0, found + half)
        if status == "reached_limit":
            low, high = min(1.0, places.quantile(0.05).item()), 1.0
        nothing = float(transform.strength(0.0))
        ends = (float(transform.strength(low)), float(transform.strength(high)))
        return Invariance(
            transform, status, float(transform.strength(found)) if found else nothing, ends
        )

    def _lost(self, transform: Transform, x: Tensor, y: Tensor, before: Before) -> float:
        """Give the dose at which half of what can be lost is lost."""
        readings = self.read(transform, x, y, before, 1.0, 24)
        curve = readings.errors.mean(0) - before[0].mean()
        if not self.data.classes:
            curve = curve.clamp(min=0).sqrt()
        beyond = (curve >= curve.max() / 2).nonzero()[0]
        return (beyond.item() + 0.5) / 24
