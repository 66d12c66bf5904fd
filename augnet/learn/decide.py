"""Decide the status of a transform from held-out errors, and the interval of its range."""

import math
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from augnet.learn.config import LearnConfig
from augnet.learn.edge import EdgeRule
from augnet.learn.evaluate import Evaluator
from augnet.learn.result import Invariance, Status
from augnet.transforms import Transform
from augnet.transforms.noise import uniform

NO_TIME = "no time was left"
TOO_FEW = "too few held-out samples to tell"
MOVES = "the range still moves with training"
WIDE = "the interval spans most of the search range"


@dataclass(frozen=True)
class Measured:
    """A trained network, a transform, and held-out samples with their errors at rest."""

    evaluator: Evaluator
    network: nn.Module
    transform: Transform
    rows: Tensor
    rest: Tensor
    tolerance: float
    generator: Generator

    def added(self, fraction: float, repeats: int) -> Tensor:
        """Return the error that is added to each sample at a fraction of the limit."""
        errors = [
            self.evaluator.errors_at(
                self.network, self.transform, self.rows, fraction, self.generator
            )
            for _ in range(repeats)
        ]
        return torch.stack(errors).mean(0) - self.rest

    def mean(self, added: Tensor) -> float:
        """Return the mean over samples, each class weighted the same."""
        return self.evaluator.mean(added, self.rows).item()

    def deviation(self, added: Tensor) -> float:
        """Return the standard error of the mean."""
        weights = self.evaluator.weights[self.rows]
        weights = weights / weights.sum()
        spread = (weights * (added - (weights * added).sum())).square().sum().sqrt().item()
        # Errors that never happened may still happen: at least half an error.
        return max(spread, 0.5 / len(added))


def decide_bernoulli(measured: Measured, config: LearnConfig) -> Invariance:
    """Accept a transform if it adds no more error than the tolerance."""
    transform, tolerance = measured.transform, measured.tolerance
    added = measured.added(1.0, 1)
    cost, noise = measured.mean(added), config.confidence * measured.deviation(added)
    limit = transform.limit
    if cost <= tolerance:
        if cost + noise > config.max_uncertainty * tolerance:
            return Invariance(transform, "unclear", 0.0, (0.0, 0.0), cost=cost, reason=TOO_FEW)
        return Invariance(transform, "reached_limit", limit, (limit, limit), cost=cost)
    if cost - noise < tolerance / 2:
        return Invariance(transform, "unclear", 0.0, (0.0, 0.0), cost=cost, reason=TOO_FEW)
    return Invariance(transform, "not_invariant", 0.0, (0.0, 0.0), cost=cost)


def decide_range(
    measured: Measured, rule: EdgeRule, moves: bool, config: LearnConfig
) -> Invariance:
    """Decide by where the range settled, and how sharply the error rises around it."""
    transform = measured.transform
    fraction, wobble = rule.settled()
    factors = [f for f in config.interval_factors if f * fraction <= 1] or [1.0]
    added = torch.stack(
        [measured.added(f * fraction, config.final_repeats) for f in factors], dim=1
    )
    at = min(range(len(factors)), key=lambda index: abs(math.log(factors[index])))
    cost = measured.mean(added[:, at])
    half = math.hypot(
        1.645 * _crossing_deviation(measured, added, factors, config),
        config.wobble_weight * wobble,
        config.range_uncertainty,
    )
    low, high = fraction * math.exp(-half), min(1.0, fraction * math.exp(half))
    status: Status = "bounded"
    if fraction > config.near_limit:
        status, fraction, high = "reached_limit", 1.0, 1.0
    elif fraction < config.min_range * _half_loss(measured, config):
        return Invariance(
            transform, "not_invariant", 0.0, (0.0, float(transform.strength(high))), cost=cost
        )
    reason = MOVES if moves else WIDE if half > config.max_half_width else ""
    if reason and status == "bounded":
        ends = (float(transform.strength(low)), float(transform.strength(high)))
        return Invariance(transform, "unclear", 0.0, ends, cost=cost, reason=reason)
    strength, low, high = (float(transform.strength(each)) for each in (fraction, low, high))
    return Invariance(transform, status, strength, (low, high), cost=cost)


def _crossing_deviation(
    measured: Measured, added: Tensor, factors: list[float], config: LearnConfig
) -> float:
    """Bootstrap the logarithm of the strength at which the error reaches the tolerance."""
    shape = (config.bootstrap, len(added))
    random = -uniform(added, shape, measured.generator).clamp(min=1e-6).log()
    weights = random * measured.evaluator.weights[measured.rows]
    curves = (weights @ added) / weights.sum(1, keepdim=True)
    curves = curves.cummax(1).values
    logs = torch.tensor(factors).to(added).log()
    beyond = (curves > measured.tolerance).to(torch.int8)
    index = torch.where(beyond.any(1), beyond.argmax(1), len(factors) - 1).clamp(min=1)
    if len(factors) == 1:
        return 0.0
    y0, y1 = (curves.gather(1, i[:, None])[:, 0] for i in (index - 1, index))
    x0, x1 = logs[index - 1], logs[index]
    place = x0 + (x1 - x0) * ((measured.tolerance - y0) / (y1 - y0).clamp(min=1e-6)).clamp(0, 1)
    return place.std().item()


def _half_loss(measured: Measured, config: LearnConfig) -> float:
    """Return the fraction of the limit that adds half of the largest error added."""
    count = config.coarse_strengths
    fractions = [(index + 1) / count for index in range(count)]
    added = [measured.mean(measured.added(fraction, 1)) for fraction in fractions]
    half = max(added) / 2
    index = next(index for index, value in enumerate(added) if value >= half)
    before = added[index - 1] if index else 0.0
    rise = (half - before) / max(added[index] - before, 1e-9)
    return (index + min(1.0, max(0.0, rise))) / count
