"""A branch whose parts, classes or directions, have a range each.

The branch of a transform has one range for all samples: where one class gives up, it ends for all.
Here the range of each part follows what its own edge costs.
"""

import copy
import time
import zlib

import torch
from torch import Generator, Tensor, nn

from augnet.learn.config import LearnConfig
from augnet.learn.edge import EdgeRule
from augnet.learn.reference import Reference
from augnet.learn.strengths import apply_at_strength
from augnet.learn.traces import TraceNoise
from augnet.training import Loop, RandomState, WeightAverage, descend
from augnet.transforms import Signed, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import permutation, uniform


class PartedBranch:
    """Train a copy of the reference with one transform; classes or directions have own ranges."""

    def __init__(
        self, reference: Reference, transform: Transform, config: LearnConfig, directions: bool
    ) -> None:
        self.reference, self.transform, self.config = reference, transform, config
        self.data, self.evaluator = reference.data, reference.evaluator
        self.directions = directions
        seed = zlib.crc32(f"{config.seed} {transform.name} {directions}".encode())
        self.seed = seed
        self.generator = Generator(device=self.data.x.device).manual_seed(seed)
        self.trunk = copy.deepcopy(reference.network).requires_grad_(True).train()
        self.average = WeightAverage(self.trunk, config.branch_average)
        self.optimizer = torch.optim.AdamW(
            self.trunk.parameters(), lr=config.lr, weight_decay=config.weight_decay
        )
        self.noise = TraceNoise(self.data.x[self.data.fitted], config.trace_noise)
        parts = 2 if directions else self.data.classes
        start, rate, growth = config.start, config.rate, config.growth
        self.rules = [
            EdgeRule(reference.tolerance, start, rate, growth, config.smoothing)
            for _ in range(parts)
        ]
        steps = max(1, round(config.branch_steps * reference.planned))
        self.every = max(1, steps // config.measurements)
        self.loop = Loop(self._batches, self._step, steps=steps)

    def train(self, seconds: float | None = None) -> nn.Module | None:
        """Train, and return the network; None if the seconds do not suffice."""
        end = None if seconds is None else time.monotonic() + seconds
        if seconds is not None and seconds <= 0:
            return None
        with RandomState(self.data.x.device):
            torch.manual_seed(self.seed)
            self.loop.seconds = seconds
            for _ in self.loop:
                pass
        late = end is not None and time.monotonic() >= end and not self.loop.finished
        return None if late else self.average.network.eval()

    def range_of(self, part: int) -> float:
        """Return the range of a part, averaged over the end of the training."""
        return self.rules[part].settled()[0]

    def _batches(self) -> list[Tensor]:
        return self.data.batches(self.config.batch_size, self.generator)

    def _parts(self, rows: Tensor, signs: Tensor) -> Tensor:
        """Return the part of each sample: its class, or its direction."""
        return (signs > 0).long() if self.directions else self.data.y[rows]

    def _ranges(self) -> Tensor:
        return self.data.x.new_tensor([rule.range for rule in self.rules])

    def _view(self, rows: Tensor) -> Tensor:
        """Transform a batch: a part of it not at all, a part within its ranges, a part at the edge.

        A signed transform is applied in two steps, so that the view does not tell how far it was.
        """
        x = self.data.x[rows]
        signs = torch.where(uniform(x, (len(x),), self.generator) < 0.5, -1.0, 1.0).to(x)
        place = permutation(x, len(x), self.generator) / len(x)
        within = uniform(x, (len(x),), self.generator)
        identity = self.config.identity_fraction
        fractions = torch.where(place < (1 + identity) / 2, within, torch.ones_like(within))
        ranges, parts = self._ranges(), self._parts(rows, signs)
        fractions = torch.where(place < identity, 0.0, fractions) * ranges[parts]
        if not isinstance(self.transform, Signed):
            return apply_at_strength(self.transform, x, fractions, self.generator)
        least, most = (
            (ranges[each].expand(len(x)) if self.directions else ranges[parts]) for each in (0, 1)
        )
        total = signs * fractions
        low, high = (total - most).maximum(-least), (total + least).minimum(most)
        first = low + (high - low) * uniform(x, (len(x),), self.generator)
        rest = (fractions == 0).nonzero()[:, 0]
        first[rest[len(rest) // 2 :]] = 0.0
        view = x
        for part in (first, total - first):
            view = apply_at_strength(self.transform, view, part.abs(), self.generator, part.sign())
        return view + self.noise(view, self.generator)

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        with full_precision(self.data.x):
            view = self._view(rows)
        losses = self.evaluator.losses(self.trunk(view), self.reference.targets[rows])
        loss = self.evaluator.mean(losses, rows)
        descend(self.optimizer, loss)
        self.average.update(self.trunk)
        if (self.loop.done + 1) % self.every == 0:
            self._measure_costs()
        return {"loss": loss.detach()}

    @torch.no_grad()
    def _measure_costs(self) -> None:
        """Measure the error that the edge of each part adds, and move the ranges."""
        rows, network = self.reference.held_out, self.average.network
        before, x = self.reference.errors, self.data.x[rows]
        rest = self.evaluator.errors(self.evaluator.outputs(network, x), rows)
        signs = torch.where(uniform(x, (len(x),), self.generator) < 0.5, -1.0, 1.0).to(x)
        parts, ranges = self._parts(rows, signs), self._ranges()
        with full_precision(x):
            view = apply_at_strength(self.transform, x, ranges[parts], self.generator, signs)
        edge = self.evaluator.errors(self.evaluator.outputs(network, view), rows)
        for part, rule in enumerate(self.rules):
            mine = parts == part
            if not bool(mine.any()):
                continue
            own = rows[mine]
            added = (edge - before)[mine]
            costs = [self.evaluator.mean(each, own).item() for each in (added, (edge - rest)[mine])]
            noise = self.config.confidence * self.evaluator.deviation(added, own)
            rule.update(*costs, allowed=noise)
