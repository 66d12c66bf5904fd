"""The networks of the sinusoids (table A.2) and of the capacity study (section 4.3)."""

from itertools import pairwise
from math import prod
from typing import Any

from torch import nn

from augnet.trunks.registry import Shape, expect, register_trunk


def derive_cnn(shape: Shape, outputs: int) -> dict[str, Any]:
    """Return the arguments of SinusoidCNN for signals."""
    fits = len(shape) == 2 and shape[1] >= 6
    expect("sinusoid_cnn", fits, "signals (C, T) of at least 6 samples", shape)
    return {"classes": outputs, "channels": shape[0]}


def derive_mlp(shape: Shape, outputs: int) -> dict[str, Any]:
    """Return the arguments of MLP for samples of any shape."""
    return {"inputs": prod(shape), "neurons": 128, "layers": 2, "classes": outputs}


@register_trunk("sinusoid_cnn", derive_cnn)
class SinusoidCNN(nn.Sequential):
    """Two convolutions and a linear layer on the mean over time, for signals (B, C, T).

    The table has `width` 2 and `kernel` 3; the authors' code has a first kernel of 100 samples,
    as one period of the slowest wave takes.
    """

    def __init__(
        self, classes: int = 4, channels: int = 1, width: int = 2, kernel: int = 3
    ) -> None:
        super().__init__(
            nn.Conv1d(channels, width, kernel),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, width, 3),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.AdaptiveAvgPool1d(1),
            nn.Flatten(),
            nn.Linear(width, classes),
        )


@register_trunk("mlp", derive_mlp)
class MLP(nn.Sequential):
    """A perceptron of `layers` hidden layers of `neurons` each, on inputs of any shape."""

    def __init__(self, inputs: int, neurons: int, layers: int, classes: int = 4) -> None:
        sizes = [inputs, *[neurons] * layers]
        hidden = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
        super().__init__(nn.Flatten(), *hidden, nn.Linear(sizes[-1], classes))
