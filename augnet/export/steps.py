"""The transforms of an augmentation, with magnitudes and weights."""

from typing import Any, NamedTuple

from augnet.layers import AugmentationModule
from augnet.transforms import Transform

MIN_WEIGHT = 0.01
"""Transforms with a smaller weight are omitted."""


class Step(NamedTuple):
    """A transform of a layer."""

    transform: Transform
    magnitude: float
    weight: float
    """The fraction of samples that get this transform; the others get another one of the layer."""

    @property
    def strength(self) -> float:
        """The strength in the unit of the transform."""
        return float(self.transform.strength(self.magnitude))

    @property
    def description(self) -> str:
        """The name and strength of the transform."""
        return f"{self.transform.name} {self.transform.describe(self.magnitude)}"


def steps(augment: Any) -> list[list[Step]]:
    """Return the transforms of each layer, in order; no layers for the identity."""
    if not isinstance(augment, AugmentationModule):
        return []
    found = []
    for layer in augment:
        rows = zip(layer.transforms, layer.magnitudes.tolist(), layer.weights.tolist(), strict=True)
        kept = [Step(*row) for row in rows if row[2] >= MIN_WEIGHT]
        total = sum(step.weight for step in kept)
        found.append([step._replace(weight=step.weight / total) for step in kept])
    return found
