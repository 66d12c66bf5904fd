"""Train a net with an augmentation."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.learn.config import LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.result import Invariance
from augnet.net import Augment, AugNet
from augnet.training import Loop, Row, descend, one_cycle
from augnet.transforms.noise import permutation


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


def build_augment(data: LearnData, kept: Sequence[Invariance], draws: int) -> Augment:
    """Build an augmentation that draws some of the kept transforms per sample, at their ranges.

    Each of `draws` layers draws one.
    """
    if not kept or not draws:
        return identity
    layers = (_drawn_layer(kept) for _ in range(draws))
    return AugmentationModule(*layers).to(data.x.device, data.x.dtype)


def _drawn_layer(rows: Sequence[Invariance]) -> AugmentationLayer:
    transforms, magnitudes = zip(*((row.transform, row.magnitude) for row in rows), strict=True)
    layer = AugmentationLayer(*transforms, magnitude=magnitudes, mixing="drawn")
    return layer.requires_grad_(False)
