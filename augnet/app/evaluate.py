"""Evaluate a model on test samples: its score, and how invariant it is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor

from augnet.invariance import Summary, invariance, summary
from augnet.learn.result import Invariance
from augnet.model import Model
from augnet.net import AugNet

MAX_SAMPLES = 256
"""Invariance is measured on at most this many samples."""


@dataclass(frozen=True)
class Evaluation:
    """Scores and invariances on test samples."""

    count: int
    score: float
    """The accuracy, or the fraction of the variance of values that is explained."""
    score_without: float
    """The score of the trunk alone, without averaging over copies."""
    chance: float
    """The score of always predicting the most frequent class, or the mean."""
    confusion: Tensor | None
    """(K, K), a row per true class; None for regression."""
    invariances: dict[str, tuple[Summary, Summary]]
    """Per transform that is kept: of the averaged model, and of the trunk alone."""

    @property
    def values(self) -> dict[str, Any]:
        """The evaluation as plain values, for files."""
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
def evaluate(model: Model, x: Tensor, y: Tensor, seed: int = 0) -> Evaluation:
    """Evaluate a model on samples as they are read."""
    averaged = model.outputs(x, seed)
    net, classes = model.net, len(model.header.classes)
    alone = model.trunk_outputs(x)
    confusion, chance = None, 0.0
    if classes:
        pairs = y * classes + averaged.argmax(1)
        confusion = pairs.bincount(minlength=classes**2).reshape(classes, classes)
        chance = y.bincount().max().item() / len(y)
    some = model.prepare(x[:MAX_SAMPLES])
    kept = [row for row in model.invariances if row.kept and len(some) > 1]
    both = [(f, _outputs(f, some, seed)) for f in (net, net.trunk)] if kept else []
    scores = {}
    for row in kept:
        first, second = (_invariance(*each, row, some, seed, bool(classes)) for each in both)
        scores[row.transform.name] = first, second
    return Evaluation(len(x), score(averaged, y), score(alone, y), chance, confusion, scores)


def score(output: Tensor, y: Tensor) -> float:
    """Return the accuracy, or the fraction of the variance of values that is explained.

    Values that are all equal have no variance: 1 if the outputs are equal to them, else 0.
    """
    if not y.is_floating_point():
        return (output.argmax(1) == y).double().mean().item()
    if bool((y == y[:1]).all()):
        return float(torch.equal(output.reshape(y.shape).to(y.dtype), y))
    error = (output.reshape(y.shape) - y).double().square().mean()
    return 1 - (error / y.double().var(0, correction=0).mean()).item()


def _invariance(
    f: Callable[..., Tensor], output: Tensor, row: Invariance, x: Tensor, seed: int, classes: bool
) -> Summary:
    """Measure the invariance of a function to a transform at its strength.

    `output` is the output for `x`.
    """
    strength, generator = row.magnitude, Generator().manual_seed(seed)
    distance = {} if classes else {"distance": lambda a, b: (a - b).abs().flatten(1).mean(1)}

    def model(given: Tensor) -> Tensor:
        return output if given is x else _outputs(f, given, seed)

    def transform(x: Tensor) -> Tensor:
        return row.transform(x, strength, generator)

    return summary(invariance(model, transform, x, generator, **distance))


def _outputs(f: Callable[..., Tensor], x: Tensor, seed: int) -> Tensor:
    """Return the outputs of a net, always with the same params, or of a trunk."""
    output = f(x, Generator().manual_seed(seed)) if isinstance(f, AugNet) else f(x)
    return output.reshape(len(x), -1)
