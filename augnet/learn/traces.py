"""Noise that hides the traces of a transform: soft edges, empty margins, gaps in a spectrum."""

from functools import lru_cache

import torch
from torch import Generator, Tensor

from augnet.transforms import Signed, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import normal

MOST_BY_PRODUCT = 256
"""Dimensions that are not longer are averaged by a matrix product."""


def leaves_traces(transform: Transform) -> bool:
    """Whether views of a transform have to be hidden among others: signed ones that resample."""
    return isinstance(transform, Signed) and transform.resamples


class TraceNoise:
    """Noise as strong as a fraction of the data: at each frequency, and at each place of a view.

    White noise would drown what is weak in the data, such as fast rhythms of EEG. And noise in
    silence, or in an empty background, would be new to a network.
    """

    def __init__(self, x: Tensor, factor: float) -> None:
        self.dims = tuple(range(2, x.dim()))
        self.scale = factor * x.std(0, keepdim=True)
        if self.dims:
            power = _power(x - x.mean(0), self.dims)
            power.flatten(2)[:, :, 0] = 0.0  # the mean of a sample
            others = power.mean(self.dims, keepdim=True).clamp(min=1e-12)
            self.scale = factor * (power / others).sqrt()
            self.window = max(3, max(x.shape[2:]) // 16 | 1)

    def __call__(self, view: Tensor, generator: Generator) -> Tensor:
        """Draw noise for each sample."""
        noise = normal(view, view.shape, generator)
        if not self.dims:
            return self.scale * noise
        with full_precision(view):
            spectrum = self.scale * torch.fft.rfftn(noise, dim=self.dims)
            noise = torch.fft.irfftn(spectrum, s=view.shape[2:], dim=self.dims)
            return noise * self._deviation(view)

    def _deviation(self, view: Tensor) -> Tensor:
        """Return the standard deviation around each place."""
        both = torch.stack((view, view.square()))
        for dim in range(3, both.dim()):
            both = _running_mean(both, self.window, dim)
        mean, square = both
        return (square - mean.square()).clamp(min=0).sqrt()


def _running_mean(x: Tensor, window: int, dim: int) -> Tensor:
    """Return the mean within a window around each place along a dimension.

    Short dimensions take one product. Unlike that of `avg_pool1d`, the work for long ones does not
    grow with the window: 64 signals of 1920 samples with a window of 121 take 1.2 instead of 13.8
    ms (one thread, with their squares).
    """
    size, half = x.shape[dim], window // 2
    if size <= MOST_BY_PRODUCT:
        means = _window_means(size, window, x.dtype, x.device)
        if dim == x.dim() - 2:
            return means.T @ x
        return (x.movedim(dim, -1) @ means).movedim(-1, dim)
    sums = x.cumsum(dim)
    sums = torch.cat((torch.zeros_like(sums.narrow(dim, 0, 1)), sums), dim)
    places = torch.arange(size, device=x.device)
    first, last = (places - half).clamp(min=0), (places + half + 1).clamp(max=size)
    counts = (last - first).view(-1, *[1] * (x.dim() - dim - 1))
    return (sums.index_select(dim, last) - sums.index_select(dim, first)) / counts


@lru_cache(maxsize=16)
def _window_means(size: int, window: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Return what each place adds to the mean around each place, (size, size)."""
    with torch.inference_mode(False):
        places = torch.arange(size, device=device)
        near = ((places - places[:, None]).abs() <= window // 2).to(dtype)
        return near / near.sum(0)


def _power(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Return the mean power spectrum of each channel (1, C, ...), a chunk at a time."""
    total = sum(torch.fft.rfftn(c, dim=dims).abs().square().sum(0) for c in x.split(256))
    return (torch.as_tensor(total) / len(x))[None]
