"""Train a net with an augmentation."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import torch
from torch import Generator, Tensor

from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.learn.config import LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.result import Invariance
from augnet.net import Augment, AugNet
from augnet.training import Loop, Row, descend, one_cycle
from augnet.transforms import Bernoulli, Transform
from augnet.transforms.noise import permutation

Flips: TypeAlias = Literal["drawn", "half", "none"]
"""How transforms that are applied as a whole are used in a net."""


class NetTraining(ABC):
    """Train an AugNet for a number of steps; it can be left after each row and resumed."""

    phase = "net"

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
            net.trunk.parameters(), lr=config.lr, weight_decay=config.weight_decay
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

    def _states(self) -> list[dict[str, Any]]:
        """Describe each transform, for the history."""
        return []

    @property
    def steps(self) -> int:
        """The steps that were taken."""
        return self.loop.done

    def _batches(self) -> Iterable[Tensor]:
        return self._shuffle(torch.arange(len(self.data.x)))

    def _shuffle(self, rows: Tensor) -> Iterator[Tensor]:
        """Yield batches of rows in random order; batch norm needs two samples."""
        self.net.train()
        rows = rows.to(self.data.x.device)
        order = rows[permutation(self.data.x, len(rows), self.generator)]
        yield from (batch for batch in order.split(self.config.batch_size) if len(batch) > 1)

    def _schedule(self, progress: float) -> None:
        one_cycle(self.optimizer, self.config.lr, progress)

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


class DrawnTraining(NetTraining):
    """Train a net with the transforms of its layers drawn per sample, on some samples."""

    def __init__(
        self,
        data: LearnData,
        net: AugNet,
        generator: Generator,
        config: LearnConfig,
        steps: int,
        rows: Tensor,
    ) -> None:
        super().__init__(data, net, generator, config, steps)
        self.rows = rows

    def _batches(self) -> Iterable[Tensor]:
        return self._shuffle(self.rows)

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        loss = self.data.loss(self.net(self.data.x[rows], self.generator), self.data.y[rows])
        descend(self.optimizer, loss)
        return {"loss": loss.detach()}


def build_augment(
    data: LearnData, kept: Sequence[Invariance], draws: int, flips: Flips = "drawn"
) -> Augment:
    """Build an augmentation that draws some of the kept transforms per sample, at their ranges.

    Each of `draws` layers draws one. `flips` says how transforms that are applied as a whole are
    used: drawn like the others; or the flip that costs least for half of all samples, whatever else
    is drawn; or none of them.
    """
    rows = list(kept)
    if flips == "none":
        rows = [row for row in kept if not isinstance(row.transform, Bernoulli)]
    first = [least_costly_flip(data, kept)] if flips == "half" else []
    rows = [row for row in rows if row not in first]
    layers = [[row] for row in first if row is not None] + ([rows] * draws if rows else [])
    if not layers or not draws:
        return identity
    return AugmentationModule(*map(_drawn_layer, layers)).to(data.x.device, data.x.dtype)


def least_costly_flip(data: LearnData, kept: Sequence[Invariance]) -> Invariance | None:
    """Return the transform that undoes itself and adds the least error, if there is one.

    The error is the mean of what it adds to transformed samples and to the others.
    """
    flips = [row for row in kept if _undoes_itself(row.transform, data.x[:2])]
    return min(flips, key=_mean_cost, default=None)


def _mean_cost(row: Invariance) -> float:
    costs = [cost for _, cost in row.response] or [row.cost or 0.0]
    return sum(costs) / len(costs)


def _drawn_layer(rows: Sequence[Invariance]) -> AugmentationLayer:
    transforms, magnitudes = zip(*((row.transform, row.magnitude) for row in rows), strict=True)
    layer = AugmentationLayer(*transforms, magnitude=magnitudes, mixing="drawn")
    return layer.requires_grad_(False)


def _undoes_itself(transform: Transform, x: Tensor) -> bool:
    """Whether a Bernoulli transform that is applied twice changes nothing."""
    if not isinstance(transform, Bernoulli):
        return False
    return torch.allclose(transform.transform(transform.transform(x)), x, atol=1e-5)
