"""Small tasks, and networks that follow a rule instead of being trained, for the tests of learn."""

import sys
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Generator, nn

from augnet.learn import LearnConfig
from augnet.learn.decide import Measured
from augnet.learn.evaluate import Evaluator
from augnet.learn.inputs import prepare_data, prepare_trunk
from augnet.learn.reference import Reference
from augnet.learn.result import Invariance
from augnet.transforms import Bernoulli, Signed, build_transforms, spread


def generator(seed=0):
    return Generator().manual_seed(seed)


def levels(size=160, seed=0):
    """Two levels, 1 and 4 give or take 5 %: a factor of 2 either way, less the spread, is safe."""
    draws = generator(seed)
    y = torch.randperm(size, generator=draws) % 2
    level = 4.0**y * 1.05 ** (2 * torch.rand(size, generator=draws) - 1)
    return level[:, None] * (1 + 0.02 * torch.randn(size, 4, generator=draws)), y


SPECS = ({"name": "amplitude_scale", "limit": 8.0}, "sign_flip")


def signs(size=80):
    """Two levels, 1 and -1: a sign flip exchanges the classes."""
    y = torch.arange(size) % 2
    return 2.0 * y[:, None] - 1 + 0.2 * torch.randn(size, 3, generator=generator()), y


def few(size=80):
    """Vectors whose class is the size of their first number; quick to train."""
    x = torch.randn(size, 3, generator=generator())
    return x, (x[:, 0].abs() > 0.7).long()


@dataclass(frozen=True)
class Shift(Signed):
    """Add a number to each sample, the same to all of its values."""

    limit: float = 1.0
    name: ClassVar[str] = "shift"
    unit: ClassVar[str] = "levels"

    def transform(self, x, strength):
        """Add the strength."""
        return x + spread(strength, x)


class Rule(nn.Module):
    """Predict the second of two classes by a function of the samples."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, x):
        """Predict scores of two classes."""
        second = self.rule(x).float()
        return torch.stack((1 - second, second), 1)


class Value(nn.Module):
    """Predict a value by a function of the samples."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, x):
        """Predict a value per sample."""
        return self.rule(x)


class Clock:
    """A clock that only training steps and evaluations of learn move."""

    def __init__(self, monkeypatch, step=1.0, evaluation=0.0):
        self.now = 100.0
        for name in ("monotonic", "time"):
            monkeypatch.setattr(f"time.{name}", lambda: self.now)
        for name in ("reference", "control", "branch", "net"):
            module = sys.modules[f"augnet.learn.{name}"]
            monkeypatch.setattr(module, "descend", self._slow(module.descend, step))
        monkeypatch.setattr(Evaluator, "outputs", self._slow(Evaluator.outputs, evaluation))

    def _slow(self, function, seconds):
        def called(*given, **more):
            self.now += seconds
            return function(*given, **more)

        return called


def measured(x, y, network, transform, tolerance=0.01, seed=0):
    """Return a network that is measured with a transform on half of the samples."""
    data = prepare_data(x, y, generator())
    evaluator = Evaluator(data, LearnConfig().max_class_weight)
    rows = data.held_out
    rest = evaluator.errors(evaluator.outputs(network, data.x[rows]), rows)
    return Measured(evaluator, network, transform, rows, rest, rest, tolerance, generator(seed))


def trained_reference(x, y, config):
    """Train a reference."""
    torch.manual_seed(0)
    data = prepare_data(x, y, generator(), config)
    reference = Reference(data, prepare_trunk(config.search_trunk, data), generator(), config)
    list(reference.fit())
    return reference


def kept(*names, fraction=1.0):
    """Return rows of transforms that preserve the label up to a fraction of their limits."""
    rows = []
    for each in build_transforms(names):
        end = each.limit if isinstance(each, Bernoulli) else float(each.strength(fraction))
        rows.append(Invariance(each, "bounded", end, (end, end)))
    return rows
