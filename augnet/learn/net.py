"""Train a net with an augmentation."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.learn.config import LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.result import Invariance
from augnet.net import Augment, AugNet
from augnet.training import Loop, Row, adamw, descend, one_cycle
from augnet.transforms.noise import permutation

BATCHES_AT_ONCE = (1, 2, 5)
"""How many batches are transformed in one call: parts of the ten steps that a loop times."""
MOST_NUMBERS = 2**21
"""They have so many numbers, at most, unless one batch has more. More are not faster."""


class NetTraining:
    """Train an AugNet on all samples, or on some; it can be left after each row and resumed.

    Several batches are transformed at once: for ten transforms and batches of 64 small images,
    that takes a third of the time. The trunk sees one view of each sample (`train_copies` of 1).
    """

    phase = "net"

    def __init__(
        self,
        data: LearnData,
        net: AugNet,
        generator: Generator,
        config: LearnConfig,
        steps: int,
        rows: Tensor | None = None,
    ) -> None:
        if net.train_copies != 1:
            raise ValueError(f"NetTraining takes one copy in training; got {net.train_copies}")
        self.data, self.net, self.generator, self.config = data, net, generator, config
        self.rows = torch.arange(len(data.x)) if rows is None else rows
        most = max(1, MOST_NUMBERS // (config.batch_size * data.x[0].numel()))
        self.at_once = max(count for count in BATCHES_AT_ONCE if count <= most)
        self.optimizer = adamw(net.trunk.parameters(), config.lr, config.weight_decay)
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

    def _states(self) -> list[dict[str, Any]]:
        """Describe each transform, for the history."""
        return []

    @property
    def steps(self) -> int:
        """The steps that were taken."""
        return self.loop.done

    def _batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the rows of a batch and their views; batch norm needs two samples."""
        self.net.train()
        size = self.config.batch_size
        rows = self.rows.to(self.data.x.device)
        order = rows[permutation(self.data.x, len(rows), self.generator)]
        while len(order) > 1:
            steps = self.loop.steps or self.at_once
            count = size * min(self.at_once, max(1, steps - self.loop.done))
            some, order = order[:count], order[count:]
            views = self._views(some)
            for batch in zip(some.split(size), views.split(size), strict=True):
                if len(batch[0]) > 1:
                    yield batch[0], batch[1].detach()  # a trunk may change its input in place

    @torch.no_grad()
    def _views(self, rows: Tensor) -> Tensor:
        """Augment some samples."""
        return self.net.augment(self.data.x[rows], self.generator)

    def _step(self, batch: tuple[Tensor, Tensor]) -> dict[str, Tensor]:
        """Take one step on the views of a batch."""
        rows, views = batch
        output = self.net.aggregate(self.net.trunk(views)[None])
        loss = self.data.loss(output, self.data.y[rows])
        descend(self.optimizer, loss)
        return {"loss": loss.detach()}

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


def build_augment(
    data: LearnData, kept: Sequence[Invariance], draws: int, edges: float = 0.0
) -> Augment:
    """Build an augmentation that draws some of the kept transforms per sample, at their ranges.

    Each of `draws` layers draws one. In training, a fraction `edges` of the samples is at the end
    of a range.
    """
    if not kept or not draws:
        return identity
    layers = (_drawn_layer(kept, edges) for _ in range(draws))
    return AugmentationModule(*layers).to(data.x.device, data.x.dtype)


def _drawn_layer(rows: Sequence[Invariance], edges: float) -> AugmentationLayer:
    transforms, magnitudes = zip(*((row.transform, row.magnitude) for row in rows), strict=True)
    layer = AugmentationLayer(*transforms, magnitude=magnitudes, mixing="drawn", edges=edges)
    return layer.requires_grad_(False)
