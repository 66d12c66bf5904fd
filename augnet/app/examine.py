"""How well a model does on samples that it was not learned from, and how invariant it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from augnet.invariance import Summary, invariance, summary
from augnet.learn.result import Invariance
from augnet.model import Model
from augnet.net import AugNet

SCORED = 256
"""Samples that invariance is measured on, at most."""


@dataclass(frozen=True)
class Examined:
    """What was measured on the samples set aside."""

    count: int
    score: float
    """Accuracy, or for values the part of their variance that is explained."""
    score_without: float
    """The same for the trunk alone, without copies."""
    chance: float
    """The score of who always gives the most frequent class, or the mean."""
    confusion: Tensor | None
    """(K, K), rows being the truth; for classes."""
    invariances: dict[str, tuple[Summary, Summary]]
    """Per kept transform: of the averaged model, and of the trunk alone."""

    @property
    def table(self) -> dict[str, Any]:
        """What goes into files."""
        return {
            "samples": self.count,
            "score": self.score,
            "score_without_averaging": self.score_without,
            "chance": self.chance,
            "confusion": None if self.confusion is None else self.confusion.tolist(),
            "invariance": {
                transform: {"averaged": both[0]._asdict(), "trunk": both[1]._asdict()}
                for transform, both in self.invariances.items()
            },
        }


@torch.no_grad()
def examine(model: Model, x: Tensor, y: Tensor, seed: int = 0) -> Examined:
    """Measure a model on samples as they were read."""
    averaged = model.outputs(x, seed)
    net, classes = model.net, len(model.header.classes)
    alone = torch.cat([net.trunk(model.prepare(part)) for part in x.split(256)])
    confusion, chance = None, 0.0
    if classes:
        pairs = y * classes + averaged.argmax(1)
        confusion = pairs.bincount(minlength=classes**2).reshape(classes, classes)
        chance = y.bincount().max().item() / len(y)
    some = model.prepare(x[:SCORED])
    kept = [row for row in model.invariances if row.kept and len(some) > 1]
    both = [(f, _answer(f, some, seed)) for f in (net, net.trunk)] if kept else []
    scores = {}
    for row in kept:
        first, second = (_invariance(*each, row, some, seed, bool(classes)) for each in both)
        scores[row.transform.name] = first, second
    return Examined(len(x), score(averaged, y), score(alone, y), chance, confusion, scores)


def score(output: Tensor, y: Tensor) -> float:
    """Give the accuracy, or the part of the variance of values that is explained.

    Values that are all alike have no variance: 1 for who gives just them, or else 0.
    """
    if not y.is_floating_point():
        return (output.argmax(1) == y).double().mean().item()
    if bool((y == y[:1]).all()):
        return float(torch.equal(output.reshape(y.shape).to(y.dtype), y))
    error = (output.reshape(y.shape) - y).double().square().mean()
    return 1 - (error / y.double().var(0, correction=0).mean()).item()


def _invariance(
    f: Callable[..., Tensor], here: Tensor, row: Invariance, x: Tensor, seed: int, classes: bool
) -> Summary:
    """Score how far a function's output stays where it is, under a transform at the range found."""
    how_far, dice = row.magnitude, Generator().manual_seed(seed)
    distance = {} if classes else {"distance": lambda a, b: (a - b).abs().flatten(1).mean(1)}

    def model(given: Tensor) -> Tensor:
        return here if given is x else _answer(f, given, seed)

    return summary(
        invariance(model, lambda x: row.transform(x, how_far, dice), x, dice, **distance)
    )


def _answer(f: Callable[..., Tensor], x: Tensor, seed: int) -> Tensor:
    """Ask a net, always with the same dice, or a trunk."""
    output = f(x, Generator().manual_seed(seed)) if isinstance(f, AugNet) else f(x)
    return output.reshape(len(x), -1)
