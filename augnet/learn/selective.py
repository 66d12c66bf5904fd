"""The paper's selective layers, on ranges that are known to be safe."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, nn

from augnet.layers import AugmentationLayer, AugmentationModule
from augnet.learn.compose import COPIES, magnitude
from augnet.learn.inputs import Data
from augnet.learn.ranges import BATCH, PART, Clock, one_cycle
from augnet.learn.result import Invariance, Row
from augnet.net import AugNet
from augnet.regularizers import displacement, weighted_norm
from augnet.transforms import Transform
from augnet.transforms.noise import permutation

REWARD = 0.5
"""Nats per displacement, where 1 is as far as another sample."""


class SelectiveLayers:
    """Learn the weights of all transforms of each layer together with the trunk.

    Every transform stands at the range that the profile found for it, so that the task and the reward do
    not pull at the same numbers: ranges are measured, and transforms compete for weight by how far they
    move the data. What does not preserve the label does not move, and loses.
    """

    def __init__(
        self,
        data: Data,
        transforms: Sequence[Sequence[Transform]],
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
    ) -> None:
        self.data, self.generator = data, generator
        self.rows = [
            [next(row for row in rows if row.transform == transform) for transform in some]
            for some in transforms
        ]
        layers = [AugmentationLayer(*some, temperature=0.5) for some in transforms]
        self.augment = AugmentationModule(layers).to(data.x.device, data.x.dtype)
        for layer, mine in zip(self.augment, self.rows, strict=True):
            ranges = [magnitude(row)[0] if row.status != "not_invariant" else 0.0 for row in mine]
            with torch.no_grad():
                layer.raw_magnitudes.copy_(torch.tensor(ranges))
            layer.raw_magnitudes.requires_grad_(False)
        aggregate = "logits" if data.classes else "values"
        self.net = AugNet(self.augment, trunk, aggregate, copies=COPIES)
        self.optimizer = torch.optim.AdamW(trunk.parameters(), lr=2e-3, weight_decay=1e-3)
        self.choice = torch.optim.Adam([layer.logits for layer in self.augment], lr=3e-2)
        self.done = self.steps = 0

    def fit(self, steps: int, epoch: int, seconds: float | None = None) -> Iterator[Row]:
        """Train from where it stands; give one row per epoch, the first of which is given.

        There are fewer steps if they would take longer than `seconds`.
        """
        self.steps = self.steps or steps
        clock = Clock(self.done)
        while self.done < self.steps:
            self.net.train()
            order = permutation(self.data.x, len(self.data.x), self.generator)
            batches = [rows for rows in order.split(BATCH) if len(rows) > 1]
            losses = []
            for rows in batches:
                one_cycle(self.optimizer, 2e-3, self.done / self.steps)
                x, y = self.data.x[rows], self.data.y[rows]
                task = self.data.loss(self.net(x, self.generator), y)
                loss = task + REWARD * self._reward(x)
                self.optimizer.zero_grad()
                self.choice.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.choice.step()
                losses.append(task.detach())
                self.done += 1
                self.steps = clock.steps(self.done, self.steps, seconds)
                if self.done >= self.steps:
                    break
            row: Row = {
                "phase": "layers",
                "epoch": epoch,
                "loss": torch.stack(losses).mean().item(),
            }
            row["done"] = PART + (1 - PART) * min(1.0, self.done / self.steps)
            for number, layer in enumerate(self.augment, start=1):
                for transform, weight in zip(layer.transforms, layer.weights.tolist(), strict=True):
                    row[f"layer{number}.{transform.name}.weight"] = weight
            yield row
            epoch += 1
        self.net.eval()

    def state_dict(self) -> dict[str, Any]:
        """Give all that changes in training, the dice apart."""
        return {
            "net": self.net.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "choice": self.choice.state_dict(),
            "done": self.done,
            "steps": self.steps,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the training where another left it."""
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.choice.load_state_dict(state["choice"])
        self.done, self.steps = state["done"], state["steps"]

    def _reward(self, x: torch.Tensor) -> torch.Tensor:
        weights = torch.cat([layer.weights for layer in self.augment])
        with torch.no_grad():
            moved = torch.cat([displacement(layer, x, self.generator) for layer in self.augment])
        return weighted_norm(weights, moved)

    def selected(self) -> list[Invariance]:
        """Say which transform each layer selected, and how far it goes."""
        best = [int(layer.weights.argmax()) for layer in self.augment]
        return [
            replace(mine[index], weight=layer.weights[index].item())
            for layer, mine, index in zip(self.augment, self.rows, best, strict=True)
        ]
