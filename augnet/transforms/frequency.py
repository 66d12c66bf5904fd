"""Words that act on the spectrum of signals: frequency shift, FT surrogates, bandstop.

Each adds or subtracts what it changes, so that the signal itself never makes the round trip
through the Fourier transform and changing nothing is exact.
"""

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar

import torch
from torch import Generator, Tensor

from augnet.transforms.base import (
    SIGNALS,
    Domain,
    Magnitude,
    Noise,
    Ranged,
    Transform,
    per_sample,
    spread,
)
from augnet.transforms.noise import uniform
from augnet.transforms.relax import window


@dataclass(frozen=True)
class Spectral(Transform):
    """A word whose limit is in Hz, for signals sampled at `sfreq` Hz."""

    sfreq: float = field(kw_only=True)

    unit: ClassVar[str] = "Hz"
    domain: ClassVar[Domain] = SIGNALS
    margin: ClassVar[float] = 0.0
    """How much of the spectrum the word leaves alone in all, in Hz."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.sfreq, Real) and self.limit + self.margin <= self.sfreq / 2):
            raise ValueError(
                f"{self.name} with a limit of {self.limit:g} Hz takes sfreq >= "
                f"{2 * (self.limit + self.margin):g} Hz, twice what it reaches; got {self.sfreq}"
            )


@dataclass(frozen=True)
class FrequencyShift(Spectral, Ranged):
    """Move all frequencies up or down by up to ±limit Hz (Rommel et al. 2022)."""

    limit: float = 5.0

    def apply(self, x: Tensor, strength: Tensor) -> Tensor:
        """Turn the analytic signal: the real part of (x + i H(x)) exp(2πi Δf t)."""
        time = torch.arange(x.shape[-1], dtype=x.dtype, device=x.device) / self.sfreq
        angle = 2 * torch.pi * spread(strength, x) * time
        return x * angle.cos() - hilbert(x) * angle.sin()


@dataclass(frozen=True)
class Bandstop(Spectral):
    """Remove a band of up to limit Hz, anywhere but in the outermost hertz of the spectrum."""

    limit: float = 2.0

    margin: ClassVar[float] = 2.0

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw where the band lies, from one end of the free space to the other."""
        return uniform(x, x.shape[:1], generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Subtract the band, whose edges are as soft as one step of the spectrum."""
        duration = x.shape[-1]
        width = self.strength(per_sample(magnitude, x))
        start = 1 + noise * (self.sfreq / 2 - self.margin - width)
        step = self.sfreq / duration
        frequency = torch.arange(duration // 2 + 1, dtype=x.dtype, device=x.device) * step
        band = window(frequency, spread(start, x), spread(width, x), sharpness=4 / step)
        return x - torch.fft.irfft(torch.fft.rfft(x) * band, n=duration)


@dataclass(frozen=True)
class FTSurrogate(Transform):
    """Add to each frequency a random phase of up to limit radians (Schwabedal et al. 2019).

    All channels get the same phases, uniform on [0, μ · limit]. Phases do not depend on `sfreq`,
    which is taken so that all words of the spectrum can be built alike.
    """

    limit: float = 2 * math.pi
    sfreq: float | None = field(default=None, kw_only=True)

    unit: ClassVar[str] = "radians"
    domain: ClassVar[Domain] = SIGNALS
    bounds: ClassVar[tuple[float, float]] = (0.0, 2 * math.pi)
    reach: ClassVar[str] = "up to "

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw a part of the strength for each frequency."""
        return uniform(x, (x.shape[0], 1, x.shape[-1] // 2 + 1), generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Turn the phases, save those of the mean and of the Nyquist frequency, which have none."""
        duration = x.shape[-1]
        index = torch.arange(duration // 2 + 1, device=x.device)
        free = (index > 0) & (2 * index < duration)
        phase = noise * free * spread(self.strength(per_sample(magnitude, x)), x)
        change = torch.fft.rfft(x) * torch.complex(phase.cos() - 1, phase.sin())
        return x + torch.fft.irfft(change, n=duration)


@dataclass(frozen=True)
class CentredFTSurrogate(FTSurrogate):
    """Add to each frequency a random phase within ±limit radians: no delay in the mean."""

    limit: float = math.pi

    bounds: ClassVar[tuple[float, float]] = (0.0, math.pi)
    reach: ClassVar[str] = "±"

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw a signed part of the strength for each frequency."""
        return 2 * super().sample(x, generator) - 1


def hilbert(x: Tensor) -> Tensor:
    """Delay every frequency by a quarter of its period, the signal being padded with zeros."""
    duration = x.shape[-1]
    padded = max(2, 2 ** math.ceil(math.log2(duration)))
    spectrum = torch.fft.rfft(x, n=padded)
    index = torch.arange(padded // 2 + 1, device=x.device)
    free = (index > 0) & (2 * index < padded)
    turned = torch.complex(spectrum.imag * free, -spectrum.real * free)
    return torch.fft.irfft(turned, n=padded)[..., :duration]
