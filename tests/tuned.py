"""Transforms whose strength shows, and trainings, for the tests of RangeTuner."""

from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augnet import AugmentationLayer, AugmentationModule, AugNet, RangeTuner
from augnet.transforms import (
    Bernoulli,
    Rotate,
    Signed,
    Transform,
    Unsigned,
    per_sample,
    spread,
)


@dataclass(frozen=True)
class Add(Signed):
    """Add the strength, so that a view shows it."""

    limit: float = 8.0
    unit: ClassVar[str] = "added"

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:  # noqa: D102
        return x + spread(strength, x)


@dataclass(frozen=True)
class Lift(Unsigned):
    """Add the strength, which is positive."""

    limit: float = 8.0
    unit: ClassVar[str] = "added"

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:  # noqa: D102
        return x + spread(strength, x)


@dataclass(frozen=True)
class Scatter(Transform):
    """Add the strength to one of the values: a transform with params that are no strength."""

    limit: float = 8.0
    unit: ClassVar[str] = "added"

    def sample_params(self, shape, like, generator=None):  # noqa: D102
        return torch.randint(shape[1], shape[:1], generator=generator, device=like.device)

    def apply(self, x, magnitude, params):  # noqa: D102
        strength = self.strength(per_sample(magnitude, x))
        return x + F.one_hot(params, x.shape[1]) * strength[:, None]


@dataclass(frozen=True)
class Negate(Bernoulli):
    """Subtract 1000."""

    def transform(self, x: Tensor) -> Tensor:  # noqa: D102
        return x - 1000


def tuned(*transforms, size=64, **settings):
    layer = AugmentationLayer(*transforms)
    return layer, RangeTuner(layer, **settings)


def scripted(tuner, x, costs, base=1.0):
    """Make one step in which samples at the edge of a transform cost what it should."""
    tuner.augment(x)
    losses = torch.full((len(x),), base)
    for layer, layer_costs in zip(tuner.layers, costs, strict=True):
        every = torch.tensor([*layer_costs, 0.0])
        losses += torch.where(layer.choice.edge, every[layer.choice.transform], 0.0)
    tuner.step(losses)


def bars(size=512):
    """Make vertical and horizontal bars, each rotated by up to 15 degrees."""
    bar = torch.zeros(1, 25, 25)
    bar[:, 4:-4, 11:14] = 1
    y = torch.randint(2, (size,))
    return Rotate(limit=15)(torch.where(y[:, None, None, None] == 0, bar, bar.mT)), y


def bar_net(*transforms):
    trunk = nn.Sequential(
        nn.Conv2d(1, 8, 7, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 2),
    )  # fmt: skip
    return AugNet(AugmentationModule(AugmentationLayer(*transforms)), trunk)


def train(net, tuner, optimizer, x, y, steps, generator):
    for _ in range(steps):
        rows = torch.randint(len(x), (48,), generator=generator)
        losses = F.cross_entropy(net(x[rows], generator), y[rows], reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        tuner.step(losses)
