"""The net at the end: the kept words composed, with ranges that are safe together."""

from collections.abc import Iterator, Sequence

import torch
from torch import Generator, nn

from augnet.augment import AugmentationLayer, AugmentationModule, identity
from augnet.learn.door import Data
from augnet.learn.found import Invariance, Row
from augnet.learn.profile import BATCH, one_cycle
from augnet.net import AugNet
from augnet.transforms import Multiplicative
from augnet.transforms.noise import permutation, uniform

FACTORS = (1.0, 0.8, 0.6, 0.4, 0.2, 0.1)
COPIES = 10
JOINT_TOLERANCE = 0.01
"""What error all words together may add to the least there is."""


class Composition:
    """Train an AugNet of one layer per kept word; all ranges share one factor.

    Words that are harmless one by one need not be together: two shears turn an image. So samples
    are first seen at all factors, and the largest is kept at which the error on samples that were
    not fitted is next to the least; the rest of the training uses that factor, and all samples.
    """

    def __init__(
        self,
        data: Data,
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
    ) -> None:
        self.data, self.generator = data, generator
        kept = [row for row in rows if row.verdict != "none"]
        self.ranges = [_magnitude(row) for row in kept]
        layers = [AugmentationLayer(row.word, magnitude=1.0) for row in kept]
        augment = AugmentationModule(layers).to(data.x.device, data.x.dtype) if kept else identity
        aggregate = "logits" if data.classes else "values"
        self.net = AugNet(augment, trunk, aggregate, copies=COPIES if kept else 1)
        self.factor = 1.0

    def fit(self, steps: int, first_epoch: int) -> Iterator[Row]:
        """Train; give one row per epoch."""
        search = steps // 2 if self.ranges else 0
        optimiser = torch.optim.AdamW(self.net.trunk.parameters(), lr=2e-3, weight_decay=1e-3)
        done, epoch = 0, first_epoch
        while done < steps:
            rows = self.data.fitted if done < search else torch.arange(len(self.data.x))
            rows = rows.to(self.data.x.device)
            order = rows[permutation(self.data.x, len(rows), self.generator)]
            batches = [part for part in order.split(BATCH) if len(part) > 1]
            total = self.data.x.new_zeros(())
            self.net.train()
            for part in batches:
                one_cycle(optimiser, 2e-3, done / steps)
                if done < search:
                    draw = uniform(self.data.x, (1,), self.generator).item()
                    self._set(FACTORS[int(draw * len(FACTORS))])
                elif done == search and search:
                    self.factor = self._largest()
                    self._set(self.factor)
                    self.net.train()
                loss = self.data.loss(
                    self.net(self.data.x[part], self.generator), self.data.y[part]
                )
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += loss.detach() / len(batches)
                done += 1
            yield {"phase": "net", "epoch": epoch, "loss": total.item(), "factor": self.factor}
            epoch += 1
        self.net.eval()

    def _set(self, factor: float) -> None:
        """Put all ranges at a part of what each may be alone; coins stay as they are."""
        if not isinstance(self.net.augment, AugmentationModule):
            return
        with torch.no_grad():
            for layer, (magnitude, coin) in zip(self.net.augment, self.ranges, strict=True):
                layer.raw_magnitudes.fill_(magnitude if coin else factor * magnitude)

    @torch.no_grad()
    def _largest(self) -> float:
        """Give the largest factor whose error on held-out samples is next to the least."""
        rows = self.data.held_out[:512]
        x, y = self.data.x[rows], self.data.y[rows]
        errors = []
        for factor in FACTORS:
            self._set(factor)
            output = self.net.eval()(x, self.generator)
            if self.data.classes:
                errors.append((output.argmax(1) != y).double().mean().item())
            else:
                errors.append(((output - y) / self.data.scale).square().mean().item())
        allowed = min(errors) + max(JOINT_TOLERANCE, 1.0 / len(rows))
        return next(f for f, error in zip(FACTORS, errors, strict=True) if error <= allowed)


def _magnitude(row: Invariance) -> tuple[float, bool]:
    """Give the magnitude of a strength, and whether it is a probability."""
    word = row.word
    if isinstance(word, Multiplicative):
        ratio = torch.tensor(row.strength).log() / torch.tensor(word.limit).log()
        return min(1.0, float(ratio)), False
    return min(1.0, row.strength / word.limit), word.unit == "probability"
