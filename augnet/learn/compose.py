"""Train the final net: kept transforms composed, with ranges that preserve labels together."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor, nn

from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.learn.config import LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.result import Invariance
from augnet.net import AugNet
from augnet.training import Loop, Row, descend, one_cycle
from augnet.transforms import Bernoulli
from augnet.transforms.noise import permutation, uniform


class NetTraining(ABC):
    """Train an AugNet for a number of steps; it can be left after each row and resumed."""

    phase: ClassVar[str]

    def __init__(
        self,
        data: LearnData,
        net: AugNet,
        generator: Generator,
        config: LearnConfig,
        steps: int,
    ) -> None:
        self.data, self.net, self.generator, self.config = data, net, generator, config
        self.optimizer = torch.optim.AdamW(
            net.trunk.parameters(), lr=config.net_lr, weight_decay=config.weight_decay
        )
        self.loop = Loop(self._batches, self._step, steps=steps, schedule=self._schedule)

    def fit(self, first_epoch: int, seconds: float | None = None) -> Iterator[Row]:
        """Train from the current state; yield one row per epoch, counted from `first_epoch`.

        There are fewer steps if they would take longer than `seconds`.
        """
        self.loop.seconds = seconds
        begin, before = self.config.search_fraction, len(self.loop.history)
        for row in self.loop:
            yield {
                "phase": self.phase,
                "epoch": first_epoch - before + row["epoch"] - 1,
                "loss": row["loss"],
                "done": begin + (1 - begin) * self.loop.progress,
                "transforms": self._states(),
            }
        self.net.eval()

    @abstractmethod
    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        """Take one step on some samples."""

    @abstractmethod
    def _states(self) -> list[dict[str, Any]]:
        """Describe each transform, for the history."""

    def _batches(self) -> Iterable[Tensor]:
        return self._shuffle(torch.arange(len(self.data.x)))

    def _shuffle(self, rows: Tensor) -> Iterator[Tensor]:
        """Yield batches of rows in random order; batch norm needs two samples."""
        self.net.train()
        rows = rows.to(self.data.x.device)
        order = rows[permutation(self.data.x, len(rows), self.generator)]
        yield from (batch for batch in order.split(self.config.batch_size) if len(batch) > 1)

    def _schedule(self, progress: float) -> None:
        one_cycle(self.optimizer, self.config.net_lr, progress)

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, except the generator."""
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "loop": self.loop.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another training with the same arguments was left."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.loop.load_state_dict(state["loop"])


