"""Small networks for samples of any shape: the default trunk."""

import math

import torch
from torch import Tensor, nn

from augnet.trunks.registry import register_trunk

FRAMES = 32
"""Parts of the time in which the power of a signal is measured, at most."""


@register_trunk("small")
def default_trunk(shape: tuple[int, ...], outputs: int, width: int = 16) -> nn.Module:
    """Build a network for samples of a shape: images (C, H, W), signals (C, T), or values.

    The last features keep a coarse grid, because a class may depend on the place of something.
    """
    if len(shape) == 3 and min(shape[1:]) >= 8:
        return nn.Sequential(
            nn.Conv2d(shape[0], width, 5, stride=2, padding=2),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.Conv2d(2 * width, 2 * width, 3, padding=1),
            nn.BatchNorm2d(2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(4),
            nn.Flatten(),
            nn.Linear(32 * width, 4 * width),
            nn.ReLU(),
            nn.Linear(4 * width, outputs),
        )
    if len(shape) == 2 and shape[1] >= 32:
        return SignalNet(*shape, outputs, width)
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(math.prod(shape), 8 * width),
        nn.ReLU(),
        nn.Linear(8 * width, 8 * width),
        nn.ReLU(),
        nn.Linear(8 * width, outputs),
    )


class SignalNet(nn.Module):
    """Filters, followed by two paths: the shapes of their outputs, and how their power changes.

    The power of each filter in short frames is a learned spectrogram. Both paths end with features
    of four parts of the time.
    """

    def __init__(self, channels: int, times: int, outputs: int, width: int = 16) -> None:
        super().__init__()
        kernel = min(64, times // 4)
        self.filters = nn.Conv1d(channels, width, kernel, stride=4, padding=kernel // 2)
        self.shapes = nn.Sequential(
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, 2 * width, 9, stride=2, padding=4),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(4),
            nn.Flatten(),
        )
        self.frames = nn.AdaptiveAvgPool1d(min(FRAMES, times // 4))
        self.power = nn.Sequential(
            nn.BatchNorm1d(width),
            nn.Conv1d(width, 2 * width, 5, padding=2),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
            nn.Conv1d(2 * width, 2 * width, 5, padding=2),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(4),
            nn.Flatten(),
        )
        self.head = nn.Sequential(
            nn.Linear(16 * width, 4 * width), nn.ReLU(), nn.Linear(4 * width, outputs)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Predict."""
        passed = self.filters(x)
        power = (self.frames(passed.square()) + 1e-4).log()
        return self.head(torch.cat((self.shapes(passed), self.power(power)), dim=1))
