"""How the error depends on the dose of a transform, and where it begins to rise."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

Points: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""Places, values and weights."""
BINS = 32
WIDTHS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2)
CLEAR = 0.2
"""A class reaches a border if this part of its samples crosses it in the far half of the window."""


@dataclass(frozen=True)
class Ramp:
    """A level, then a rise by `height` between `onset` and `onset + width`; one per row."""

    onset: Tensor
    width: Tensor
    height: Tensor

    def reaches(self, level: float) -> Tensor:
        """Give where it has risen by a level, or 1 where it never does."""
        place = self.onset + self.width * level / self.height.clamp(min=1e-9)
        return torch.where(self.height > level, place, 1.0)


def fit_ramp(places: Tensor, values: Tensor, weights: Tensor, window: float) -> Ramp:
    """Fit by weighted least squares to each row (R, P): on a grid, then on a finer one around."""
    starts = torch.linspace(0, 1, 41)[:-1].to(values) * window
    widths = torch.tensor(WIDTHS).to(values) * window
    best = _best(places, values, weights, *torch.cartesian_prod(starts, widths).T[:, None])
    offsets = torch.linspace(-1, 1, 11).to(values) * window / 40
    stretch = torch.tensor([0.7, 0.85, 1.0, 1.2, 1.4]).to(values)
    offset, factor = torch.cartesian_prod(offsets, stretch).T[:, None]
    onset = (best.onset[:, None] + offset).clamp(min=0)
    return _best(places, values, weights, onset, best.width[:, None] * factor)


def _best(places: Tensor, values: Tensor, weights: Tensor, onset: Tensor, width: Tensor) -> Ramp:
    """Take the best of some ramps (R or 1, G), whose level and height are solved for."""
    share = (weights / weights.sum(1, keepdim=True))[:, None]
    rise = ((places[:, None] - onset[..., None]) / width[..., None]).clamp(0, 1)
    rise = rise - (share * rise).sum(-1, keepdim=True)
    value = values[:, None] - (share * values[:, None]).sum(-1, keepdim=True)
    variance = (share * rise.square()).sum(-1).clamp(min=1e-9)
    height = ((share * rise * value).sum(-1) / variance).clamp(0, 1)
    misfit = (share * (value - height[..., None] * rise).square()).sum(-1)
    index = misfit.argmin(1, keepdim=True)
    onset, width = onset.expand_as(misfit), width.expand_as(misfit)
    return Ramp(*(part.gather(1, index)[:, 0] for part in (onset, width, height)))


@dataclass(frozen=True)
class Readings:
    """What a network says of N held-out samples at M doses of one transform each."""

    parts: Tensor
    """(N, M), the doses as parts of the limit, up to `window`."""
    signs: Tensor
    """(N, M), their directions."""
    errors: Tensor
    """(N, M), 0 or 1 for classes, the squared error in parts of the variance for values."""
    before: Tensor
    """(N,), the error without any dose."""
    window: float
    signed: bool
    """Whether the transform goes both ways."""
    labels: Tensor | None = None
    """(N,), for classes."""
    scores: Tensor | None = None
    """(N, M, K), for classes."""
    scores_before: Tensor | None = None
    """(N, K), for classes."""

    def pooled(self, weights: Tensor) -> Ramp:
        """Fit one ramp to all readings, for each row of weights of samples (R, N)."""
        places, errors, counts = self._binned(self.errors, torch.ones_like(self.errors), weights)
        base = (weights @ self.before) / weights.sum(1)
        if self.labels is None:  # squares of what grows with the dose
            errors, base = (errors - base[:, None]).clamp(min=0).sqrt(), torch.zeros_like(base)
        places = torch.cat((torch.zeros_like(base)[:, None], places), 1)
        errors = torch.cat((base[:, None], errors), 1)
        counts = torch.cat((weights.sum(1, keepdim=True), counts), 1)
        return fit_ramp(places, errors, counts, self.window)

    def borders(self, weights: Tensor) -> Tensor | None:
        """Give the onset at each border between classes (D, R), or None where there is no border.

        A border is where samples of one class become another in one direction, and those of the
        other become the one in the opposite direction. If it lies off the middle of the gap, one
        class reaches it too early and the other too late, by as much: their mean is free of it.
        Transforms without a direction have no such pairs: see `_there`; there the middle of the rise
        counts, because what spreads it is mostly the transform's own dice.
        """
        sides: dict[tuple[int, int, int], list[Tensor]] = {}
        for own, other, sign, rows in self._crossings():
            there = self._there(own, other)
            ramp = fit_ramp(*self._binned(there, rows, weights), self.window)
            if ramp.height[0] >= CLEAR:
                border = (own, other, sign) if own < other else (other, own, -sign)
                sides.setdefault(border, []).append(
                    ramp.onset if self.signed else ramp.onset + ramp.width / 2
                )
        if not sides:
            return None
        return torch.stack([torch.stack(onsets).mean(0) for onsets in sides.values()])

    def crossings(self) -> list[tuple[int, int, int]]:
        """Find classes that become others, and in which direction: own, other and sign."""
        return [(own, other, sign) for own, other, sign, _ in self._crossings()]

    def _there(self, own: int, other: int) -> Tensor:
        """Tell for which readings samples of one class have reached another.

        Where a transform has no direction, the other class does not come to meet it: what counts is not
        the border but the other class itself, all but the nearest tenth of its samples.
        """
        assert self.labels is not None
        assert self.scores is not None
        assert self.scores_before is not None
        if self.signed:
            return (self.scores.argmax(2) == other).to(self.parts.dtype)
        goal = (self.scores_before[:, other] - self.scores_before[:, own])[self.labels == other]
        lead = self.scores[..., other] - self.scores[..., own]
        return (lead >= goal.quantile(0.1)).to(self.parts.dtype)

    def _crossings(self) -> Iterator[tuple[int, int, int, Tensor]]:
        """Find which classes clearly become which, and in which direction."""
        if self.labels is None or self.scores is None:
            return
        everything = self.scores.argmax(2)
        labels = self.labels[:, None].expand_as(everything)
        far = self.parts > self.window / 2
        for sign in (-1, 1):
            for own in self.labels.unique().tolist():
                rows = (labels == own) & (self.signs == sign)
                answers = everything[rows & far]
                counts = answers.bincount() if len(answers) else answers
                for other, count in enumerate(counts.tolist()):
                    clear = other != own and count >= CLEAR * len(answers)
                    if clear and (self.labels == other).any():  # else nobody knows where it is
                        yield own, other, sign, rows.to(self.parts.dtype)

    def _binned(self, values: Tensor, rows: Tensor, weights: Tensor) -> Points:
        """Give places, mean values and weights (R, BINS) of some of the readings."""
        index = (self.parts / self.window * BINS).long().clamp(max=BINS - 1)
        member = F.one_hot(index, BINS).to(values.dtype) * rows[..., None]
        counts, totals, places = (
            weights @ (member * value[..., None]).sum(1)
            for value in (torch.ones_like(values), values, self.parts)
        )
        filled = counts.clamp(min=1e-9)
        return places / filled, totals / filled, counts
