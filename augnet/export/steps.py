"""The transforms of an augmentation, with magnitudes and weights."""

from itertools import groupby
from typing import Any, NamedTuple

from augnet.layers import AugmentationModule
from augnet.transforms import Transform

MIN_WEIGHT = 0.01
"""Transforms with a smaller weight are omitted."""
MIN_MAGNITUDE = 1e-4
"""Transforms with a smaller magnitude do nothing."""


class Step(NamedTuple):
    """A transform of a layer."""

    transform: Transform
    magnitude: float
    weight: float
    """The fraction of samples that get this transform; the others get another one of the layer."""

    @property
    def is_identity(self) -> bool:
        """Whether samples that get this step stay as they are."""
        return self.transform.name == "identity" or self.magnitude < MIN_MAGNITUDE

    @property
    def strength(self) -> float:
        """The strength in the unit of the transform."""
        return float(self.transform.strength(self.magnitude))

    @property
    def description(self) -> str:
        """The name and strength of the transform."""
        if self.is_identity:
            return "no transform"
        return f"{self.transform.name} {self.transform.describe(self.magnitude)}"


class Layer(NamedTuple):
    """Steps of which each sample gets one, drawn by the weights, `times` times in sequence."""

    steps: tuple[Step, ...]
    times: int = 1

    @property
    def is_uniform(self) -> bool:
        """Whether all steps have the same weight."""
        weights = [step.weight for step in self.steps]
        return max(weights) - min(weights) < 1e-6


def layers(augment: Any) -> list[Layer]:
    """Return the layers of an augmentation, in order; none for the identity.

    Equal layers in sequence become one. Layers that leave all samples as they are are omitted.
    """
    if not isinstance(augment, AugmentationModule):
        return []
    found = [_steps(layer) for layer in augment]
    effective = [steps for steps in found if not all(step.is_identity for step in steps)]
    equal = [list(same) for _, same in groupby(effective, key=_rounded)]
    return [Layer(same[0], len(same)) for same in equal]


def transforms(augment: Any) -> list[Step]:
    """Return each transform of an augmentation once, without those that do nothing."""
    every = (step for layer in layers(augment) for step in layer.steps if not step.is_identity)
    return list({step.description: step for step in every}.values())


def _steps(layer: Any) -> tuple[Step, ...]:
    rows = zip(layer.transforms, layer.magnitudes.tolist(), layer.weights.tolist(), strict=True)
    kept = [Step(*row) for row in rows if row[2] >= MIN_WEIGHT]
    total = sum(step.weight for step in kept)
    return tuple(step._replace(weight=step.weight / total) for step in kept)


def _rounded(steps: tuple[Step, ...]) -> list[tuple[Transform, float, float]]:
    """Return what equal layers have in common: magnitudes are stored as rounded numbers."""
    return [(step.transform, round(step.magnitude, 5), round(step.weight, 5)) for step in steps]
