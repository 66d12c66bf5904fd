"""How a network responds to a transform: errors and changed predictions against strength.

Each sample is compared with itself without the transform, in each direction of a signed transform.
The params of a sample are the same at all strengths.
"""

import zlib
from dataclasses import asdict, dataclass, replace
from math import log

import torch
from torch import Generator, Tensor, nn

from augnet.learn.evaluate import CHUNK, Evaluator
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

    def towards(self, number: int) -> "Response":
        """Return the response in one direction, by its number."""
        part = slice(number, number + 1)
        return replace(self, added=self.added[part], changed=self.changed[part])


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


def to_fraction(transform: Transform, strength: float) -> float:
    """Return the fraction of the limit at which a transform has a strength, in [0, 1]."""
    if isinstance(transform, Multiplicative):
        return min(1.0, max(0.0, log(max(strength, 1.0)) / log(transform.limit)))
    return min(1.0, max(0.0, strength / transform.limit))
