"""What is known about each transform of a network at one moment."""

from dataclasses import dataclass

from torch import nn

from augnet.layers.augerino import Augerino
from augnet.layers.layer import AugmentationLayer


@dataclass(frozen=True)
class TransformState:
    """Weight, magnitude and strength of one transform in one layer; one record per epoch."""

    layer: int
    """Counted from 1."""
    name: str
    weight: float | None
    """None where nothing is weighted: in Augerino."""
    magnitude: float
    """For Augerino the width of the uniform distribution."""
    strength: float
    """In `unit`; for Augerino the width again."""
    unit: str = ""


def transform_states(net: nn.Module) -> list[TransformState]:
    """List the states of all transforms of all layers, or of Augerino's generators."""
    states = []
    layers = [m for m in net.modules() if isinstance(m, AugmentationLayer | Augerino)]
    for number, layer in enumerate(layers, start=1):
        if isinstance(layer, Augerino):
            states += [
                TransformState(number, name, None, width, width)
                for name, width in zip(layer.names, layer.widths.tolist(), strict=True)
            ]
            continue
        weights, magnitudes = layer.weights.tolist(), layer.magnitudes.tolist()
        for transform, weight, magnitude in zip(layer.transforms, weights, magnitudes, strict=True):
            strength = float(transform.strength(magnitude))
            states.append(
                TransformState(number, transform.name, weight, magnitude, strength, transform.unit)
            )
    return states
