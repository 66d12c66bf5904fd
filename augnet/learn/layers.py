"""The paper's selective layers, on ranges that are known to be safe."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Generator, nn

from augnet.augment import AugmentationLayer, AugmentationModule
from augnet.learn.compose import COPIES, magnitude
from augnet.learn.door import Data
from augnet.learn.found import Invariance, Row
from augnet.learn.profile import BATCH, PART, one_cycle
from augnet.net import AugNet
from augnet.penalty import displacement, selective
from augnet.transforms import Transform
from augnet.transforms.noise import permutation

REWARD = 0.5
"""Nats per displacement, where 1 is as far as another sample."""


class SelectiveLayers:
    """Learn the weights of all words of each layer together with the trunk.

    Every word stands at the range that the profile found for it, so that the task and the reward do
    not pull at the same numbers: ranges are measured, and words compete for weight by how far they
    move the data. What does not preserve the label does not move, and loses.
    """

    def __init__(
        self,
        data: Data,
        words: Sequence[Sequence[Transform]],
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
    ) -> None:
        self.data, self.generator = data, generator
        self.rows = [
            [next(row for row in rows if row.word == word) for word in some] for some in words
        ]
        layers = [AugmentationLayer(*some, temperature=0.5) for some in words]
        self.augment = AugmentationModule(layers).to(data.x.device, data.x.dtype)
        for layer, mine in zip(self.augment, self.rows, strict=True):
            ranges = [magnitude(row)[0] if row.verdict != "none" else 0.0 for row in mine]
            with torch.no_grad():
                layer.raw_magnitudes.copy_(torch.tensor(ranges))
            layer.raw_magnitudes.requires_grad_(False)
        aggregate = "logits" if data.classes else "values"
        self.net = AugNet(self.augment, trunk, aggregate, copies=COPIES)

    def fit(self, steps: int, first_epoch: int) -> Iterator[Row]:
        """Train; give one row per epoch."""
        logits = [layer.logits for layer in self.augment]
        optimiser = torch.optim.AdamW(self.net.trunk.parameters(), lr=2e-3, weight_decay=1e-3)
        choice = torch.optim.Adam(logits, lr=3e-2)
        done, epoch = 0, first_epoch
        while done < steps:
            self.net.train()
            order = permutation(self.data.x, len(self.data.x), self.generator)
            batches = [rows for rows in order.split(BATCH) if len(rows) > 1]
            total = self.data.x.new_zeros(())
            for rows in batches:
                one_cycle(optimiser, 2e-3, done / steps)
                x, y = self.data.x[rows], self.data.y[rows]
                task = self.data.loss(self.net(x, self.generator), y)
                loss = task + REWARD * self._reward(x)
                optimiser.zero_grad()
                choice.zero_grad()
                loss.backward()
                optimiser.step()
                choice.step()
                total += task.detach() / len(batches)
                done += 1
            row: Row = {"phase": "layers", "epoch": epoch, "loss": total.item()}
            row["done"] = PART + (1 - PART) * min(1.0, done / steps)
            for number, layer in enumerate(self.augment, start=1):
                for word, weight in zip(layer.transforms, layer.weights.tolist(), strict=True):
                    row[f"layer{number}.{word.name}.weight"] = weight
            yield row
            epoch += 1
        self.net.eval()

    def _reward(self, x: torch.Tensor) -> torch.Tensor:
        weights = torch.cat([layer.weights for layer in self.augment])
        with torch.no_grad():
            moved = torch.cat([displacement(layer, x, self.generator) for layer in self.augment])
        return selective(weights, moved)

    def selected(self) -> list[Invariance]:
        """Say which word each layer selected, and how far it goes."""
        best = [int(layer.weights.argmax()) for layer in self.augment]
        return [
            replace(mine[index], weight=layer.weights[index].item())
            for layer, mine, index in zip(self.augment, self.rows, best, strict=True)
        ]
