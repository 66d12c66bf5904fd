"""The networks of the sinusoids (table A.2) and of the capacity study (section 4.3)."""

from itertools import pairwise

from torch import nn


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


class MLP(nn.Sequential):
    """A perceptron of `layers` hidden layers of `neurons` each, on inputs of any shape."""

    def __init__(self, inputs: int, neurons: int, layers: int, classes: int = 4) -> None:
        sizes = [inputs, *[neurons] * layers]
        hidden = [part for a, b in pairwise(sizes) for part in (nn.Linear(a, b), nn.ReLU())]
        super().__init__(nn.Flatten(), *hidden, nn.Linear(sizes[-1], classes))
