"""What is taken out of a model: which transforms, how far, how often."""

from typing import Any, NamedTuple

from augnet.layers import AugmentationModule
from augnet.transforms import Transform

LEAST = 0.01
"""Transforms with a smaller share of the copies are left out."""


class Step(NamedTuple):
    """A transform of a layer."""

    transform: Transform
    magnitude: float
    share: float
    """The part of the samples that get this transform; the others get another one of the layer."""

    @property
    def strength(self) -> float:
        """How far it goes, in the unit of the transform."""
        return float(self.transform.strength(self.magnitude))

    @property
    def says(self) -> str:
        """The transform in our own terms."""
        return f"{self.transform.name} {self.transform.describe(self.magnitude)}"


def steps(augment: Any) -> list[list[Step]]:
    """Give the transforms of each layer, in order; no layers for the identity."""
    if not isinstance(augment, AugmentationModule):
        return []
    found = []
    for layer in augment:
        rows = zip(layer.transforms, layer.magnitudes.tolist(), layer.weights.tolist(), strict=True)
        kept = [Step(*row) for row in rows if row[2] >= LEAST]
        total = sum(step.share for step in kept)
        found.append([step._replace(share=step.share / total) for step in kept])
    return found
