"""Reward strong transforms in the loss (eq. 3), by a weight that may change over epochs.

    loss = task + weight * regularizer(net.augment, x, generator)

A regularizer is a frozen dataclass with that one signature. To add one, write a subclass of
`Regularizer` and decorate it with `register_regularizer`.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, TypeVar

import torch
from torch import Generator, Tensor, nn

from augnet.layers import Augerino, AugmentationLayer
from augnet.transforms import Bernoulli
from augnet.transforms.noise import derangement

R = TypeVar("R", bound="type[Regularizer]")


class Regularizer(ABC):
    """Compute a scalar that is lower the stronger the transforms of an augmentation are."""

    name: ClassVar[str]
    """The key in `REGULARIZERS`."""
    accepts: ClassVar[tuple[type[nn.Module], ...]] = (AugmentationLayer,)
    """The modules that it reads; others in the same augmentation are skipped."""

    @abstractmethod
    def __call__(
        self, augment: nn.Module, x: Tensor | None = None, generator: Generator | None = None
    ) -> Tensor:
        """Return the value for an augmentation and a batch, with gradients."""

    def read(self, augment: object) -> list[Any]:
        """Return the modules to read; raise TypeError if the augmentation has none."""
        modules = list(augment.modules()) if isinstance(augment, nn.Module) else []
        found = [module for module in modules if isinstance(module, self.accepts)]
        if not found:
            wanted = " or ".join(kind.__name__ for kind in self.accepts)
            given = getattr(augment, "__name__", type(augment).__name__)
            others = [
                name
                for name, other in REGULARIZERS.items()
                if any(isinstance(module, other.accepts) for module in modules)
            ]
            fix = f"use {' or '.join(others)}" if others else "use no regularizer with it"
            raise TypeError(f"{self.name} reads {wanted}; {given} has none: {fix}")
        return found

    def require_data(self, x: Tensor | None) -> Tensor:
        """Return the batch; raise TypeError if it was left out."""
        if x is None:
            raise TypeError(
                f"{self.name} measures how far transforms move the data; got no x: "
                "call it with a batch, regularizer(net.augment, x)"
            )
        return x


REGULARIZERS: dict[str, type[Regularizer]] = {}


def register_regularizer(cls: R) -> R:
    """Add a regularizer to `REGULARIZERS` under its `name`; use it as a class decorator."""
    if not isinstance(getattr(cls, "name", None), str):
        raise TypeError(f"{cls.__name__} has no name: add name: ClassVar[str] = ...")
    holder = REGULARIZERS.get(cls.name, cls)
    if (holder.__module__, holder.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(
            f"{cls.name!r} is the name of {holder.__module__}.{holder.__qualname__} already: "
            "choose another"
        )
    REGULARIZERS[cls.name] = cls
    return cls


@register_regularizer
@dataclass(frozen=True)
class WeightedNorm(Regularizer):
    """Reward strong transforms that have weight: −‖w ⊙ μ‖₂ (section 3.4).

    All layers share one norm. The product keeps the net from putting all weight on a transform of
    magnitude 0, and makes each layer select one transform.
    """

    name: ClassVar[str] = "weighted_norm"

    def __call__(
        self, augment: nn.Module, x: Tensor | None = None, generator: Generator | None = None
    ) -> Tensor:
        """Return −‖w ⊙ μ‖₂; the batch is not used."""
        layers = self.read(augment)
        return weighted_norm(_weights(layers), _magnitudes(layers))


@register_regularizer
@dataclass(frozen=True)
class MagnitudeNorm(Regularizer):
    """Reward strong transforms, whatever their weights: −‖μ‖₂ (Augerino's, section 3.4)."""

    name: ClassVar[str] = "magnitude_norm"
    accepts: ClassVar[tuple[type[nn.Module], ...]] = (AugmentationLayer, Augerino)

    def __call__(
        self, augment: nn.Module, x: Tensor | None = None, generator: Generator | None = None
    ) -> Tensor:
        """Return −‖μ‖₂; the batch is not used."""
        return _minus_norm(_magnitudes(self.read(augment)))


@register_regularizer
@dataclass(frozen=True)
class DataSpaceNorm(Regularizer):
    """Let transforms compete for weight by how far they move the data: −‖w ⊙ d‖ − ‖w ⊙ μ‖.

    d is the `displacement` of each transform. The first term has gradients in w only, the second
    in μ only: each magnitude grows in its own range.
    """

    name: ClassVar[str] = "data_space_norm"

    def __call__(
        self, augment: nn.Module, x: Tensor | None = None, generator: Generator | None = None
    ) -> Tensor:
        """Return −‖w ⊙ stop(d)‖₂ − ‖stop(w) ⊙ μ‖₂."""
        layers, x = self.read(augment), self.require_data(x)
        weights = _weights(layers)
        moved = torch.cat([displacement(layer, x, generator) for layer in layers])
        return weighted_norm(weights, moved) + weighted_norm(weights.detach(), _magnitudes(layers))


@dataclass(frozen=True)
class _Displacement(Regularizer):
    """Measure Σ w d(μ) of each layer, with gradients in w and μ.

    d is the mean distance between a sample and its view, as a fraction of that between two
    samples; for a Bernoulli transform it is the exact expectation.
    """

    samples: int = 32
    """How many samples of the batch are transformed."""
    min_magnitude: float = 0.02
    """Smaller magnitudes get the gradient here, because a distance has none at magnitude 0."""

    def per_layer(
        self, augment: nn.Module, x: Tensor | None, generator: Generator | None
    ) -> Tensor:
        """Return Σ w d(μ), one value per layer; 0 for a single sample, which has no distance."""
        layers, x = self.read(augment), self.require_data(x)[: self.samples]
        if len(x) == 1:
            return x.new_zeros(len(layers))
        between = _distance(x, x[derangement(x, len(x), generator)])
        moved = torch.stack([self._moved(layer, x, generator) for layer in layers])
        return moved / between.clamp(min=1e-6)

    def _moved(self, layer: AugmentationLayer, x: Tensor, generator: Generator | None) -> Tensor:
        layer.check(x)
        total = x.new_zeros(())
        transforms = zip(layer.transforms, layer.weights, layer.magnitudes, strict=True)
        for transform, weight, magnitude in transforms:
            if isinstance(transform, Bernoulli):
                moved = transform.strength(magnitude) * _distance(transform.transform(x), x)
            else:
                raised = magnitude + (self.min_magnitude - magnitude.detach()).clamp(min=0)
                params = transform.sample_params(x.shape, x, generator)
                moved = _distance(transform.apply(x, raised, params), x)
            total = total + weight * moved
        return total


@register_regularizer
@dataclass(frozen=True)
class MeanDisplacement(_Displacement):
    """Reward each transform by how far it moves the data: −Σ w d(μ).

    A transform grows until moving samples a little farther costs more than it is worth, so the
    unit of its magnitude does not matter. For layers of one transform each.
    """

    name: ClassVar[str] = "mean_displacement"

    def __call__(
        self, augment: nn.Module, x: Tensor | None = None, generator: Generator | None = None
    ) -> Tensor:
        """Return −Σ w d(μ) over all transforms of all layers."""
        return -self.per_layer(augment, x, generator).sum()


@register_regularizer
@dataclass(frozen=True)
class LogDisplacement(_Displacement):
    """Allow each layer the same cost: −Σ log Σ w d(μ), a sum over layers.

    A transform whose cost is proportional to how far it moves the data grows until it costs λ, the
    weight of the regularizer, in units of the loss. One that costs less goes to its limit. No
    transform displaces another, and none goes to 0.
    """

    offset: float = 0.01
    """Added before the logarithm, so that its slope is finite where nothing moves the data."""
    name: ClassVar[str] = "log_displacement"

    def __call__(
        self, augment: nn.Module, x: Tensor | None = None, generator: Generator | None = None
    ) -> Tensor:
        """Return −Σ log(Σ w d(μ) + offset) over all layers."""
        return -(self.per_layer(augment, x, generator) + self.offset).log().sum()


def weighted_norm(weights: Tensor, magnitudes: Tensor) -> Tensor:
    """Return −‖w ⊙ μ‖₂ of two vectors."""
    return _minus_norm(weights * magnitudes)


@torch.no_grad()
def displacement(layer: AugmentationLayer, x: Tensor, generator: Generator | None = None) -> Tensor:
    """Measure how far each transform moves a batch, as a fraction of the distance between samples.

    Magnitudes of different transforms have no common unit; this is one, in the space of the data.
    The result is 0 for all transforms where samples do not differ, or where there is only one.
    """
    layer.check(x)
    if x.shape[0] == 1:
        return torch.zeros_like(layer.logits)
    views = [
        transform.apply(x, magnitude, transform.sample_params(x.shape, x, generator))
        for transform, magnitude in zip(layer.transforms, layer.magnitudes, strict=True)
    ]
    others = x[derangement(x, len(x), generator)]
    moved = torch.stack([(view - x).square().mean().sqrt() for view in views])
    between = (others - x).square().mean().sqrt()
    return torch.where(between > 0, moved / between, 0.0)


def _weights(layers: Sequence[AugmentationLayer]) -> Tensor:
    return torch.cat([layer.weights for layer in layers])


def _magnitudes(layers: Sequence[AugmentationLayer | Augerino]) -> Tensor:
    return torch.cat([layer.magnitudes for layer in layers])


def _minus_norm(values: Tensor) -> Tensor:
    # A norm has no gradient at zero, where magnitudes may start. The shift makes all of them grow
    # alike from there, and is too small to matter anywhere else.
    return -(values + 1e-12).norm()


def _distance(first: Tensor, second: Tensor) -> Tensor:
    # A view may equal its sample, where a norm has no gradient: the shift makes it 0.
    return ((first - second).square().flatten(1).mean(1) + 1e-12).sqrt().mean()


@dataclass(frozen=True)
class Schedule:
    """A number that changes at given epochs: `Schedule([[0, 0.5], [40, 0.05]])(epoch)`.

    One number is a schedule that never changes.
    """

    steps: tuple[tuple[int, float], ...]

    def __init__(self, steps: float | Sequence[Sequence[float]]) -> None:
        pairs: Any = [(0, steps)] if isinstance(steps, Real) else steps
        try:
            mine = tuple((int(epoch), float(value)) for epoch, value in pairs)
            epochs = [epoch for epoch, _ in mine]
            whole = epochs == [epoch for epoch, _ in pairs]
        except (TypeError, ValueError):
            mine, epochs, whole = (), [], False
        if not mine or not whole or epochs[0] != 0 or any(a >= b for a, b in pairwise(epochs)):
            raise ValueError(
                "a schedule is a number or [[epoch, value], ...], whole epochs that start at 0 and "
                f"increase; got {steps}"
            )
        object.__setattr__(self, "steps", mine)

    def __call__(self, epoch: int) -> float:
        """Return the value at an epoch."""
        if epoch < 0:
            raise ValueError(f"epochs count from 0; got {epoch}")
        return self.steps[bisect_right(self.steps, epoch, key=lambda step: step[0]) - 1][1]
