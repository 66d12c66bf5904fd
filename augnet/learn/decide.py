"""Decide the status of a transform from held-out errors, and the interval of its range."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor, nn

from augnet.learn.config import LearnConfig
from augnet.learn.evaluate import Evaluator
from augnet.learn.result import Invariance, Status
from augnet.learn.strengths import apply_at_strength
from augnet.transforms import Transform
from augnet.transforms.base import full_precision

NO_TIME = "no time was left"
TOO_FEW = "too few held-out samples to tell"
MOVES = "the range still moves with training"
WIDE = "the interval spans most of the search range"
NOISE = "noise hides where the error starts to rise"
NO_COST = "two classes seem to meet, but the transform adds next to no error"


@dataclass(frozen=True)
class Measured:
    """A trained network, a transform, and held-out samples with their errors.

    `rest` are the errors of the network without the transform, and `before` those to compare with:
    of a network that was trained without the transform, or `rest` (`Branch.compared`).
    """

    evaluator: Evaluator
    network: nn.Module
    transform: Transform
    rows: Tensor
    rest: Tensor
    before: Tensor
    tolerance: float
    generator: Generator
    instability: float = 0.0
    """The fraction of predictions that change by training alone."""

    def added(self, fraction: float, repeats: int) -> Tensor:
        """Return the error that is added to each sample at a fraction of the limit."""
        errors = [
            self.evaluator.errors_at(
                self.network, self.transform, self.rows, fraction, self.generator
            )
            for _ in range(repeats)
        ]
        return torch.stack(errors).mean(0) - self.before

    def mean(self, added: Tensor) -> float:
        """Return the mean over samples, each class weighted the same."""
        return self.evaluator.mean(added, self.rows).item()

    def repeats(self, config: LearnConfig) -> int:
        """Return how often each sample is measured at a strength: less often if there are many."""
        return max(1, min(config.final_repeats, config.final_samples // len(self.rows)))

    def exceeds(self, fraction: float, config: LearnConfig) -> bool:
        """Whether a fraction of the limit adds more error than is allowed."""
        added = self.added(fraction, 1)
        return self.mean(added) > self.allowed(added, config.confidence)

    def allowed(self, added: Tensor, confidence: float) -> float:
        """Return the error that may be added: the tolerance, or what the samples can resolve."""
        return max(self.tolerance, confidence * self.evaluator.deviation(added, self.rows))


def measure_bernoulli(measured: Measured) -> Tensor:
    """Return the error that is added to each sample, at rest and under the transform, (2, N).

    A network that learns contradictory labels may lose the samples at rest instead.
    """
    return torch.stack((measured.rest - measured.before, measured.added(1.0, 1)))


def is_close(measured: Measured, added: Tensor, config: LearnConfig) -> bool:
    """Whether the errors of `measure_bernoulli` are too high, but not by much.

    Training with a flip is twice the work. A label that it keeps costs a point or two before the
    network has learned both sides.
    """
    worse = max(added, key=measured.mean)
    ratio = measured.mean(worse) / measured.allowed(worse, config.confidence)
    return 1 < ratio < config.close_factor


def decide_bernoulli(measured: Measured, added: Tensor, config: LearnConfig) -> Invariance:
    """Accept a transform if it adds no more error than the tolerance, at rest or transformed."""
    transform, limit = measured.transform, measured.transform.limit
    response = tuple(zip((0.0, 1.0), map(measured.mean, added), strict=True))
    worse = max(added, key=measured.mean)
    cost, allowed = measured.mean(worse), measured.allowed(worse, config.confidence)
    if cost > allowed:
        return Invariance(transform, "not_invariant", 0.0, (0.0, 0.0), cost=cost, response=response)
    error = measured.mean(measured.before)
    if cost + allowed > config.max_loss * (measured.evaluator.chance - error):
        return Invariance(
            transform, "unclear", 0.0, (0.0, 0.0), cost=cost, reason=TOO_FEW, response=response
        )
    return Invariance(
        transform, "reached_limit", limit, (limit, limit), cost=cost, response=response
    )


def doubt_by_distances(
    measured: Measured, found: Invariance, usual: Tensor, config: LearnConfig
) -> Invariance:
    """Do not accept a flip at more than the tolerance if probabilities became worse, too.

    It was accepted because the samples are too few to tell by their errors. Probabilities tell
    more: their squared distances from the truth are compared with the `usual` ones, (N,), of a
    network without the transform.
    """
    evaluator, rows = measured.evaluator, measured.rows
    if not (found.kept and evaluator.data.classes and (found.cost or 0.0) > measured.tolerance):
        return found
    x = evaluator.data.x[rows]
    with full_precision(x):
        view = apply_at_strength(found.transform, x, x.new_ones(len(x)), measured.generator)
    outputs = (evaluator.outputs(measured.network, each) for each in (x, view))
    added = max((evaluator.distances(each, rows) - usual for each in outputs), key=measured.mean)
    farther = measured.mean(added)
    if farther <= 0:
        return found
    certain = farther > config.confidence * evaluator.deviation(added, rows)
    clear = certain and farther > config.clear_distance * measured.mean(usual)
    status: Status = "not_invariant" if clear else "unclear"
    reason = "" if clear else TOO_FEW
    return replace(found, status=status, strength=0.0, interval=(0.0, 0.0), reason=reason)


@dataclass(frozen=True)
class Crossing:
    """Where the added error reaches the tolerance, as a multiple of the range that was trained."""

    factor: float
    interval: tuple[float, float]
    """Where it is over resamplings of the samples (90 %)."""
    cost: float
    """The error added there."""
    allowed: float
    """The error that may be added there."""
    response: tuple[tuple[float, float], ...] = ()
    """Strengths, and the error that each adds."""


def measure_crossing(measured: Measured, fraction: float, config: LearnConfig) -> Crossing:
    """Measure the error at multiples of a range, and find where it reaches the tolerance."""
    repeats = measured.repeats(config)
    factors = [factor for factor in config.interval_factors if factor * fraction < 1]
    factors.append(1 / fraction if len(factors) < len(config.interval_factors) else 2 * factors[-1])
    added = torch.stack([measured.added(min(1.0, f * fraction), repeats) for f in factors], 1)
    evaluator = measured.evaluator
    weights = evaluator.resample(measured.rows, config.bootstrap, measured.generator)
    weights = torch.cat((evaluator.weights[measured.rows][None], weights))
    curves = (weights @ added) / weights.sum(1, keepdim=True)
    allowed = [measured.allowed(each, config.confidence) for each in added.T]
    fractions = [0.0, *(min(1.0, f * fraction) for f in factors)]
    means = [measured.mean(measured.rest - measured.before), *curves[0].tolist()]
    strengths = [float(measured.transform.strength(each)) for each in fractions]
    curves = isotonic(curves - torch.tensor(allowed).to(curves))
    places = _crossings(curves, torch.tensor(factors).to(added).log(), -measured.tolerance)
    factor = places[0].exp().item()
    there = measured.added(min(1.0, factor * fraction), repeats)
    return Crossing(
        factor,
        _interval(places),
        measured.mean(there),
        measured.allowed(there, config.confidence),
        tuple(zip(strengths, means, strict=True)),
    )


def _interval(places: Tensor) -> tuple[float, float]:
    """Return the 90 % interval of a place, given its logarithm and those of resamplings."""
    levels = torch.tensor([0.05, 0.95]).to(places)
    low, high = places[1:].quantile(levels).exp().tolist()
    place = places[0].exp().item()
    return min(low, place), max(high, place)


def isotonic(curves: Tensor) -> Tensor:
    """Return the closest rising curve to each row (R, K), by least squares."""
    count = curves.shape[1]
    sums = torch.cat((torch.zeros_like(curves[:, :1]), curves.cumsum(1)), 1)
    start = torch.arange(count, device=curves.device)
    lengths = (start[None] - start[:, None] + 1).clamp(min=1)
    means = (sums[:, None, 1:] - sums[:, :-1, None]) / lengths
    rising = [means[:, : i + 1, i:].amin(2).amax(1) for i in range(count)]
    return torch.stack(rising, 1)


def _crossings(curves: Tensor, places: Tensor, start: float) -> Tensor:
    """Return where each rising curve passes 0, from `start` on; the last place if it never does."""
    curves = torch.cat((torch.full_like(curves[:, :1], start), curves.clamp(min=start)), 1)
    places = torch.cat((places[:1] - 1, places))
    beyond = curves >= 0
    index = torch.where(beyond.any(1), beyond.to(torch.int8).argmax(1), len(places) - 1)
    low, high = (curves.gather(1, i[:, None])[:, 0] for i in (index - 1, index))
    rise = (-low / (high - low).clamp(min=1e-6)).clamp(0, 1)
    return places[index - 1] + (places[index] - places[index - 1]) * rise


def decide_range(
    measured: Measured,
    fraction: float,
    wobble: float,
    crossing: Crossing,
    moves: bool,
    config: LearnConfig,
    border: float = 1.0,
) -> Invariance:
    """Decide by where the error reaches the tolerance, and how sharply it rises there.

    If inputs are noisy, predictions are unstable, and a network errs more often under any
    transform before labels change: `decide_unstable`.
    """
    transform, cost, response = measured.transform, crossing.cost, crossing.response
    down, up = (
        math.hypot(
            math.log(end / crossing.factor),
            config.wobble_weight * wobble,
            config.range_uncertainty,
        )
        for end in crossing.interval
    )
    trained, fraction = fraction, min(1.0, fraction * crossing.factor)
    low, high = fraction * math.exp(-down), min(border, fraction * math.exp(up))
    may_reach = trained > config.near_limit and high >= 1
    if fraction > config.near_limit or may_reach:
        low, high = (float(transform.strength(each)) for each in (low, 1.0))
        ends, cost = (low, high), response[-1][1] if response else cost
        return Invariance(transform, "reached_limit", high, ends, cost=cost, response=response)
    if measured.instability > config.max_instability:
        return decide_unstable(measured, fraction, (low, high), crossing, moves, config, border)
    least, allowed = _least_ranges(measured, fraction, crossing.allowed, config)
    no_range = fraction < least
    if no_range and high <= config.max_width:
        ends = (0.0, float(transform.strength(high)))
        return Invariance(transform, "not_invariant", 0.0, ends, cost=cost, response=response)
    wide = no_range or high - low > config.max_width or (down + up) / 2 > config.max_half_width
    few = fraction < allowed and not no_range
    reason = TOO_FEW if few else MOVES if moves else WIDE if wide else ""
    strength, low, high = (float(transform.strength(each)) for each in (fraction, low, high))
    if reason:
        return Invariance(
            transform, "unclear", 0.0, (low, high), cost=cost, reason=reason, response=response
        )
    return Invariance(transform, "bounded", strength, (low, high), cost=cost, response=response)


def decide_unstable(
    measured: Measured,
    fraction: float,
    interval: tuple[float, float],
    crossing: Crossing,
    moves: bool,
    config: LearnConfig,
    border: float = 1.0,
) -> Invariance:
    """Decide if the error rises slowly, because inputs are noisy: by the shape of the rise.

    At half of the most error added, half of the samples have lost their label. The range ends
    well before, where the rise starts: at a small part of the most error, or at the error that
    training alone changes, if that is less; or where the tolerance ends, if that is farther. If the
    rise starts too soon, or the tolerance ends very early, noise hides whether there is a range. If
    the error rises in proportion to the strength, there is none, unless half of it comes so late
    that most of the search range may be allowed. The interval goes from what the tolerance allows
    to the strength of half of the most error.
    """
    transform, cost, response = measured.transform, crossing.cost, crossing.response
    rise = measure_rise(measured, config)
    low, high = interval[0], max(interval[1], min(border, rise.middle))
    ends = float(transform.strength(low)), float(transform.strength(high))
    ratio = rise.start / max(rise.middle, 1e-9)
    if ratio < config.min_start and high <= config.max_width:
        ends = (0.0, ends[1])
        return Invariance(transform, "not_invariant", 0.0, ends, cost=cost, response=response)
    wide = high - low > config.max_width
    hidden = ratio < config.clear_start or low < config.least_share * high
    reason = NOISE if hidden else MOVES if moves else WIDE if wide else ""
    if reason:
        return Invariance(
            transform, "unclear", 0.0, ends, cost=cost, reason=reason, response=response
        )
    fraction = min(high, max(fraction, rise.start))
    cost = measured.mean(measured.added(fraction, measured.repeats(config)))
    strength = float(transform.strength(fraction))
    return Invariance(transform, "bounded", strength, ends, cost=cost, response=response)


def decide_border(
    measured: Measured, kept: float, border: float, config: LearnConfig
) -> Invariance:
    """Decide if a branch would go beyond a border, where it can only be right by traces.

    At the border, samples of one class reach those of another that stay where they are. A signed
    transform moves both towards each other, so that they meet halfway. If the reference ignores
    more than that, the range is between what it ignores and the border. If it ignores next to
    nothing, there is no range, unless half of the way adds no more error than is allowed: the
    border may be a wrong one.
    """
    transform = measured.transform
    middle = border / 2 if kept < border / 2 else (kept + border) / 2
    strength, low, high = (float(transform.strength(each)) for each in (middle, kept, border))
    cost = measured.mean(measured.added(middle, measured.repeats(config)))
    if kept < config.min_range * border:
        if cost <= max(measured.tolerance, 0.5 / len(measured.rows)):  # half an error
            return Invariance(transform, "unclear", 0.0, (low, high), cost=cost, reason=NO_COST)
        return Invariance(transform, "not_invariant", 0.0, (0.0, high), cost=cost)
    return Invariance(transform, "bounded", strength, (low, high), cost=cost)


def _least_ranges(
    measured: Measured,
    fraction: float,
    allowed: float,
    config: LearnConfig,
) -> tuple[float, float]:
    """Return below which range there is none, and below which it may only be what may be added.

    The first is a part of the strength that adds half of the largest error: below, the error rises
    from strength 0 on. For values it is larger, because a change that is less than the error that
    the network makes anyway adds little. The second is about the part of that half that is allowed
    where few samples can tell little: an error that rises in proportion has this range, too.
    """
    if fraction >= config.max_rise:
        return 0.0, 0.0
    strength, half = _half_loss(measured, config)
    least = config.min_range if measured.evaluator.data.classes else config.min_value_range
    part = min(config.max_rise, config.rise_factor * allowed / max(half, 1e-9))
    return least * strength, part * strength


def _half_loss(measured: Measured, config: LearnConfig) -> tuple[float, float]:
    """Return the fraction of the limit that adds half of the largest error added, and that half."""
    count = config.coarse_strengths
    fractions = [(index + 1) / count for index in range(count)]
    added = [measured.mean(measured.added(fraction, 1)) for fraction in fractions]
    half = max(added) / 2
    if half <= 0:  # no strength adds an error
        return 0.0, 0.0
    return first_place([0.0, *added], half) / count, half


@dataclass(frozen=True)
class Rise:
    """Fractions of the limit between which the added error rises."""

    start: float
    """Where it is a small part of the largest."""
    middle: float
    """Where it is half of the largest."""


def measure_rise(measured: Measured, config: LearnConfig) -> Rise:
    """Measure how the error rises from no transform to the strength of half of the most error."""
    middle, half = _half_loss(measured, config)
    count = config.rise_strengths
    steps = [middle * (index + 1) / count for index in range(count)]
    repeats = measured.repeats(config)
    rest = measured.mean(measured.rest - measured.before)
    added = [rest, *(measured.mean(measured.added(step, repeats)) for step in steps)]
    curve = isotonic(torch.tensor([added]))[0].tolist()
    level = rest + min(config.start_level * (2 * half - rest), measured.instability)
    return Rise(middle * first_place(curve, level) / count, middle)


def first_place(values: Sequence[float], level: float) -> float:
    """Return where values first reach a level, between two of them; the last place if never."""
    if values[0] >= level:
        return 0.0
    last = len(values) - 1
    index = next((i for i, value in enumerate(values) if value >= level), last)
    rise = (level - values[index - 1]) / max(values[index] - values[index - 1], 1e-9)
    return index - 1 + min(1.0, max(0.0, rise))
