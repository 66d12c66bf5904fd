"""How a network responds to a transform: errors and changed predictions against strength.

Each sample is compared with itself without the transform, in each direction of a signed transform.
The params of a sample are the same at all strengths.
"""

import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import log

import torch
from torch import Generator, Tensor, nn

from augnet.learn.config import LearnConfig
from augnet.learn.decide import isotonic
from augnet.learn.evaluate import CHUNK, Evaluator
from augnet.learn.parts import CurvePoint, PartRange, PartStatus
from augnet.learn.result import Invariance
from augnet.learn.strengths import apply_at_strength
from augnet.transforms import Bernoulli, Multiplicative, Signed, Transform
from augnet.transforms.base import full_precision

FRACTIONS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.85, 1.0)
"""Fractions of the limit that are measured."""
CLOSE = 0.004
"""Fractions that are closer are the same."""
DECISIVE = 0.25
"""The least change of scores, as a fraction of what separates samples of different predictions."""
PARTNERS = (1, 2, 3, 5, 8, 13, 21)
"""Each sample is compared with those so many places on."""
NEVER = 2.0
"""A fraction of the limit that is beyond it."""
MIN_PART = 12
"""Fewer held-out samples of a class can tell nothing."""


@dataclass(frozen=True)
class Response:
    """What a transform does to the predictions for samples, at fractions of its limit."""

    transform: Transform
    fractions: tuple[float, ...]
    rows: Tensor
    """The samples (N,)."""
    added: Tensor
    """The error added to each sample (D, K, N), for D directions and K fractions."""
    changed: Tensor
    """Whether its prediction changed; for values by how much, in units of errors."""

    @property
    def directions(self) -> tuple[float, ...]:
        """The directions of a signed transform: −1 and 1; others have one."""
        return directions(self.transform)

    def of(self, some: Tensor) -> "Response":
        """Return the response of some samples, by their places in `rows`."""
        return replace(
            self,
            rows=self.rows[some],
            added=self.added[..., some],
            changed=self.changed[..., some],
        )

    def beyond(self, fraction: float) -> "Response":
        """Return the response from a fraction of the limit on."""
        first = next((k for k, each in enumerate(self.fractions) if each >= fraction), -1)
        first %= len(self.fractions)
        return replace(
            self,
            fractions=self.fractions[first:],
            added=self.added[:, first:],
            changed=self.changed[:, first:],
        )

    def towards(self, number: int) -> "Response":
        """Return the response in one direction, by its number."""
        part = slice(number, number + 1)
        return replace(self, added=self.added[part], changed=self.changed[part])


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


def directions(transform: Transform) -> tuple[float, ...]:
    """Return the directions in which a transform is measured."""
    return (-1.0, 1.0) if isinstance(transform, Signed) else (1.0,)


def fractions_of(found: Invariance) -> tuple[float, ...]:
    """Return the fractions of the limit to measure, also those where the range of labels ends.

    A Bernoulli transform has one.
    """
    if isinstance(found.transform, Bernoulli):
        return (1.0,)
    ends = {
        round(to_fraction(found.transform, each), 4) for each in (found.strength, *found.interval)
    }
    more = {end for end in ends if all(abs(end - each) > CLOSE for each in (0.0, *FRACTIONS))}
    return tuple(sorted({*FRACTIONS, *more}))


def view(
    transform: Transform, x: Tensor, fraction: float, direction: float, seed: int, start: int = 0
) -> Tensor:
    """Transform a chunk of samples that starts at a place, always with the same params."""
    key = zlib.crc32(f"{seed} {transform.name} {asdict(transform)} {start}".encode())
    generator = Generator(device=x.device).manual_seed(key)
    size = (len(x),)
    with full_precision(x):
        return apply_at_strength(
            transform, x, x.new_full(size, fraction), generator, x.new_full(size, direction)
        )


@torch.no_grad()
def measure_response(
    evaluator: Evaluator,
    network: nn.Module,
    transform: Transform,
    rows: Tensor,
    rest: Tensor,
    steps: tuple[float, ...],
    seed: int = 0,
) -> Response:
    """Measure a network at each step in each direction; `rest` are its outputs without.

    Steps are fractions of the limit. This takes directions × steps × samples forward passes.
    """
    before, x = evaluator.errors(rest, rows), evaluator.data.x
    added, changed = [], []
    for direction in directions(transform):
        for fraction in steps:
            parts = [
                evaluator.outputs(
                    network, view(transform, x[chunk], fraction, direction, seed, number)
                )
                for number, chunk in enumerate(rows.split(CHUNK))
            ]
            output = torch.cat(parts)
            added.append(evaluator.errors(output, rows) - before)
            changed.append(_changed(evaluator, output, rest))
    shape = (-1, len(steps), len(rows))
    both = (torch.stack(each).reshape(shape) for each in (added, changed))
    return Response(transform, steps, rows, *both)


def _changed(evaluator: Evaluator, output: Tensor, rest: Tensor) -> Tensor:
    """Return whether each prediction changed, or by how much a value did.

    The class has to change, and the scores by a quarter of what separates samples of different
    predictions: where a network cannot tell two classes, the least change makes the other win.
    """
    if evaluator.data.classes:
        other = output.argmax(1) != rest.argmax(1)
        moved = (output - rest).norm(dim=1) > DECISIVE * _separation(rest)
        return (other & moved).to(rest.dtype)
    return ((output - rest).abs() / evaluator.scale).reshape(len(rest), -1).mean(1)


def _separation(rest: Tensor) -> Tensor:
    """Return the median distance between scores of samples whose predictions differ, or 0."""
    order = torch.arange(len(rest), device=rest.device)
    others = [order.roll(step) for step in PARTNERS]
    pairs = [(rest - rest[other]).norm(dim=1) for other in others]
    differ = [rest.argmax(1) != rest[other].argmax(1) for other in others]
    distances = torch.cat(pairs)[torch.cat(differ)]
    return distances.median() if len(distances) else rest.new_zeros(())


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


def to_fraction(transform: Transform, strength: float) -> float:
    """Return the fraction of the limit at which a transform has a strength, in [0, 1]."""
    if isinstance(transform, Multiplicative):
        return min(1.0, max(0.0, log(max(strength, 1.0)) / log(transform.limit)))
    return min(1.0, max(0.0, strength / transform.limit))


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
    response: Response, evaluator: Evaluator, tolerance: float, config: LearnConfig, name: str
) -> PartRange:
    """Return the range of a part of the samples, or of one direction."""
    transform, samples = response.transform, len(response.rows)
    if samples < MIN_PART:
        return PartRange(name, "unclear", 0.0, (0.0, 0.0), samples)
    held = find_held(response, evaluator, tolerance, config)
    strength, interval = held.strengths(transform)
    status: PartStatus = "reached_limit" if held.fraction > config.near_limit else "bounded"
    if isinstance(transform, Bernoulli):
        status = "reached_limit" if held.reached else "not_invariant"
        if held.low < 1 < held.high:
            status = "unclear"
    elif min(1.0, held.high) - held.low > config.max_width:
        status = "unclear"
    elif held.fraction < config.start / 2:
        status = "not_invariant"
    return PartRange(name, status, strength, interval, samples)
