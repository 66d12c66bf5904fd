"""Transforms that act on the spectrum of signals: frequency shift, FT surrogates, bandstop.

Each adds what it changes, so that the signal itself does not pass through the Fourier transform
and magnitude 0 is the identity exactly.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from numbers import Real
from typing import Any, ClassVar

import torch
from torch import Generator, Tensor
from torch.autograd.function import once_differentiable

from augnet.transforms.base import (
    SIGNALS,
    Domain,
    Linear,
    Magnitude,
    Params,
    Signed,
    Transform,
    per_sample,
    spread,
)
from augnet.transforms.noise import uniform
from augnet.transforms.registry import register_transform
from augnet.transforms.relax import window


@dataclass(frozen=True)
class Spectral(Transform):
    """A transform whose limit is in Hz, for signals sampled at `sfreq` Hz."""

    sfreq: float = field(kw_only=True)

    unit: ClassVar[str] = "Hz"
    domain: ClassVar[Domain] = SIGNALS
    margin: ClassVar[float] = 0.0
    """The width of the spectrum that the transform never changes, in Hz."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.sfreq, Real) and self.limit + self.margin <= self.sfreq / 2):
            raise ValueError(
                f"{self.name} with a limit of {self.limit:g} Hz takes sfreq >= "
                f"{2 * (self.limit + self.margin):g} Hz, twice what it reaches; got {self.sfreq}"
            )


@dataclass(frozen=True)
class Filter(Linear):
    """A transform whose operator is a filter: its response (B, 1, T / 2 + 1) per frequency."""

    domain: ClassVar[Domain] = SIGNALS

    @staticmethod
    def act(x: Tensor, operator: Tensor) -> Tensor:
        """Filter each signal."""
        return filtered(x, operator, x.shape[-1])


