"""The response curve: how the error depends on the strength, and where it starts to rise."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from augnet.learn.config import DEFAULTS, LearnConfig

Points: TypeAlias = tuple[Tensor, Tensor, Tensor]
"""Places, values and weights."""


@dataclass(frozen=True)
class Ramp:
    """A level, then a rise by `height` between `onset` and `onset + width`; one per row."""

    onset: Tensor
    width: Tensor
    height: Tensor

    def reaches(self, level: float) -> Tensor:
        """Return the place where it has risen by a level, or 1 where it never does."""
        place = self.onset + self.width * level / self.height.clamp(min=1e-9)
        return torch.where(self.height > level, place, 1.0)


def fit_ramp(
    places: Tensor,
    values: Tensor,
    weights: Tensor,
    window: float,
    candidates: Sequence[float] = DEFAULTS.ramp_widths,
) -> Ramp:
    """Fit by weighted least squares to each row (R, P): on a grid, then on a finer one around."""
    starts = torch.linspace(0, 1, 41)[:-1].to(values) * window
    widths = torch.tensor(candidates).to(values) * window
    best = _best(places, values, weights, *torch.cartesian_prod(starts, widths).T[:, None])
    offsets = torch.linspace(-1, 1, 11).to(values) * window / 40
    stretch = torch.tensor([0.7, 0.85, 1.0, 1.2, 1.4]).to(values)
    offset, factor = torch.cartesian_prod(offsets, stretch).T[:, None]
    onset = (best.onset[:, None] + offset).clamp(min=0)
    return _best(places, values, weights, onset, best.width[:, None] * factor)


def _best(places: Tensor, values: Tensor, weights: Tensor, onset: Tensor, width: Tensor) -> Ramp:
    """Return the best of some ramps (R or 1, G), whose level and height are solved for."""
    share = (weights / weights.sum(1, keepdim=True))[:, None]
    rise = ((places[:, None] - onset[..., None]) / width[..., None]).clamp(0, 1)
    rise = rise - (share * rise).sum(-1, keepdim=True)
    value = values[:, None] - (share * values[:, None]).sum(-1, keepdim=True)
    variance = (share * rise.square()).sum(-1).clamp(min=1e-9)
    height = ((share * rise * value).sum(-1) / variance).clamp(0, 1)
    misfit = (share * (value - height[..., None] * rise).square()).sum(-1)
    index = misfit.argmin(1, keepdim=True)
    onset, width = onset.expand_as(misfit), width.expand_as(misfit)
    return Ramp(*(each.gather(1, index)[:, 0] for each in (onset, width, height)))


@dataclass(frozen=True)
class ResponseCurve:
    """Errors and scores of a network on N held-out samples at M strengths of one transform each."""

    fractions: Tensor
    """(N, M), the strengths as fractions of the limit, up to `window`."""
    signs: Tensor
    """(N, M), their directions."""
    errors: Tensor
    """(N, M), 0 or 1 for classes, the squared error as a fraction of the variance for values."""
    before: Tensor
    """(N,), the error without any transform."""
    window: float
    signed: bool
    """Whether the transform has two directions."""
    labels: Tensor | None = None
    """(N,), for classes."""
    scores: Tensor | None = None
    """(N, M, K), for classes."""
    scores_before: Tensor | None = None
    """(N, K), for classes."""
    config: LearnConfig = DEFAULTS

    def fit(self, weights: Tensor) -> Ramp:
        """Fit one ramp to all measurements, for each row of weights of samples (R, N)."""
        places, errors, counts = self._bin(self.errors, torch.ones_like(self.errors), weights)
        base = (weights @ self.before) / weights.sum(1)
        if self.labels is None:  # squares of what grows with the strength
            errors, base = (errors - base[:, None]).clamp(min=0).sqrt(), torch.zeros_like(base)
        places = torch.cat((torch.zeros_like(base)[:, None], places), 1)
        errors = torch.cat((base[:, None], errors), 1)
        counts = torch.cat((weights.sum(1, keepdim=True), counts), 1)
        return fit_ramp(places, errors, counts, self.window, self.config.ramp_widths)

    def borders(self, weights: Tensor) -> Tensor | None:
        """Return the onset at each border between classes (D, R), or None if there is no border.

        At a border, samples of one class become another in one direction, and those of the other
        become the one in the opposite direction. If it lies off the middle of the gap, one class
        reaches it too early and the other too late, by the same amount, and their mean is right.
        Transforms without a direction have no such pairs: see `_arrived`. There the middle of the
        rise counts, because mostly the random params of the transform spread it.
        """
        sides: dict[tuple[int, int, int], list[Tensor]] = {}
        for own, other, sign, rows in self._crossings():
            points = self._bin(self._arrived(own, other), rows, weights)
            ramp = fit_ramp(*points, self.window, self.config.ramp_widths)
            if ramp.height[0] >= self.config.min_crossing:
                border = (own, other, sign) if own < other else (other, own, -sign)
                sides.setdefault(border, []).append(
                    ramp.onset if self.signed else ramp.onset + ramp.width / 2
                )
        if not sides:
            return None
        return torch.stack([torch.stack(onsets).mean(0) for onsets in sides.values()])

    def crossings(self) -> list[tuple[int, int, int]]:
        """List classes that become others, and in which direction: own, other and sign."""
        return [(own, other, sign) for own, other, sign, _ in self._crossings()]

    def _arrived(self, own: int, other: int) -> Tensor:
        """Mark the measurements at which samples of one class have reached another.

        If a transform has no direction, the other class does not move towards the border: samples
        have to reach the other class itself, all but the nearest tenth of its samples.
        """
        assert self.labels is not None
        assert self.scores is not None
        assert self.scores_before is not None
        if self.signed:
            return (self.scores.argmax(2) == other).to(self.fractions.dtype)
        goal = (self.scores_before[:, other] - self.scores_before[:, own])[self.labels == other]
        lead = self.scores[..., other] - self.scores[..., own]
        return (lead >= goal.quantile(0.1)).to(self.fractions.dtype)

    def _crossings(self) -> Iterator[tuple[int, int, int, Tensor]]:
        """Find which classes clearly become which, and in which direction."""
        if self.labels is None or self.scores is None:
            return
        predictions = self.scores.argmax(2)
        labels = self.labels[:, None].expand_as(predictions)
        far = self.fractions > self.window / 2
        for sign in (-1, 1):
            for own in self.labels.unique().tolist():
                rows = (labels == own) & (self.signs == sign)
                predicted = predictions[rows & far]
                counts = predicted.bincount() if len(predicted) else predicted
                for other, count in enumerate(counts.tolist()):
                    clear = other != own and count >= self.config.min_crossing * len(predicted)
                    # Without samples of the other class, its place is unknown.
                    if clear and (self.labels == other).any():
                        yield own, other, sign, rows.to(self.fractions.dtype)

    def _bin(self, values: Tensor, rows: Tensor, weights: Tensor) -> Points:
        """Return places, mean values and weights (R, bins) of some of the measurements."""
        bins = self.config.bins
        index = (self.fractions / self.window * bins).long().clamp(max=bins - 1)
        member = F.one_hot(index, bins).to(values.dtype) * rows[..., None]
        counts, totals, places = (
            weights @ (member * value[..., None]).sum(1)
            for value in (torch.ones_like(values), values, self.fractions)
        )
        filled = counts.clamp(min=1e-9)
        return places / filled, totals / filled, counts
