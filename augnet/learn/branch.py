"""A branch: training goes on from the reference with one transform, and its range is tuned.

A branch knows nothing of other transforms, and its random numbers depend on the seed and on its
transform only. So an answer does not depend on which other transforms are offered.
"""

import math
import time
import zlib
from dataclasses import asdict, replace

import torch
from torch import Generator, Tensor, nn

from augnet.learn.border import find_border
from augnet.learn.config import LearnConfig
from augnet.learn.control import continued
from augnet.learn.decide import (
    NO_COST,
    NO_TIME,
    Measured,
    decide_bernoulli,
    decide_border,
    decide_range,
    doubt_by_distances,
    is_close,
    measure_bernoulli,
    measure_crossing,
)
from augnet.learn.edge import EdgeRule
from augnet.learn.evaluate import Evaluator
from augnet.learn.exchange import exchanges_classes
from augnet.learn.inputs import LearnData
from augnet.learn.reference import Reference
from augnet.learn.result import Invariance
from augnet.learn.strengths import apply_at_strength
from augnet.learn.traces import TraceNoise, leaves_traces
from augnet.training import Loop, RandomState, WeightAverage, descend
from augnet.transforms import Bernoulli, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import permutation, uniform

STRENGTHS = 10
"""Strengths at which the reference is measured before a branch is trained."""
BORDER = 0.95
"""A range above this fraction of a border was stopped by it."""