@register_transform
@dataclass(frozen=True)
class FrequencyShift(Spectral, Signed):
    """Move all frequencies up or down by up to ±limit Hz (Rommel et al. 2022)."""

    limit: float = 5.0

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Rotate the analytic signal: the real part of (x + i H(x)) exp(2πi Δf t)."""
        time = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device) / self.sfreq
        angle = 2 * torch.pi * spread(strength, x) * time
        return x * angle.cos() - hilbert(x) * angle.sin()


@register_transform
@dataclass(frozen=True)
class Bandstop(Spectral, Filter):
    """Remove a band of up to limit Hz, anywhere but in the outermost hertz of the spectrum."""

    limit: float = 2.0

    margin: ClassVar[float] = 2.0

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw the position of the band within the free space."""
        return uniform(like, shape[:1], generator)

    def operator(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Subtract the band; its edges are one step of the spectrum wide."""
        duration = x.shape[-1]
        width = self.strength(per_sample(magnitude, x))
        start = 1 + params * (self.sfreq / 2 - self.margin - width)
        step = self.sfreq / duration
        frequency = torch.arange(duration // 2 + 1, dtype=x.dtype, device=x.device) * step
        return -window(frequency, spread(start, x), spread(width, x), sharpness=4 / step)


@register_transform
@dataclass(frozen=True)
class FTSurrogate(Filter):
    """Add to each frequency a random phase of up to limit radians (Schwabedal et al. 2019).

    All channels get the same phases, uniform on [0, μ · limit]. `sfreq` is not used; it is accepted
    so that all transforms of the spectrum can be built with the same arguments.
    """

    limit: float = 2 * math.pi
    sfreq: float | None = field(default=None, kw_only=True)

    unit: ClassVar[str] = "radians"
    bounds: ClassVar[tuple[float, float]] = (0.0, 2 * math.pi)
    prefix: ClassVar[str] = "up to "

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw a fraction of the strength for each frequency."""
        return uniform(like, (shape[0], 1, shape[-1] // 2 + 1), generator)

    def operator(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Rotate all phases but those of the mean and the Nyquist frequency, which have none."""
        duration = x.shape[-1]
        index = torch.arange(duration // 2 + 1, device=x.device)
        free = (index > 0) & (2 * index < duration)
        phase = params * free * spread(self.strength(per_sample(magnitude, x)), x)
        return torch.complex(phase.cos() - 1, phase.sin())


@register_transform
@dataclass(frozen=True)
class CenteredFTSurrogate(FTSurrogate):
    """Add to each frequency a random phase within ±limit radians, so the mean delay is 0."""

    limit: float = math.pi

    bounds: ClassVar[tuple[float, float]] = (0.0, math.pi)
    prefix: ClassVar[str] = "±"

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw a signed fraction of the strength for each frequency."""
        return 2 * super().sample_params(shape, like, generator) - 1


def hilbert(x: Tensor) -> Tensor:
    """Delay each frequency by a quarter of its period; the signal is padded with zeros."""
    padded = max(2, 2 ** math.ceil(math.log2(x.shape[-1])))
    index = torch.arange(padded // 2 + 1, device=x.device)
    free = ((index > 0) & (2 * index < padded)).to(x.dtype)
    return filtered(x, torch.complex(torch.zeros_like(free), -free), padded)


AS_PRODUCTS = False
"""Whether Fourier transforms are computed as matrix products; see `as_products`."""
LONGEST_PRODUCT = 4096
"""The longest signal for which `as_products` has an effect, because of the matrix size."""


@contextmanager
def as_products() -> Iterator[None]:
    """Compute Fourier transforms as matrix products, in graphs for other runtimes.

    Other runtimes may be slow and inexact if a length is no power of two: ONNX Runtime 1.31 has an
    error of 4e-4 after a transform of 800 numbers and back, and takes nine times as long.
    """
    global AS_PRODUCTS
    AS_PRODUCTS = True
    try:
        yield
    finally:
        AS_PRODUCTS = False


def filtered(x: Tensor, response: Tensor, padded: int) -> Tensor:
    """Multiply the spectra of signals, padded with zeros to a length, by a response.

    Equals what autograd derives from a Fourier transform and its inverse; tests compare both.
    """
    power_of_two = padded & (padded - 1) == 0
    if AS_PRODUCTS and padded == x.shape[-1] <= LONGEST_PRODUCT and not power_of_two:
        return _by_products(x, response)
    return _Filtered.apply(x, response, padded)[0]  # type: ignore[no-untyped-call]


def _by_products(x: Tensor, response: Tensor) -> Tensor:
    """Compute `filtered` for signals that are not padded, by matrix products."""
    there, back = (matrices.to(x) for matrices in _matrices(x.shape[-1]))
    cosine, sine = x @ there[0], x @ there[1]
    if response.is_complex():
        a, b = response.real, response.imag
        cosine, sine = cosine * a - sine * b, cosine * b + sine * a
    else:
        cosine, sine = cosine * response, sine * response
    return cosine @ back[0] + sine @ back[1]


@cache
def _matrices(size: int) -> tuple[Tensor, Tensor]:
    """Return the matrices from signals to spectra (2, T, K), and back (2, K, T)."""
    frequencies, times = torch.arange(size // 2 + 1), torch.arange(size)[:, None]
    angle = (frequencies * times % size).double() * (2 * math.pi / size)
    there = torch.stack((angle.cos(), -angle.sin()))
    # All frequencies but the mean and the Nyquist one count twice.
    twice = torch.where((frequencies > 0) & (2 * frequencies < size), 2.0, 1.0) / size
    return there.float(), (there * twice).mT.float().contiguous()


class _Filtered(torch.autograd.Function):
    """The adjoint of a filter is the filter with the conjugate response.

    Autograd does not use that the signals are real: its backward pass is a complex transform of
    twice the length, which takes several times as long.
    """

    @staticmethod
    def forward(x: Tensor, response: Tensor, padded: int) -> tuple[Tensor, Tensor]:
        spectrum = torch.fft.rfft(x, n=padded)
        return torch.fft.irfft(spectrum * response, n=padded)[..., : x.shape[-1]], spectrum

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor, int], output: tuple[Tensor, Tensor]
    ) -> None:
        x, response, ctx.padded = inputs
        ctx.duration = x.shape[-1]
        ctx.save_for_backward(response, output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, Tensor | None, None]:
        response, spectrum = ctx.saved_tensors
        turned = torch.fft.rfft(gradient, n=ctx.padded)
        to_x, to_response = None, None
        if ctx.needs_input_grad[0]:
            to_x = torch.fft.irfft(turned * response.conj(), n=ctx.padded)[..., : ctx.duration]
        if ctx.needs_input_grad[1]:
            product = turned * spectrum.conj()
            if not response.is_complex():
                product = product.real
            # All frequencies but the mean and the Nyquist one count twice.
            twice = product.sum_to_size(response.shape) * (2 / ctx.padded)
            twice[..., 0] /= 2
            if ctx.padded % 2 == 0:
                twice[..., -1] /= 2
            to_response = twice
        return to_x, to_response, None