class Composition(NetTraining):
    """Train an AugNet of one layer per kept transform, its range a factor of the measured one.

    Transforms that preserve labels one by one need not do so together: two shears rotate an image.
    And a small trunk may not learn all of it. So training starts with random factors. Then the
    error on held-out samples decides: the largest common factor whose error is close to the least,
    with Bernoulli transforms if possible, and from there each transform in turn gets the largest
    factor that it can have. The rest of the training uses these ranges, and all samples.
    """

    phase = "net"

    def __init__(
        self,
        data: LearnData,
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
        config: LearnConfig,
        steps: int,
    ) -> None:
        kept = [row for row in rows if row.kept]
        self.transforms = [row.transform for row in kept]
        self.magnitudes = [row.magnitude for row in kept]
        self.bernoulli = [isinstance(row.transform, Bernoulli) for row in kept]
        layers = [AugmentationLayer(row.transform, magnitude=1.0) for row in kept]
        augment = AugmentationModule(*layers).to(data.x.device, data.x.dtype) if kept else identity
        net = AugNet(augment, trunk, data.aggregate, copies=config.copies if kept else 1)
        super().__init__(data, net, generator, config, steps)
        self.factors = [1.0 for _ in kept]
        self.chosen = False
        self.end: float | None = None
        self._set(self.factors)

    @property
    def chosen_at(self) -> int:
        """The step at which factors are chosen."""
        assert self.loop.steps is not None
        return self.loop.steps // 2 if self.transforms else 0

    def fit(self, first_epoch: int, seconds: float | None = None) -> Iterator[Row]:
        """Train, and choose factors; with no time left these are those of least error so far."""
        self.end = None if seconds is None else time.monotonic() + seconds
        yield from super().fit(first_epoch, seconds)
        if self.transforms and not self.chosen:
            self._choose()

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, except the generator."""
        return {**super().state_dict(), "factors": self.factors, "chosen": self.chosen}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another training with the same arguments was left."""
        super().load_state_dict(state)
        self.factors, self.chosen = state["factors"], state["chosen"]

    def _batches(self) -> Iterable[Tensor]:
        """Yield batches of fitted samples until factors are chosen, then of all samples."""
        if self.chosen or self.loop.done >= self.chosen_at:
            yield from super()._batches()
            return
        for batch in self._shuffle(self.data.fitted):
            yield batch
            if self.loop.done >= self.chosen_at:
                return

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        if not self.chosen and self.loop.done < self.chosen_at:
            draws = uniform(self.data.x, (len(self.transforms),), self.generator).tolist()
            choices = self.config.factors
            self._set([choices[int(draw * len(choices))] for draw in draws])
        elif not self.chosen and self.transforms:
            self._choose()
            self.net.train()
        loss = self.data.loss(self.net(self.data.x[rows], self.generator), self.data.y[rows])
        descend(self.optimizer, loss)
        return {"loss": loss.detach()}

    def _states(self) -> list[dict[str, Any]]:
        return [
            {"name": transform.name, "factor": factor}
            for transform, factor in zip(self.transforms, self.factors, strict=True)
        ]

    def _set(self, factors: Sequence[float]) -> None:
        """Set each range to a factor of the measured one."""
        if not isinstance(self.net.augment, AugmentationModule):
            return
        with torch.no_grad():
            for layer, factor, magnitude, bernoulli in zip(
                self.net.augment, factors, self.magnitudes, self.bernoulli, strict=True
            ):
                used = float(factor >= 0.5) if bernoulli else factor
                layer.raw_magnitudes.fill_(used * magnitude)

    def _choose(self) -> None:
        """Choose factors, in half of the time that is left."""
        now = time.monotonic()
        until = None if self.end is None else (now + self.end) / 2
        self.factors, self.chosen = self._largest(until), True
        self._set(self.factors)

    def _largest(self, until: float | None = None) -> list[float]:
        """Return the largest factors whose error on held-out samples is close to the least.

        Small factors are tried first, and no others after a time on the clock.
        """

        def late() -> bool:
            return until is not None and time.monotonic() >= until

        choices = self.config.factors
        candidates = [
            [applied if bernoulli else common for bernoulli in self.bernoulli]
            for applied, common in product((1.0, 0.0) if any(self.bernoulli) else (1.0,), choices)
        ]
        errors = []
        for factors in reversed(candidates):
            errors.append(self._error(factors))
            if late():
                break
        tried = list(zip(reversed(candidates), errors, strict=False))
        resolution = 1.0 / len(self.data.held_out[: self.config.compared_samples])
        allowed = min(errors) + max(self.config.net_tolerance, resolution)
        factors = next(f for f, error in reversed(tried) if error <= allowed)
        for index, bernoulli in enumerate(self.bernoulli):
            for factor in choices[: 1 if bernoulli else None]:
                if factor <= factors[index] or late():
                    break
                larger = [*factors[:index], factor, *factors[index + 1 :]]
                if self._error(larger) <= allowed:
                    factors = larger
                    break
        return factors

    @torch.no_grad()
    def _error(self, factors: Sequence[float]) -> float:
        """Return the error on held-out samples at some factors."""
        rows = self.data.held_out[: self.config.compared_samples]
        x, y = self.data.x[rows], self.data.y[rows]
        self._set(factors)
        self.net.copies = self.config.compared_copies
        output = self.net.eval()(x, self.generator)
        self.net.copies = self.config.copies
        if self.data.classes:
            return (output.argmax(1) != y).double().mean().item()
        return ((output - y) / self.data.scale).square().mean().item()