class Branch:
    """Train a copy of the reference with one transform per sample, and measure held-out samples.

    A quarter of each batch stays untransformed. Half of the rest is drawn within the range, half is
    at its edge. Half of a batch is under a Bernoulli transform.
    """

    def __init__(self, reference: Reference, transform: Transform, config: LearnConfig) -> None:
        self.reference, self.transform, self.config = reference, transform, config
        self.data: LearnData = reference.data
        self.evaluator: Evaluator = reference.evaluator
        self.bernoulli = isinstance(transform, Bernoulli)
        seed = zlib.crc32(f"{config.seed} {transform.name} {asdict(transform)}".encode())
        self.generator = Generator(device=self.data.x.device).manual_seed(seed)
        self.seed = seed
        self.trunk, self.optimizer = continued(reference, config)
        self.average = WeightAverage(self.trunk, config.branch_average)
        self.hides = leaves_traces(transform)
        self.before = reference.control.errors if self.hides else reference.errors
        """The errors on held-out samples that come without the transform."""
        self.noise = TraceNoise(self.data.x[self.data.fitted], config.trace_noise)
        self.tolerance = reference.stable_tolerance if self.bernoulli else reference.tolerance
        """The error that may be added. In noise, the error of a range rises long before it ends,
        but a flip costs nothing more if it preserves labels."""
        self.rule = EdgeRule(
            self.tolerance,
            1.0 if self.bernoulli else config.start,
            0.0 if self.bernoulli else config.rate,
            0.0 if self.bernoulli else config.growth,
            config.smoothing,
        )
        self.close_cost: float | None = None
        """What a Bernoulli transform cost when it was a little more than is allowed."""
        self.kept = 0.0
        """The fraction of the limit that the reference ignores without any training."""
        self.waiting = reference.held_out[:0]
        """Places of held-out samples in the random order in which they are measured next."""
        part = config.branch_steps if self.data.classes else config.value_branch_steps
        self.steps = max(1, round(part * reference.planned))
        self.every = max(1, min(self.steps, reference.planned // config.measurements))
        self.loop = Loop(self.batches, self._step, steps=self.steps)

    def measure(self, seconds: float | None = None) -> Invariance:
        """Train, and decide; `unclear` if the seconds do not suffice."""
        if self.reference.doubt:
            return self.unclear(self.reference.doubt)
        if seconds is not None and seconds <= 0:
            return self.unclear(NO_TIME)
        end = None if seconds is None else time.monotonic() + seconds
        with RandomState(self.data.x.device):
            torch.manual_seed(self.seed)
            return self._without_training() or self._with_training(end)

    def _without_training(self) -> Invariance | None:
        """Decide if the reference ignores the transform anyway; else start where it starts to err.

        Errors of the reference prove nothing, unless two classes become each other: transformed
        samples may only be unfamiliar to it.
        """
        network, held_out = self.reference.network, self.reference.held_out
        if isinstance(self.transform, Bernoulli):
            measured = self._measured(network, held_out)
            if exchanges_classes(self.reference, self.transform, self.config):
                cost = measured.mean(measured.added(1.0, 1))
                found = Invariance(self.transform, "not_invariant", 0.0, (0.0, 0.0), cost=cost)
                return replace(found, response=((0.0, 0.0), (1.0, cost)))
            found = decide_bernoulli(measured, measure_bernoulli(measured), self.config)
            found = doubt_by_distances(measured, found, self.reference.distances, self.config)
            return found if found.kept else None
        some = self._measured(network, held_out[: self.config.measured_samples])
        fractions = [(index + 1) / STRENGTHS for index in range(STRENGTHS)]
        lost = (
            index for index, fraction in enumerate(fractions) if some.exceeds(fraction, self.config)
        )
        first = next(lost, STRENGTHS)
        if first < STRENGTHS:
            self._start_at(fractions[first - 1] if first else 0.0)
            return None
        measured = self._measured(network, held_out)
        crossing = measure_crossing(measured, 1.0, self.config)
        found = decide_range(measured, 1.0, 0.0, crossing, False, self.config)
        if found.status == "reached_limit":
            return found
        self._start_at(min(1.0, crossing.factor))  # all samples show what some did not
        return None

    def _start_at(self, kept: float) -> None:
        """Start with the range that the reference ignores, a fraction of the limit."""
        self.kept = kept
        self._next_border(kept)
        self.rule.start = min(max(self.config.start, kept), self.rule.border)

    def _with_training(self, end: float | None) -> Invariance:
        """Train until the answer does not move any more, and decide."""
        for number in range(self.config.extensions + 1):
            self.loop.seconds = None if end is None else end - time.monotonic()
            for _ in self.loop:
                pass
            late = end is not None and time.monotonic() >= end
            if late and self._moves():
                return self.unclear(NO_TIME)
            last = late or number == self.config.extensions
            found = None if self._moves() and not last else self._decide(last)
            if found is not None:
                return found
            self.loop.extend(self.steps if self.bernoulli else self.steps // 2)
        raise AssertionError("the last part of a branch always decides")

    def unclear(self, reason: str) -> Invariance:
        """Return that nothing is known about the transform, and why."""
        return Invariance(self.transform, "unclear", 0.0, (0.0, 0.0), reason=reason)

    def _moves(self) -> bool:
        """Whether more training would change the answer."""
        rule, config = self.rule, self.config
        if self.loop.done < self.steps and not self._settled():
            return True
        if self.bernoulli:
            return self._falls()
        return not self._settled() and abs(rule.drift()) > config.max_drift

    def _falls(self) -> bool:
        """Whether the cost of a Bernoulli transform is too high, but falls."""
        excesses = self.rule.excesses
        third = max(1, len(excesses) // 3)
        last, before = excesses[-third:], excesses[-2 * third : -third]
        mean = sum(last) / len(last)
        falls = bool(before) and mean < self.config.falling * sum(before) / len(before)
        most = math.inf if self.loop.done <= self.steps else self.config.close_factor
        return falls and 1 < mean < most

    def _settled(self) -> bool:
        """Whether the answer is known before all steps are done."""
        rule, count = self.rule, self.config.settled
        if self.bernoulli:
            if 2 * self.loop.done <= self.steps:
                return False
            last = rule.excesses[-count:]
            refused = min(last) > self.config.close_factor and not self._falls()
            return max(last) <= 0.5 or refused
        settling = self._leniency() == 1
        return rule.at_end(count) or (settling and rule.steady(count, self.config.max_wobble))

    def _decide(self, last: bool) -> Invariance | None:
        """Decide, or return None if the range should be trained further, unless it is `last`."""
        measured = self._measured(self.average.network, self.reference.held_out)
        if self.bernoulli:
            added = measure_bernoulli(measured)
            found = decide_bernoulli(measured, added, self.config)
            if not last and is_close(measured, added, self.config) and self._may_fall(found):
                self.close_cost = self.close_cost or found.cost
                return None
            usual = self.reference.usual_distances
            return doubt_by_distances(measured, self._only_if_cheaper(found), usual, self.config)
        fraction, wobble = self.rule.settled()
        crossing = measure_crossing(measured, fraction, self.config)
        reached = fraction * max(1.0, crossing.factor)
        if reached > BORDER * self.rule.border and self.rule.border < 1:
            found = decide_border(measured, self.kept, self.rule.border, self.config)
            if found.reason == NO_COST and not last:  # the border is a wrong one
                self._next_border()
                return None
            return replace(found, response=crossing.response)
        if not last and abs(math.log(crossing.factor)) > self.config.max_correction:
            self.rule.restart(fraction * min(2.0, max(0.6, crossing.factor)))
            return None
        return decide_range(
            measured, fraction, wobble, crossing, self._moves(), self.config, self.rule.border
        )

    def _may_fall(self, found: Invariance) -> bool:
        """Whether the cost of a flip fell enough, if it was trained on, to train on once more."""
        before = self.close_cost
        return before is None or (found.cost or 0.0) <= self.config.slow_fall * before

    def _only_if_cheaper(self, found: Invariance) -> Invariance:
        """Refuse a flip that was too costly before it was trained on, unless that helped clearly.

        Costs also change by chance, and would fall below the tolerance at one time or another.
        """
        before, now = self.close_cost, found.cost or 0.0
        if found.kept and before is not None and now > self.config.clear_fall * before:
            return replace(found, status="not_invariant", strength=0.0, interval=(0.0, 0.0))
        return found

    def _next_border(self, start: float | None = None) -> None:
        """Find the first border beyond a fraction of the limit, or beyond the one there is."""
        start = self.rule.border if start is None else start
        self.rule.border = find_border(
            self.reference, self.transform, self.generator, self.config, start
        )

    def _measured(self, network: nn.Module, rows: Tensor) -> Measured:
        rest = self.evaluator.errors(self.evaluator.outputs(network, self.data.x[rows]), rows)
        before = self.before if network is self.average.network else self.reference.errors
        return Measured(
            self.evaluator,
            network,
            self.transform,
            rows,
            rest,
            self.compared(rest, before[: len(rows)], rows),
            self.tolerance,
            self.generator,
            self.reference.instability,
        )

    def compared(self, rest: Tensor, before: Tensor, rows: Tensor) -> Tensor:
        """Return the errors that those of transformed samples are compared with.

        They are the network's own errors at rest if these are fewer than the ones before. Those of
        a range are also its own if they are not clearly more: what is lost at strength 0 is not an
        effect of strength, and pairs within one network differ less. A flip may have to be paid at
        rest.
        """
        added = rest - before
        cost = self.evaluator.mean(added, rows).item()
        noise = self.config.confidence * self.evaluator.deviation(added, rows)
        allowed = 0.0 if self.bernoulli else max(self.tolerance, noise)
        return rest if cost < allowed else before

    def batches(self) -> list[Tensor]:
        """Draw the batches of an epoch."""
        return self.data.batches(self.config.batch_size, self.generator)

    def _fractions(self, x: Tensor) -> Tensor:
        """Draw the strength of each sample: none, up to the edge, or at the edge."""
        place = permutation(x, len(x), self.generator) / len(x)
        if self.bernoulli:
            return (place < 0.5).to(x)
        identity = self.config.identity_fraction
        within = uniform(x, (len(x),), self.generator)
        fractions = torch.where(place < (1 + identity) / 2, within, torch.ones_like(within))
        return torch.where(place < identity, 0.0, fractions) * self.rule.range

    def _view(self, x: Tensor) -> Tensor:
        """Transform a batch, without traces by which a network could tell what was done.

        Resampling leaves traces, such as soft edges and empty margins. A network that reads them
        predicts labels that nobody else could. So samples are moved in two parts, half of the
        untransformed ones there and back, and all get some noise.
        """
        fractions = self._fractions(x)
        if not self.hides:
            return apply_at_strength(self.transform, x, fractions, self.generator)
        signs = torch.where(uniform(x, (len(x),), self.generator) < 0.5, -1.0, 1.0).to(x)
        total, end = signs * fractions, self.rule.range
        low, high = (total - end).clamp(min=-end), (total + end).clamp(max=end)
        first = low + (high - low) * uniform(x, (len(x),), self.generator)
        rest = (fractions == 0).nonzero()[:, 0]
        first[rest[len(rest) // 2 :]] = 0.0
        view = x
        for part in (first, total - first):
            view = apply_at_strength(self.transform, view, part.abs(), self.generator, part.sign())
        return view + self.noise(view, self.generator)

    def train_on(self, rows: Tensor) -> dict[str, Tensor]:
        """Take one step on some samples."""
        x = self.data.x[rows]
        with full_precision(x):
            view = self._view(x)
        losses = self.evaluator.losses(self.trunk(view), self.reference.targets[rows])
        loss = self.evaluator.mean(losses, rows)
        descend(self.optimizer, loss)
        self.average.update(self.trunk)
        return {"loss": loss.detach()}

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        trained = self.train_on(rows)
        if (self.loop.done + 1) % self.every == 0:
            self._measure_cost()
            if self._settled():
                self.loop.steps = self.loop.done + 1
        return trained

    def _measure_cost(self) -> None:
        """Measure the error that the edge adds to held-out samples, and move the range."""
        some, all_rows = self._next_samples(), self.reference.held_out
        rows, network = all_rows[some], self.average.network
        edge = self.evaluator.errors_at(
            network, self.transform, rows, self.rule.range, self.generator
        )
        rest = self.evaluator.errors(self.evaluator.outputs(network, self.data.x[rows]), rows)
        before = self.before[some]
        if not self.bernoulli:
            before = self.compared(rest, before, rows)
        pairs = [(edge, before), (edge, rest)]
        if self.bernoulli:  # the network may learn transformed samples and lose the others
            pairs.append((rest, before))
        else:  # or learn the edge and lose what is within
            within = uniform(self.data.x, (len(rows),), self.generator) * self.rule.range
            inner = self.evaluator.errors_at(network, self.transform, rows, within, self.generator)
            pairs.append((inner, before))
        costs = [self.evaluator.mean(a - b, rows).item() for a, b in pairs]
        noise = self.evaluator.deviation(edge - before, rows)
        if self.data.groups is None:  # as if so many were measured
            noise *= math.sqrt(len(rows) / min(len(all_rows), self.config.measured_samples))
        leniency = self._leniency()
        allowed = max(self.config.confidence * noise, leniency * self.tolerance)
        self.rule.update(*costs, allowed=allowed, settling=leniency == 1)

    def _next_samples(self) -> Tensor:
        """Return the next held-out samples to measure, in a new random order once few are left."""
        count = min(len(self.reference.held_out), self.config.cost_samples)
        if len(self.waiting) < count:
            self.waiting = permutation(self.data.x, len(self.reference.held_out), self.generator)
        some, self.waiting = self.waiting[:count], self.waiting[count:]
        return some

    def _leniency(self) -> float:
        """Return how many tolerances a range may cost: some at first, so that more is learned."""
        if self.bernoulli:
            return 1.0
        progress = self.loop.done / (self.config.lenient_fraction * self.steps)
        return self.config.leniency ** max(0.0, 1 - progress)
