"""The paper's selective layers, on ranges that were measured."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import AugmentationLayer, AugmentationModule
from augnet.layers.state import transform_states
from augnet.learn.config import LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.net import NetTraining
from augnet.learn.result import Invariance
from augnet.net import AugNet
from augnet.regularizers import DataSpaceNorm
from augnet.training import descend
from augnet.transforms import Transform


class SelectiveLayers(NetTraining):
    """Learn the weights of all transforms of each layer together with the trunk.

    Magnitudes are fixed at the measured ranges, so that the task and the reward have no parameters
    in common: transforms compete for weight by how far they move the data. A transform that does
    not preserve the label has magnitude 0, and loses.
    """

    phase = "layers"

    def __init__(
        self,
        data: LearnData,
        transforms: Sequence[Sequence[Transform]],
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
        config: LearnConfig,
        steps: int,
    ) -> None:
        self.rows = [
            [next(row for row in rows if row.transform == transform) for transform in some]
            for some in transforms
        ]
        layers = [AugmentationLayer(*some, temperature=config.temperature) for some in transforms]
        self.augment = AugmentationModule(*layers).to(data.x.device, data.x.dtype)
        for layer, mine in zip(self.augment, self.rows, strict=True):
            magnitudes = [row.magnitude if row.kept else 0.0 for row in mine]
            with torch.no_grad():
                layer.raw_magnitudes.copy_(torch.tensor(magnitudes))
            layer.raw_magnitudes.requires_grad_(False)
        net = AugNet(self.augment, trunk, data.aggregate, copies=config.copies)
        super().__init__(data, net, generator, config, steps)
        logits = [layer.logits for layer in self.augment]
        self.logits_optimizer = torch.optim.Adam(logits, lr=config.logits_lr)

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        x, y = self.data.x[rows], self.data.y[rows]
        task = self.data.loss(self.net(x, self.generator), y)
        loss = task + self.config.reward * DataSpaceNorm()(self.augment, x, self.generator)
        descend(self.optimizer, loss, self.logits_optimizer)
        return {"loss": task.detach()}

    def _states(self) -> list[dict[str, Any]]:
        return [asdict(state) for state in transform_states(self.augment)]

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, except the generator."""
        return {**super().state_dict(), "logits_optimizer": self.logits_optimizer.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another training with the same arguments was left."""
        super().load_state_dict(state)
        self.logits_optimizer.load_state_dict(state["logits_optimizer"])

    def selected(self) -> list[Invariance]:
        """Return the invariance of the transform that each layer selected."""
        best = [int(layer.weights.argmax()) for layer in self.augment]
        return [
            replace(mine[index], weight=layer.weights[index].item())
            for layer, mine, index in zip(self.augment, self.rows, best, strict=True)
        ]
