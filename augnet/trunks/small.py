"""A small network for samples of any shape: it measures the ranges of `learn`."""

import math

import torch
from torch import Tensor, nn

from augnet.trunks.pooling import GridPool, MaxPool2, TimePool
from augnet.trunks.registry import register_trunk

SIDE = 32
"""Larger images are reduced to about this side by the first convolution."""
FRAMES = 32
"""Parts of the time in which the power of a signal is measured, at most."""


@register_trunk("small")
def small_trunk(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Build a fast network for images (C, H, W), signals (C, T), or values.

    The last features keep a coarse grid, because a class may depend on the place of something.
    """
    if is_image(shape):
        return image_net(shape, outputs, width=8, pool_first=True)
    if is_signal(shape):
        return SignalNet(shape[0], shape[1], outputs)
    return value_net(shape, outputs)


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether samples are images that are large enough to be filtered."""
    return len(shape) == 3 and min(shape[1:]) >= 8


def is_signal(shape: tuple[int, ...]) -> bool:
    """Whether samples are signals that are long enough to be filtered."""
    return len(shape) == 2 and shape[1] >= 32


def image_net(
    shape: tuple[int, ...], outputs: int, width: int, pool_first: bool = False
) -> nn.Sequential:
    """Build three convolutions; the first two are pooled if the image is large enough.

    With `pool_first` they are pooled before they are normalized, which saves time.
    """
    side = min(shape[1:])
    stride = max(1, round(side / SIDE))
    side //= stride

    def convolution(inputs: int, filters: int, size: int, step: int, pooled: bool) -> nn.Module:
        filtered = nn.Conv2d(inputs, filters, size, step, padding=size // 2, bias=False)
        after: list[nn.Module] = [nn.BatchNorm2d(filters), nn.ReLU()]
        pool: list[nn.Module] = [MaxPool2()] if pooled else []
        return nn.Sequential(filtered, *(pool + after if pool_first else after + pool))

    return nn.Sequential(
        convolution(shape[0], width, 2 * stride + 1, stride, side >= 16),
        convolution(width, 2 * width, 3, 1, side >= 12),
        convolution(2 * width, 4 * width, 3, 1, False),
        GridPool(4),
        nn.Flatten(),
        nn.Linear(64 * width, 64),
        nn.ReLU(),
        nn.Linear(64, outputs),
    )


def value_net(shape: tuple[int, ...], outputs: int, width: int = 128) -> nn.Sequential:
    """Build a perceptron with two hidden layers; values may have any scale."""
    inputs = math.prod(shape)
    return nn.Sequential(
        nn.Flatten(),
        nn.BatchNorm1d(inputs),
        nn.Linear(inputs, width),
        nn.ReLU(),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, outputs),
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
            TimePool(4),
            nn.Flatten(),
        )
        self.frames = TimePool(min(FRAMES, times // 4))
        self.power = nn.Sequential(
            nn.BatchNorm1d(width),
            nn.Conv1d(width, 2 * width, 5, padding=2),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
            nn.Conv1d(2 * width, 2 * width, 5, padding=2),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
            TimePool(4),
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
