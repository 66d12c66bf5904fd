"""The net at the end: the kept transforms composed, with ranges that are safe together."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import torch
from torch import Generator, nn

from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.learn.inputs import Data
from augnet.learn.ranges import BATCH, PART, Clock, one_cycle
from augnet.learn.result import Invariance, Row
from augnet.net import AugNet
from augnet.transforms import Bernoulli, Multiplicative
from augnet.transforms.noise import permutation, uniform

FACTORS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0)
"""Of a range. A coin is tossed from one half on, and else not."""
COPIES = 10
TRIED = 3
"""Copies, while factors are compared."""
JOINT_TOLERANCE = 0.01
"""What error all transforms together may add to the least there is."""


class Composition:
    """Train an AugNet of one layer per kept transform, its range a factor of what it may be alone.

    Transforms that are harmless one by one need not be together: two shears turn an image, and what can
    be told need not be learned by a small trunk. So samples are first seen at all kinds of factors.
    Then the error on samples that were not fitted decides: the largest common factor at which it is
    next to the least, with coins if they may stay, and from there each transform in turn as far up as it
    may go. The rest of the training uses these ranges, and all samples.
    """

    def __init__(
        self,
        data: Data,
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
    ) -> None:
        self.data, self.generator = data, generator
        kept = [row for row in rows if row.status != "not_invariant"]
        self.transforms = [row.transform for row in kept]
        self.ranges = [magnitude(row) for row in kept]
        layers = [AugmentationLayer(row.transform, magnitude=1.0) for row in kept]
        augment = AugmentationModule(layers).to(data.x.device, data.x.dtype) if kept else identity
        aggregate = "logits" if data.classes else "values"
        self.net = AugNet(augment, trunk, aggregate, copies=COPIES if kept else 1)
        self.factors = [1.0 for _ in kept]
        self.optimizer = torch.optim.AdamW(trunk.parameters(), lr=2e-3, weight_decay=1e-3)
        self.done = self.steps = 0

    @property
    def search(self) -> int:
        """The step at which ranges are chosen."""
        return self.steps // 2 if self.ranges else 0

    def fit(self, steps: int, epoch: int, seconds: float | None = None) -> Iterator[Row]:
        """Train from where it stands; give one row per epoch, the first of which is given.

        There are fewer steps if they would take longer than `seconds`.
        """
        self.steps = self.steps or steps
        clock = Clock(self.done)
        while self.done < self.steps:
            rows = self.data.fitted if self.done < self.search else torch.arange(len(self.data.x))
            rows = rows.to(self.data.x.device)
            order = rows[permutation(self.data.x, len(rows), self.generator)]
            batches = [part for part in order.split(BATCH) if len(part) > 1]
            losses = []
            self.net.train()
            for part in batches:
                one_cycle(self.optimizer, 2e-3, self.done / self.steps)
                if self.done < self.search:
                    draws = uniform(self.data.x, (len(self.ranges),), self.generator).tolist()
                    self._set([FACTORS[int(draw * len(FACTORS))] for draw in draws])
                elif self.done == self.search and self.search:
                    self.factors = self._largest()
                    self._set(self.factors)
                    self.net.train()
                loss = self.data.loss(
                    self.net(self.data.x[part], self.generator), self.data.y[part]
                )
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                losses.append(loss.detach())
                self.done += 1
                self.steps = clock.steps(self.done, self.steps, seconds)
                if self.done == self.search or self.done >= self.steps:
                    break
            row: Row = {"phase": "net", "epoch": epoch, "loss": torch.stack(losses).mean().item()}
            row["done"] = PART + (1 - PART) * min(1.0, self.done / self.steps)
            for transform, factor in zip(self.transforms, self.factors, strict=True):
                row[f"{transform.name} factor"] = factor
            yield row
            epoch += 1
        self.net.eval()

    def state_dict(self) -> dict[str, Any]:
        """Give all that changes in training, the dice apart."""
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "factors": self.factors,
            "done": self.done,
            "steps": self.steps,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the training where another left it."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.factors, self.done = state["factors"], state["done"]
        self.steps = state["steps"]

    def _set(self, factors: Sequence[float]) -> None:
        """Put each range at a part of what it may be alone."""
        if not isinstance(self.net.augment, AugmentationModule):
            return
        with torch.no_grad():
            for layer, factor, (magnitude, coin) in zip(
                self.net.augment, factors, self.ranges, strict=True
            ):
                part = float(factor >= 0.5) if coin else factor
                layer.raw_magnitudes.fill_(part * magnitude)

    def _largest(self) -> list[float]:
        """Give the largest factors whose error on held-out samples is next to the least."""
        sides = (1.0, 0.0) if any(coin for _, coin in self.ranges) else (1.0,)
        choices = [
            [side if coin else common for _, coin in self.ranges]
            for side, common in product(sides, FACTORS)
        ]
        errors = [self._error(factors) for factors in choices]
        allowed = min(errors) + max(JOINT_TOLERANCE, 1.0 / len(self.data.held_out[:512]))
        factors = next(f for f, error in zip(choices, errors, strict=True) if error <= allowed)
        for index, (_, coin) in enumerate(self.ranges):
            for factor in FACTORS[: 1 if coin else None]:
                if factor <= factors[index]:
                    break
                tried = [*factors[:index], factor, *factors[index + 1 :]]
                if self._error(tried) <= allowed:
                    factors = tried
                    break
        return factors

    @torch.no_grad()
    def _error(self, factors: Sequence[float]) -> float:
        """Give the error on held-out samples at some factors."""
        rows = self.data.held_out[:512]
        x, y = self.data.x[rows], self.data.y[rows]
        self._set(factors)
        self.net.copies = TRIED
        output = self.net.eval()(x, self.generator)
        self.net.copies = COPIES
        if self.data.classes:
            return (output.argmax(1) != y).double().mean().item()
        return ((output - y) / self.data.scale).square().mean().item()


def magnitude(row: Invariance) -> tuple[float, bool]:
    """Give the magnitude of a strength, and whether the transform is a coin."""
    transform = row.transform
    if isinstance(transform, Multiplicative):
        ratio = torch.tensor(row.strength).log() / torch.tensor(transform.limit).log()
        return min(1.0, float(ratio)), False
    return min(1.0, row.strength / transform.limit), isinstance(transform, Bernoulli)
