"""How far an error stays within the tolerance: for all samples, a class, or a direction."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from augnet.learn.config import LearnConfig
from augnet.learn.decide import TOO_FEW, WIDE, isotonic
from augnet.learn.evaluate import Evaluator
from augnet.learn.parts import CurvePoint, PartRange, PartStatus
from augnet.learn.response import Response
from augnet.transforms import Bernoulli, Transform

NEVER = 2.0
"""A fraction of the limit that is beyond it."""
TOO_LOW = "the range is below the least that was measured"
MIN_PART = 12
"""Fewer held-out samples of a class can tell nothing."""


@dataclass(frozen=True)
class PartCosts:
    """What a stage of a sweep costs a part."""

    excess: Tensor
    """By how much too much error is added: of all samples, then of resampled ones (1 + R,)."""
    added: float


@dataclass(frozen=True)
class Held:
    """Up to which fraction of the limit an error stays within the tolerance."""

    fraction: float
    low: float
    """The last step within the tolerance, and"""
    high: float
    """the first beyond it, with a confidence of 90 %; above 1 if there is none."""

    def strengths(self, transform: Transform) -> tuple[float, tuple[float, float]]:
        """Return the strength and its interval in physical units."""
        ends = (self.fraction, self.low, min(1.0, self.high))
        strength, low, high = (float(transform.strength(each)) for each in ends)
        return strength, (low, high)

    @property
    def reached(self) -> bool:
        """Whether the error stays within the tolerance up to the limit."""
        return self.fraction >= 1


def find_held(
    response: Response,
    evaluator: Evaluator,
    tolerance: float,
    config: LearnConfig,
    seed: int = 0,
) -> Held:
    """Find where the added error reaches the tolerance, or what the samples can resolve.

    The curve is the closest rising one; the interval is that of resampled samples.
    """
    added = response.added.mean(0).T
    generator = Generator(device=added.device).manual_seed(seed)
    weights = evaluator.resample(response.rows, config.bootstrap, generator)
    weights = torch.cat((evaluator.weights[response.rows][None], weights))
    curves = (weights @ added) / weights.sum(1, keepdim=True)
    noise = [evaluator.deviation(each, response.rows) for each in added.T]
    allowed = [max(tolerance, config.confidence * each) for each in noise]
    if isinstance(response.transform, Bernoulli):
        holds = (curves[:, 0] <= allowed[0]).to(added)
        low, high = holds[1:].quantile(added.new_tensor([0.05, 0.95])).tolist()
        return Held(holds[0].item(), float(low == 1), NEVER if high > 0 else 0.0)
    curves = isotonic(curves - added.new_tensor(allowed))
    low, at, high = _places(curves, response.fractions, -tolerance)
    return Held(at[0].item(), low[1:].quantile(0.05).item(), high[1:].quantile(0.95).item())


def _places(
    curves: Tensor, fractions: Sequence[float], start: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the last step at which each rising curve is below 0, where it passes, and the next.

    If it never does, these are 1, 1 and NEVER. At 0 a curve is at `start`.
    """
    curves = torch.cat((torch.full_like(curves[:, :1], start), curves), 1)
    places = curves.new_tensor([0.0, *fractions])
    beyond = curves > 0
    never = ~beyond.any(1)
    index = torch.where(never, len(places) - 1, beyond.to(torch.int8).argmax(1))
    low, high = (curves.gather(1, each[:, None])[:, 0] for each in (index - 1, index))
    low = low.clamp(max=0)
    rise = (-low / (high - low).clamp(min=1e-9)).clamp(0, 1)
    ends = places[index - 1], places[index]
    found = ends[0] + (ends[1] - ends[0]) * rise
    first, at = (each.masked_fill(never, 1.0) for each in (ends[0], found))
    return first, at, ends[1].masked_fill(never, NEVER)


def curve(response: Response, evaluator: Evaluator, config: LearnConfig) -> tuple[CurvePoint, ...]:
    """Return the mean response at each strength, from one direction to the other."""
    transform, rows = response.transform, response.rows
    points = [CurvePoint(float(transform.strength(0.0)), 0.0, 0.0, (0.0, 0.0), 0.0)]
    for number, direction in enumerate(response.directions[: len(response.added)]):
        for index, fraction in enumerate(response.fractions):
            added, changed = (each[number, index] for each in (response.added, response.changed))
            mean = evaluator.mean(added, rows).item()
            half = config.confidence * evaluator.deviation(added, rows)
            signed = direction * fraction
            points.append(
                CurvePoint(
                    float(transform.strength(signed)),
                    signed,
                    mean,
                    (mean - half, mean + half),
                    evaluator.mean(changed, rows).item(),
                )
            )
    return tuple(sorted(points, key=lambda point: point.fraction))


def part_range(
    name: str,
    transform: Transform,
    fractions: Sequence[float],
    costs: Sequence[PartCosts],
    samples: int,
    tolerance: float,
    config: LearnConfig,
) -> PartRange:
    """Return the range of a part, from what each stage of a sweep costs it.

    Stages end at fractions of the limit. A range whose interval includes 0 is none.
    """
    if samples < MIN_PART:
        return unclear_part(name, samples, TOO_FEW)
    excess = torch.stack([each.excess for each in costs], 1)
    if isinstance(transform, Bernoulli):
        lost = (excess[:, 0] > 0).to(excess)
        if lost[1:].quantile(0.05) < lost[1:].quantile(0.95):
            return unclear_part(name, samples, TOO_FEW)
        limit = transform.limit
        if lost[0]:
            return PartRange(name, "not_invariant", 0.0, (0.0, 0.0), samples)
        return PartRange(name, "reached_limit", limit, (limit, limit), samples)
    low, at, high = _places(isotonic(excess), fractions, -tolerance)
    held = Held(at[0].item(), low[1:].quantile(0.05).item(), high[1:].quantile(0.95).item())
    strength, interval = held.strengths(transform)
    wide = min(1.0, held.high) - held.low > config.max_width
    if held.low <= 0:
        half = _half_cost(fractions, costs)
        if not wide and half > fractions[0] and held.fraction < config.min_range * half:
            return PartRange(name, "not_invariant", 0.0, interval, samples)
        return unclear_part(name, samples, TOO_LOW if held.high < 1.01 * fractions[0] else TOO_FEW)
    if wide or math.log(min(1.0, held.high) / held.low) / 2 > config.max_half_width:
        return unclear_part(name, samples, WIDE)
    status: PartStatus = "reached_limit" if held.fraction > config.near_limit else "bounded"
    return PartRange(name, status, strength, interval, samples)


def unclear_part(name: str, samples: int, reason: str) -> PartRange:
    """Return that nothing is known about a part, and why."""
    return PartRange(name, "unclear", 0.0, (0.0, 0.0), samples, reason)


def _half_cost(fractions: Sequence[float], costs: Sequence[PartCosts]) -> float:
    """Return the fraction of the limit at which half of the largest cost is reached."""
    half = max(each.added for each in costs) / 2
    return next(f for f, each in zip(fractions, costs, strict=True) if each.added >= half)
