"""A sweep: training goes on from the reference while the range of all samples grows by stages.

The branch of a transform finds one range for all samples: where one class gives up, it ends for
all. A sweep goes on to the limit, and all samples are transformed within the same range, so that
each class has to be told from what the others look like at the same strength.
"""

import time
import zlib
from dataclasses import asdict, dataclass
from typing import TypeAlias

import torch
from torch import Generator, Tensor

from augnet.learn.config import LearnConfig
from augnet.learn.control import continued
from augnet.learn.reference import Reference
from augnet.learn.response import directions, view
from augnet.learn.strengths import apply_at_strength
from augnet.learn.traces import TraceNoise
from augnet.training import Loop, RandomState, WeightAverage, descend
from augnet.transforms import Bernoulli, Signed, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import permutation, uniform

Ends: TypeAlias = tuple[float, float]
"""How far a range goes in the directions − and +, as fractions of the limit."""
PLACES = (0.25, 0.5, 0.75, 0.9, 1.0)
"""Fractions of the ends of a range at which it is measured."""
EDGE = 0.9
"""Places from here on are the edge of a range."""


@dataclass(frozen=True)
class Stage:
    """What a network that was trained within a range predicts for the held-out samples."""

    ends: Ends
    rest: Tensor
    """The outputs without the transform (N, K)."""
    outputs: Tensor
    """The outputs in each direction, at each place (D, P, N, K)."""
    edge: tuple[bool, ...]
    """Which of the places (P,) are at the edge."""


class Sweep:
    """Train a copy of the reference within ranges that grow, and measure it after each stage."""

    def __init__(
        self, reference: Reference, transform: Transform, config: LearnConfig, name: str
    ) -> None:
        self.reference, self.transform, self.config = reference, transform, config
        self.data, self.evaluator = reference.data, reference.evaluator
        key = f"{config.seed} {transform.name} {asdict(transform)} {name}"
        self.seed = zlib.crc32(key.encode())
        self.generator = Generator(device=self.data.x.device).manual_seed(self.seed)
        self.trunk, self.optimizer = continued(reference, config)
        self.average = WeightAverage(self.trunk, config.stage_average)
        self.noise = TraceNoise(self.data.x[self.data.fitted], config.trace_noise)
        self.targets = reference.targets
        self.ends: Ends = (0.0, 0.0)
        self.steps = max(1, round(config.stage_steps * reference.planned))
        self.loop = Loop(self._batches, self._step, steps=0)

    def train(self, ends: Ends, end: float | None = None, times: int = 1) -> Stage | None:
        """Train within a range, and measure; None if the time of day `end` comes before.

        The steps of a stage are repeated so many times.
        """
        seconds = None if end is None else end - time.time()
        if seconds is not None and seconds <= 0:
            return None
        self.ends = ends
        with RandomState(self.data.x.device):
            torch.manual_seed(self.seed + self.loop.done)
            planned = self.loop.done + times * self.steps
            self.loop.extend(times * self.steps)
            self.loop.seconds = seconds
            for _ in self.loop:
                pass
        return None if self.loop.done < planned else self.measure(ends)

    @torch.no_grad()
    def measure(self, ends: Ends) -> Stage:
        """Measure the network without the transform, within a range, and at its ends."""
        x, network = self.data.x[self.reference.held_out], self.average.network
        places = (1.0,) if isinstance(self.transform, Bernoulli) else PLACES
        outputs = [
            self.evaluator.outputs(
                network,
                view(self.transform, x, place * ends[direction > 0], direction, self.seed),
            )
            for direction in directions(self.transform)
            for place in places
        ]
        rest = self.evaluator.outputs(network, x)
        shape = (-1, len(places), *rest.shape)
        edge = tuple(place >= EDGE for place in places)
        return Stage(ends, rest, torch.stack(outputs).reshape(shape), edge)

    def merge(self, classes: Tensor) -> None:
        """Ask no longer which of some classes (K,) it is, from now on.

        Where it cannot be told, a network would learn to read traces of the transform instead, and
        would then tell other classes by them.
        """
        self.targets = self.targets.clone()
        self.targets[:, classes] = self.targets[:, classes].mean(1, keepdim=True)

    def _batches(self) -> list[Tensor]:
        return self.data.batches(self.config.batch_size, self.generator)

    def _view(self, x: Tensor) -> Tensor:
        """Transform a batch, uniformly within the range; by a Bernoulli transform half of it.

        A share of samples at the edge would be told from the few others there, although they look
        the same. A signed transform is applied in two steps, as in a branch.
        """
        order = permutation(x, len(x), self.generator)
        place = (order + uniform(x, (len(x),), self.generator)) / len(x)
        least, most = self.ends
        if isinstance(self.transform, Bernoulli):
            return apply_at_strength(self.transform, x, (place < 0.5).to(x), self.generator)
        if not isinstance(self.transform, Signed):
            return apply_at_strength(self.transform, x, most * place, self.generator)
        total = (least + most) * place - least
        low, high = (total - most).clamp(min=-least), (total + least).clamp(max=most)
        first = low + (high - low) * uniform(x, (len(x),), self.generator)
        for part in (first, total - first):
            x = apply_at_strength(self.transform, x, part.abs(), self.generator, part.sign())
        return x + self.noise(x, self.generator)

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        x = self.data.x[rows]
        with full_precision(x):
            seen = self._view(x)
        losses = self.evaluator.losses(self.trunk(seen), self.targets[rows])
        loss = self.evaluator.mean(losses, rows)
        descend(self.optimizer, loss)
        self.average.update(self.trunk)
        return {"loss": loss.detach()}
