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


def weighted_norm(weights: Tensor, magnitudes: Tensor) -> Tensor:
    """Return −‖w ⊙ μ‖₂ of two vectors."""
    return _minus_norm(weights * magnitudes)


def _weights(layers: Sequence[AugmentationLayer]) -> Tensor:
    return torch.cat([layer.weights for layer in layers])


def _magnitudes(layers: Sequence[AugmentationLayer | Augerino]) -> Tensor:
    return torch.cat([layer.magnitudes for layer in layers])


def _minus_norm(values: Tensor) -> Tensor:
    # A norm has no gradient at zero, where magnitudes may start. The shift makes all of them grow
    # alike from there, and is too small to matter anywhere else.
    return -(values + 1e-12).norm()


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
