"""The sinusoids of section 4.2: noisy waves whose class is their frequency, within a range."""

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import torch
from torch import Generator, Tensor

from augnet import validation
from augnet.paper.datasets.splits import Samples, Splits

Phase: TypeAlias = Literal["paper", "authors"]


def load(
    seed: int = 0,
    *,
    sizes: tuple[int, int, int] = (400, 200, 200),
    frequencies: Sequence[float] = (2.0, 4.0, 6.0, 8.0),
    spread: float = 0.5,
    noise: float = 0.5,
    duration: float = 10.0,
    sfreq: float = 100.0,
    phase: Phase = "paper",
    draw: int | None = None,
) -> Splits:
    """Make waves (N, 1, T) of unit amplitude, random phase and a frequency near their class's.

    The frequency lies within ± `spread` Hz of one of `frequencies`; white noise of the given
    standard deviation is added. Classes are balanced, in random order.

    Phases are uniform, as the paper says, or those of the authors' code, U(0, 4π / f): up to one
    turn at 2 Hz and a quarter of one at 8 Hz. With `draw` the data is the same for all seeds.
    """
    validation.sizes(sizes)
    validation.one_of(phase, get_args(Phase), "phase")
    generator = Generator().manual_seed(seed if draw is None else draw)
    centers = torch.tensor(frequencies)
    time = torch.arange(round(duration * sfreq)) / sfreq

    def make(size: int) -> Samples:
        def uniform() -> Tensor:
            return torch.rand(size, generator=generator)

        label = torch.arange(size)[torch.randperm(size, generator=generator)] % len(centers)
        frequency = centers[label] + spread * (2 * uniform() - 1)
        turn = 2 * torch.pi * (1.0 if phase == "paper" else 2 / frequency)
        angle = 2 * torch.pi * frequency[:, None] * time + (turn * uniform())[:, None]
        wave = torch.sin(angle)
        wave = wave + noise * torch.randn(wave.shape, generator=generator)
        return Samples(wave[:, None], label)

    return Splits(*map(make, sizes))
