"""The paper's selective layers, with the objective that recovers best: see penalty.py."""

import time
from collections.abc import Iterator, Sequence

import torch
from torch import Generator, nn

from augnet.augment import AugmentationLayer, AugmentationModule
from augnet.learn.compose import COPIES
from augnet.learn.door import Data
from augnet.learn.found import Invariance, Row, Verdict
from augnet.learn.profile import BATCH
from augnet.net import AugNet
from augnet.penalty import Schedule, in_data_space
from augnet.transforms import Transform
from augnet.transforms.noise import permutation

TAIL = 0.2
"""The part of the training over which what was learned is averaged."""
NONE, LIMIT = 0.05, 0.9
"""Magnitudes below the first are nothing, above the second they reached the limit."""


class SelectiveLayers:
    """Learn weights and magnitudes of all words of each layer together with the trunk."""

    def __init__(
        self,
        data: Data,
        words: Sequence[Sequence[Transform]],
        trunk: nn.Module,
        generator: Generator,
    ) -> None:
        self.data, self.generator = data, generator
        layers = [AugmentationLayer(*some, magnitude=0.25, temperature=0.5) for some in words]
        self.augment = AugmentationModule(layers).to(data.x.device, data.x.dtype)
        aggregate = "logits" if data.classes else "values"
        self.net = AugNet(self.augment, trunk, aggregate, copies=COPIES)
        self.tail: list[list[tuple[list[float], list[float]]]] = []

    def fit(self, steps: int, seconds: float | None = None) -> Iterator[Row]:
        """Train; give one row per epoch."""
        optimiser = torch.optim.Adam(self.net.parameters(), lr=1e-2)
        weight = Schedule([[0, 0.5], [max(1, steps // 2), 0.2]])
        begun, done, epoch = time.monotonic(), 0, 0
        while done < steps:
            epoch += 1
            self.net.train()
            order = permutation(self.data.x, len(self.data.x), self.generator)
            batches = [rows for rows in order.split(BATCH) if len(rows) > 1]
            total = self.data.x.new_zeros(())
            for rows in batches:
                x, y = self.data.x[rows], self.data.y[rows]
                task = self.data.loss(self.net(x, self.generator), y)
                loss = task + weight(done) * in_data_space(self.augment, x, self.generator)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += task.detach() / len(batches)
                done += 1
                if seconds is not None and done == 20:
                    steps = max(60, int(20 * seconds / (time.monotonic() - begun)))
                    weight = Schedule([[0, 0.5], [max(1, steps // 2), 0.2]])
                if done > (1 - TAIL) * steps:
                    self.tail.append([_learned(layer) for layer in self.augment])
            row: Row = {"phase": "layers", "epoch": epoch, "loss": total.item()}
            for number, layer in enumerate(self.augment, start=1):
                weights, magnitudes = _learned(layer)
                for word, w, m in zip(layer.transforms, weights, magnitudes, strict=True):
                    row[f"layer{number}.{word.name}.weight"] = w
                    row[f"layer{number}.{word.name}"] = float(word.strength(m))
            yield row
        self.net.eval()

    def verdicts(self) -> list[Invariance]:
        """Say which word each layer selected, and how far it goes."""
        rows = []
        for number, layer in enumerate(self.augment):
            weights, magnitudes = (
                torch.tensor([moment[number][part] for moment in self.tail]) for part in (0, 1)
            )
            index = int(weights.mean(0).argmax())
            word, path = layer.transforms[index], magnitudes[:, index]
            found = path.mean().item()
            verdict: Verdict = "none" if found < NONE else "at least" if found > LIMIT else "within"
            low, high = path.quantile(torch.tensor([0.05, 0.95])).tolist()
            ends = float(word.strength(low)), float(word.strength(high))
            weight = weights[:, index].mean().item()
            rows.append(Invariance(word, verdict, float(word.strength(found)), ends, weight))
        return rows


def _learned(layer: AugmentationLayer) -> tuple[list[float], list[float]]:
    return layer.weights.tolist(), layer.magnitudes.tolist()
