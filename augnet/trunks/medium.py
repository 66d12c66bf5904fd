"""A network for samples of any shape that is more accurate than the small one: that of nets."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augnet.trunks.pooling import TimePool
from augnet.trunks.registry import register_trunk
from augnet.trunks.small import FRAMES, image_net, is_image, is_signal, value_net

FLOOR = 1e-2
"""The power that counts as silence, for signals of variance 1."""


@register_trunk("medium")
def medium_trunk(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Build a more accurate network for the same samples, three times as slow for images."""
    if is_image(shape):
        return image_net(shape, outputs, width=16)
    if is_signal(shape):
        return SpectrogramNet(shape[0], shape[1], outputs)
    return value_net(shape, outputs)


class Spectrogram(nn.Module):
    """The logarithm of the power of signals (N, C, T) in bands and frames: (N, bands, frames)."""

    basis: Tensor

    def __init__(self, channels: int, times: int) -> None:
        super().__init__()
        self.size = 2 ** max(4, min(7, int(math.log2(times / 16))))
        self.channels, self.bands = channels, self.size // 2 + 1
        self.pool = TimePool(min(FRAMES, 2 * times // self.size))
        turns = torch.outer(torch.arange(self.bands), torch.arange(self.size)) / self.size
        waves = torch.cat(((2 * math.pi * turns).cos(), (2 * math.pi * turns).sin()))
        basis = waves * torch.hann_window(self.size) / math.sqrt(self.size)
        basis = basis[:, None].repeat(channels, 1, 1)
        self.register_buffer("basis", basis, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Measure the power."""
        half = self.size // 2
        parts = F.conv1d(x, self.basis, stride=half, padding=half, groups=self.channels)
        power = parts.unflatten(1, (self.channels, 2, self.bands)).square().sum(2).flatten(1, 2)
        return (self.pool(power) + FLOOR).log()


class SpectrogramNet(nn.Module):
    """Two paths: the shapes of a signal, by learned filters, and its spectrogram.

    Both paths end with features of four parts of the time.
    """

    def __init__(self, channels: int, times: int, outputs: int, width: int = 16) -> None:
        super().__init__()
        kernel = min(64, times // 4)
        self.shapes = nn.Sequential(
            nn.Conv1d(channels, width, kernel, stride=4, padding=kernel // 2),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, 2 * width, 9, stride=2, padding=4),
            nn.BatchNorm1d(2 * width),
            nn.ReLU(),
            TimePool(4),
            nn.Flatten(),
        )
        spectrogram = Spectrogram(channels, times)
        bands = channels * spectrogram.bands
        self.power = nn.Sequential(
            nn.BatchNorm1d(channels, affine=False),
            spectrogram,
            nn.BatchNorm1d(bands),
            nn.Conv1d(bands, 2 * width, 5, padding=2),
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
        return self.head(torch.cat((self.shapes(x), self.power(x)), dim=1))
