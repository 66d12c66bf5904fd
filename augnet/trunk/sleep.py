"""The sleep staging network of Chambon et al. 2018 (table A.3)."""

from torch import nn


class ChambonNet(nn.Sequential):
    """A spatial filter, two temporal convolutions and a linear layer, for windows (B, C, T).

    Layers, sizes and numbers of parameters are those of the paper's table, which has no bias in
    the spatial filter and in the last layer.
    """

    def __init__(self, channels: int, times: int, classes: int = 5, dropout: float = 0.5) -> None:
        if times < 256:
            raise ValueError(f"ChambonNet pools over 256 samples; windows have only {times}")

        def temporal(inputs: int) -> list[nn.Module]:
            # An even kernel cannot be centred: half a kernel before, the other half after.
            return [
                nn.ZeroPad2d((31, 32, 0, 0)),
                nn.Conv2d(inputs, 8, (1, 64)),
                nn.ReLU(),
                nn.MaxPool2d((1, 16)),
            ]

        super().__init__(
            nn.Conv1d(channels, channels, 1, bias=False),
            nn.Unflatten(1, (1, channels)),
            *temporal(1),
            *temporal(8),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(8 * channels * (times // 256), classes, bias=False),
        )
