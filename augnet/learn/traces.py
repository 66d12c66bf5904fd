"""Noise that hides the traces of a transform: soft edges, empty margins, gaps in a spectrum."""

import torch
from torch import Generator, Tensor

from augnet.transforms.noise import normal


class TraceNoise:
    """Noise with the mean power spectrum of some samples, times a factor; its own mean is 0.

    White noise would drown what is weak in the data, such as fast rhythms of EEG.
    """

    def __init__(self, x: Tensor, factor: float) -> None:
        self.dims = tuple(range(2, x.dim()))
        if self.dims:
            power = _power(x - x.mean(0), self.dims)
            power.flatten(2)[:, :, 0] = 0.0  # the mean of a sample
            self.scale = factor * (power / x[0, 0].numel()).sqrt()
        else:
            self.scale = factor * x.std(0, keepdim=True)

    def __call__(self, like: Tensor, generator: Generator) -> Tensor:
        """Draw noise for each sample."""
        white = normal(like, like.shape, generator)
        if not self.dims:
            return self.scale * white
        spectrum = self.scale * torch.fft.rfftn(white, dim=self.dims)
        return torch.fft.irfftn(spectrum, s=like.shape[2:], dim=self.dims)


def _power(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return the mean power spectrum of each channel (1, C, ...), a chunk at a time."""
    total = sum(torch.fft.rfftn(c, dim=dims).abs().square().sum(0) for c in x.split(256))
    return (torch.as_tensor(total) / len(x))[None]
