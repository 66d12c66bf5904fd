"""Measure the error of samples against the strength of a transform, and decide its status."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Generator, Tensor, nn

from augnet.learn.config import DEFAULTS, LearnConfig
from augnet.learn.curve import ResponseCurve
from augnet.learn.inputs import LearnData
from augnet.learn.result import Invariance, Status
from augnet.learn.strengths import apply_at_strength, stratified_strengths
from augnet.transforms import Bernoulli, Signed, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import permutation, uniform


@dataclass(frozen=True)
class Samples:
    """Samples and labels, with the errors and outputs of the trunk without any transform."""

    x: Tensor
    y: Tensor
    errors: Tensor
    outputs: Tensor

    def __len__(self) -> int:
        return len(self.x)

    @property
    def equal_weights(self) -> Tensor:
        """One row of weights (1, N)."""
        return torch.ones_like(self.errors)[None]


class Evaluator:
    """Evaluate a trunk on samples at known strengths of transforms."""

    def __init__(
        self,
        data: LearnData,
        trunk: nn.Module,
        generator: Generator,
        config: LearnConfig = DEFAULTS,
    ) -> None:
        self.data, self.trunk, self.generator, self.config = data, trunk, generator, config
        if data.classes:
            self.tolerance, self.bernoulli = config.tolerance, config.bernoulli_tolerance
        else:
            self.tolerance = config.value_tolerance
            self.bernoulli = config.bernoulli_value_tolerance

    @property
    def final_cost(self) -> float:
        """How many times as long `evaluate` takes as a round of the search: about 20."""
        config, held_out = self.config, len(self.data.held_out)
        count = min(config.final_samples, held_out)
        count += min(config.final_samples, len(self.data.fitted))
        # Some final strengths are measured twice; some of a round, too.
        final = count * (1.5 * _final_strengths(count) + 24)
        return final / (min(config.round_samples, held_out) * 14)

    def sample_held_out(self) -> Samples:
        """Draw the held-out samples of a round."""
        return self._measured(self._draw(self.data.held_out, self.config.round_samples))

    def _draw(self, rows: Tensor, count: int) -> Tensor:
        return rows[permutation(self.data.x, len(rows), self.generator)[:count]]

    def _measured(self, rows: Tensor) -> Samples:
        x, y = self.data.x[rows], self.data.y[rows]
        return Samples(x, y, *self.errors(x, y))

    @torch.no_grad()
    def errors(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the error of each sample, and the outputs of the trunk."""
        training = self.trunk.training
        self.trunk.eval()
        output = torch.cat([self.trunk(chunk) for chunk in x.split(256)])
        self.trunk.train(training)
        if self.data.classes:
            return (output.argmax(1) != y).to(x.dtype), output
        return ((output - y) / self.data.scale).square().reshape(len(x), -1).mean(1), output

    @torch.no_grad()
    def measure(
        self, transform: Transform, samples: Samples, window: float, count: int
    ) -> ResponseCurve:
        """Measure samples at `count` strengths each, up to a fraction of the limit."""
        x, y = samples.x, samples.y
        fractions = window * stratified_strengths(x, len(x), count, self.generator)
        signs = torch.ones_like(fractions)
        if isinstance(transform, Signed):  # alternate, and start with either sign
            signs[:, ::2] = -1
            first = uniform(x, (len(x), 1), self.generator) < 0.5
            signs = torch.where(first, signs, -signs)
        measured = []
        with full_precision(x):
            for fraction, sign in zip(fractions.T, signs.T, strict=True):
                view = apply_at_strength(transform, x, fraction, self.generator, sign)
                measured.append(self.errors(view, y))
        errors, outputs = (torch.stack(values, 1) for values in zip(*measured, strict=True))
        signed = isinstance(transform, Signed)
        curve = ResponseCurve(
            fractions, signs, errors, samples.errors, window, signed, config=self.config
        )
        if not self.data.classes:
            return curve
        return replace(curve, labels=y, scores=outputs, scores_before=samples.outputs)

    def measure_onset(
        self, transform: Transform, samples: Samples, window: float, count: int, attempts: int
    ) -> ResponseCurve:
        """Measure in a window that shows where the error starts to rise, if it does."""
        window, best = min(1.0, window), None
        for _ in range(attempts):
            curve = self.measure(transform, samples, window, count)
            ramp = curve.fit(samples.equal_weights)
            onset, width, height = (v.item() for v in (ramp.onset, ramp.width, ramp.height))
            rises = height > self.tolerance
            if best is not None and not rises and window < best.window:
                return best  # this window is too small to show the rise
            smaller = best is None or window < best.window
            best = curve
            if rises and smaller and onset + min(width, 2 * onset) < 0.25 * window:
                window *= 0.4
            elif attempts > 2 and (not rises or onset > 0.8 * window) and window < 1:
                window = min(1.0, 2 * window)
            else:
                break
        assert best is not None
        return best

    def added_error(self, transform: Transform, samples: Samples) -> Tensor:
        """Return the error that a Bernoulli transform adds to each sample when it is applied."""
        always = samples.x.new_ones(len(samples))
        view = apply_at_strength(transform, samples.x, always, self.generator)
        return self.errors(view, samples.y)[0] - samples.errors

    def mean_added(self, added: Tensor, weights: Tensor) -> Tensor:
        """Return the mean of added errors for each row of weights; for values its root."""
        mean = (weights @ added) / weights.sum(1)
        return mean if self.data.classes else mean.clamp(min=0).sqrt()

    def evaluate(
        self, transforms: Sequence[Transform], ranges: Sequence[float], effort: float = 1.0
    ) -> list[Invariance]:
        """Measure all transforms precisely, around the ranges of the search, and decide.

        An `effort` below 1 measures this fraction of the strengths.
        """
        config = self.config
        held_out = self.data.held_out[: config.final_samples]
        rows = torch.cat((held_out, self._draw(self.data.fitted, config.final_samples)))
        samples = self._measured(rows)
        if self.data.classes:
            remaining = _remaining(samples, self.config.min_remaining)
            self.tolerance = remaining * config.tolerance
            self.bernoulli = remaining * config.bernoulli_tolerance
        # Bootstrap: each sample gets a random weight.
        shape = (config.bootstrap, len(samples))
        weights = -uniform(samples.x, shape, self.generator).clamp(min=1e-6).log()
        weights = torch.cat((torch.ones_like(weights[:1]), weights))
        return [
            self._decide_bernoulli(transform, samples, weights)
            if isinstance(transform, Bernoulli)
            else self._decide_range(transform, fraction, samples, weights, effort)
            for transform, fraction in zip(transforms, ranges, strict=True)
        ]

    def _discount_memorized(self, errors: Tensor, weights: Tensor) -> Tensor:
        """Leave out fitted samples if they show less error than the held-out ones.

        Then the trunk has memorized them. Otherwise they are as good, and more samples measure
        better.
        """
        count = min(self.config.final_samples, len(self.data.held_out))
        held_out = torch.arange(len(errors), device=errors.device) < count
        new, fitted = errors[held_out], errors[~held_out]
        noise = (new.var() / len(new) + fitted.var() / len(fitted)).sqrt()
        config = self.config
        allowed = config.memorized_deviations * noise + config.memorized_error
        memorized = new.mean() - fitted.mean() > allowed
        return weights * torch.where(held_out | ~memorized, 1.0, 1e-6)

    def _decide_bernoulli(
        self, transform: Transform, samples: Samples, weights: Tensor
    ) -> Invariance:
        added = self.added_error(transform, samples)
        kept = self.mean_added(added, self._discount_memorized(added, weights)) <= self.bernoulli
        ends = added.new_tensor([0.05, 0.95])
        low, high = kept.to(added).quantile(ends, interpolation="nearest").tolist()
        status: Status = "reached_limit" if kept[0] else "not_invariant"
        limit = transform.limit
        return Invariance(transform, status, limit * float(kept[0]), (limit * low, limit * high))

    def _decide_range(
        self,
        transform: Transform,
        fraction: float,
        samples: Samples,
        weights: Tensor,
        effort: float,
    ) -> Invariance:
        count = 2 * max(4, round(effort * _final_strengths(len(samples)) / 2))
        curve = self.measure_onset(transform, samples, 3 * fraction, count, 8)
        while True:
            counted = self._discount_memorized(curve.errors.mean(1), weights)
            ramps = curve.fit(counted)
            if curve.window >= 1 or (ramps.height > self.tolerance).all():
                break
            # The end of this window does not show whether the rise goes on.
            curve = self.measure(transform, samples, min(1.0, 4 * curve.window), count)
        onset, places = ramps.onset[0].item(), ramps.reaches(self.tolerance)
        borders = curve.borders(counted) if places[0] < 1 else None
        if borders is not None:
            near = borders[:, 0] < self.config.near_border * borders[:, 0].min()
            places = borders[near].mean(0)
            onset = places[0].item()
        end = min(1.0, places[0].item())
        spread = places[1:].std().item()
        half = ((1.645 * spread) ** 2 + (self.config.border_uncertainty * end) ** 2) ** 0.5
        low, high = max(0.0, end - half), min(1.0, end + half)
        status: Status = "bounded"
        if end > self.config.near_limit and end + half >= 1:
            status, end = "reached_limit", 1.0
            low, high = min(1.0, places.quantile(0.05).item()), 1.0
        elif onset < self.config.min_range * self._half_loss(transform, samples):
            status, end = "not_invariant", 0.0
            low, high = 0.0, min(1.0, half)
        strength, *ends = (float(transform.strength(each)) for each in (end, low, high))
        return Invariance(transform, status, strength, (ends[0], ends[1]))

    def _half_loss(self, transform: Transform, samples: Samples) -> float:
        """Return the fraction of the limit that adds half of the largest error added."""
        curve = self.measure(transform, samples, 1.0, 24)
        added = curve.errors.mean(0) - samples.errors.mean()
        if not self.data.classes:
            added = added.clamp(min=0).sqrt()
        beyond = (added >= added.max() / 2).nonzero()[0]
        return (beyond.item() + 0.5) / 24


def _final_strengths(count: int) -> int:
    """Return the number of strengths at which each of `count` samples is measured at the end."""
    return 2 * max(8, min(32, 3000 // count))


def _remaining(samples: Samples, least: float) -> float:
    """Return which fraction of what can be lost is not lost at rest; `least` at the least."""
    # Of a rare class there may be no sample: bincount can be all of them.
    chance = max(1.0, len(samples) - float(samples.y.bincount().max())) / len(samples)
    return max(least, 1 - float(samples.errors.mean()) / chance)
