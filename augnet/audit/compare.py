"""Compare how far labels allow a transform with how far a model holds."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from torch import Tensor

from augnet.learn.config import LearnConfig
from augnet.learn.decide import TOO_FEW, WIDE, isotonic
from augnet.learn.evaluate import Evaluator
from augnet.learn.held import Held, find_held
from augnet.learn.inputs import LearnData
from augnet.learn.parts import CurvePoint, PartRange
from augnet.learn.response import CLOSE, Response, directions, to_fraction
from augnet.learn.result import Invariance
from augnet.transforms import Bernoulli

Finding: TypeAlias = Literal["fragile", "matches", "blind", "unclear"]

NO_CURVE = 0.1
"""What labels are taken to lose beyond their range, if it was not measured."""
CHANCE = "the model is not better than chance"


@dataclass(frozen=True)
class Compared:
    """A finding, how far the model holds, what that costs, and why it is unclear."""

    finding: Finding
    held: Held
    cost: float
    """Fragile: the error added at the end of the labels' range. Blind: the fraction of predictions
    that stay though the label changes."""
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """What all transforms of an audit have in common."""

    evaluator: Evaluator
    config: LearnConfig
    tolerance: float
    better: float
    """By how much the error of the model is below that of chance."""
    informed: bool
    """Whether the model is better than chance."""
    varies: bool
    """Whether predictions differ between samples."""

    @classmethod
    def of(
        cls, evaluator: Evaluator, config: LearnConfig, rest: Tensor, rows: Tensor
    ) -> "Comparison":
        """Compare with the outputs of a model without any transform."""
        errors = evaluator.errors(rest, rows)
        error = evaluator.mean(errors, rows).item()
        better = evaluator.chance - error
        noise = config.min_deviations * evaluator.deviation(errors, rows)
        factor = 1.0 if evaluator.data.classes else config.value_factor
        return cls(
            evaluator,
            config,
            max(factor * config.tolerance, config.relative_tolerance * error),
            better,
            better >= max(noise, config.min_better),
            _varies(rest, evaluator.data),
        )

    def held(self, response: Response) -> Held:
        """Return how far the model holds."""
        return find_held(response, self.evaluator, self.tolerance, self.config)

    def compare(
        self,
        labels: Invariance | PartRange,
        response: Response,
        reason: str = "",
        points: Sequence[CurvePoint] = (),
    ) -> Compared:
        """Return the finding for all samples, a class, or a direction.

        `points` is the curve of the labels, and `reason` why they are unclear.
        """
        held = self.held(response)
        if labels.status == "unclear":
            return Compared("unclear", held, 0.0, f"labels: {reason or TOO_FEW}")
        transform = response.transform
        low, high = (to_fraction(transform, end) for end in labels.interval)
        strength = to_fraction(transform, labels.strength) if labels.kept else 0.0
        if isinstance(transform, Bernoulli):
            low = high = strength = 1.0 if labels.kept else 0.0
        missing = self._missing(labels, response, high, points)
        if missing > 0 and self.varies:
            return Compared("blind", held, missing)
        if not self.informed:
            return Compared("unclear", held, 0.0, CHANCE)
        cost = self._added(response, strength)
        if labels.kept and held.high <= low + CLOSE and held.high <= 1:
            return Compared("fragile", held, cost)
        if isinstance(transform, Bernoulli):
            doubt = self.config.confidence * self.evaluator.deviation(
                response.added[0, 0], response.rows
            )
            loose = labels.kept and cost + doubt > self.config.max_loss * self.better
            if loose or held.low < 1 < held.high:
                return Compared("unclear", held, cost, TOO_FEW)
        elif (
            labels.kept
            and held.fraction < low
            and min(1, held.high) - held.low > self.config.max_width
        ):
            return Compared("unclear", held, cost, WIDE)
        return Compared("matches", held, cost)

    def _missing(
        self,
        labels: Invariance | PartRange,
        response: Response,
        high: float,
        points: Sequence[CurvePoint],
    ) -> float:
        """Return the fraction of predictions that stay though the label changes, 0 if many change.

        A model is blind if, beyond the range of the labels, it is sure to change fewer than half
        of the predictions that are lost there. Both are means over directions.
        """
        if labels.status == "reached_limit":
            return 0.0
        beyond = [k for k, fraction in enumerate(response.fractions) if fraction > high]
        if not beyond:
            return 0.0
        changed = response.changed.mean(0)
        rows, evaluator = response.rows, self.evaluator
        index = max(beyond, key=lambda k: evaluator.mean(changed[k], rows).item())
        mean = evaluator.mean(changed[index], rows).item()
        most = mean + self.config.confidence * evaluator.deviation(changed[index], rows)
        lost = self._lost(labels, high, points)
        return lost - mean if lost > 3 * self.tolerance and most < lost / 2 else 0.0

    def _lost(
        self, labels: Invariance | PartRange, high: float, points: Sequence[CurvePoint]
    ) -> float:
        """Return the error that labels lose beyond their range, the mean over directions."""
        beyond: dict[float, list[float]] = defaultdict(list)
        for point in points:
            if abs(point.fraction) > high:
                beyond[round(abs(point.fraction), 6)].append(point.added)
        if beyond:
            return max(sum(each) / len(each) for each in beyond.values())
        cost = getattr(labels, "cost", None) if labels.status == "not_invariant" else None
        return max(NO_CURVE * self.evaluator.chance, cost or 0.0)

    def _added(self, response: Response, fraction: float) -> float:
        """Return the error that the model adds at a fraction of the limit, on a rising curve."""
        if fraction <= 0:
            return 0.0
        places, rows = [0.0, *response.fractions], response.rows
        means = torch.stack([self.evaluator.mean(each, rows) for each in response.added.mean(0)])
        values = [0.0, *isotonic(means[None])[0].tolist()]
        index = next((k for k, place in enumerate(places) if place >= fraction), len(places) - 1)
        start, end = places[index - 1], places[index]
        share = min(1.0, (fraction - start) / (end - start))
        return values[index - 1] + share * (values[index] - values[index - 1])


def labels_curve(row: Invariance) -> tuple[CurvePoint, ...]:
    """Return the curve of labels; of a row without one, its response in both directions alike."""
    if row.curve:
        return row.curve
    transform = row.transform
    points = [
        CurvePoint(
            float(transform.strength(direction * fraction)),
            direction * fraction,
            added,
            (added, added),
            0.0,
        )
        for direction in directions(transform)
        for fraction, added in (
            (to_fraction(transform, strength), added) for strength, added in row.response
        )
        if fraction or direction > 0
    ]
    return tuple(sorted(points, key=lambda point: point.fraction))


def _varies(rest: Tensor, data: LearnData) -> bool:
    """Whether predictions differ between samples: one for all is blind to everything."""
    if not data.classes:
        return bool((rest.std(0) > 0.05 * data.scale).any())
    return int(rest.argmax(1).bincount().max()) < 0.95 * len(rest)
