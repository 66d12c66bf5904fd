"""Simulate nights of sleep EEG with known invariances.

Each window is a mixture of sources (rhythms, bursts, a pink background). Their powers depend on the
stage, and six electrodes measure them through a map of each source on the scalp. Subjects differ in
the frequencies of their rhythms, in powers and in maps. Some electrodes are loose, some subjects
move, and scorers make mistakes.

These transforms keep the stage, by construction, in the distribution of all subjects:

- `sign_flip` and `time_reverse`: sources are Gaussian noise of random phase under symmetric bursts;
- `channel_symmetry`: the asymmetries of subjects are distributed symmetrically;
- `frequency_shift` up to about `spread` Hz, by which the rhythms of subjects differ;
- `time_mask` and `ft_surrogate`: the spectrum of a part of a window is enough to predict the stage;
- `channel_dropout` of one channel: a fraction `loose` of the windows has a dead one.

These do not: `channel_shuffle` (fast alpha at the back and slow spindles in the middle differ only
by place; eye movements have opposite signs at F3 and F4), and shifts from one rhythm to another.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

CHANNELS = ("C3", "C4", "F3", "F4", "O1", "O2")
STAGES = ("W", "N1", "N2", "N3", "REM")
W, N1, N2, N3, REM = range(5)

# Per source: center and width of its spectrum in Hz, the duration of its bursts in seconds (0 for
# none), its amplitude at the middle, the front and the back of the head, its power in each stage.
SOURCES: dict[str, tuple[float, float, float, tuple[float, float, float], tuple[float, ...]]] = {
    "slow waves": (1.0, 0.5, 0.0, (0.8, 1.0, 0.4), (0.3, 0.4, 0.9, 2.0, 0.4)),
    "eye movements": (0.8, 0.4, 0.8, (0.2, 1.0, 0.0), (0.3, 0.1, 0.0, 0.0, 0.5)),
    "theta": (5.5, 0.9, 0.0, (1.0, 0.7, 0.5), (0.3, 0.8, 0.6, 0.4, 0.7)),
    "alpha": (10.0, 0.7, 0.0, (0.4, 0.2, 1.0), (1.0, 0.45, 0.1, 0.05, 0.3)),
    "spindles": (13.0, 0.6, 0.5, (1.0, 0.7, 0.2), (0.0, 0.05, 0.5, 0.3, 0.0)),
    "beta": (20.0, 4.0, 0.0, (0.7, 0.8, 0.6), (0.35, 0.25, 0.15, 0.1, 0.25)),
}
OPPOSITE = ("eye movements",)  # with opposite signs on the left and on the right
RHYTHMS = ("theta", "alpha", "spindles")  # whose frequencies differ between subjects
BURSTS = 6  # per window


class Night(NamedTuple):
    """Windows (N, C, T) in µV and their stages (N,), in the order of the night."""

    x: NDArray[np.float32]
    y: NDArray[np.int64]


def night(
    rng: Generator,
    *,
    windows: int | None = None,
    sfreq: float = 100.0,
    duration: float = 30.0,
    spread: float = 1.0,
    disagreement: float = 0.1,
    loose: float = 0.05,
    moving: float = 0.05,
) -> Night:
    """Simulate the night of one subject: all of it, or some evenly spaced `windows`.

    A fraction `disagreement` of the labels is that of the window before or after, as with two
    scorers. In a fraction `loose` of the windows an electrode is loose, and in a fraction `moving`
    the subject moves.
    """
    stages = hypnogram(rng)
    chosen = np.arange(len(stages))
    if windows is not None:
        if not 1 <= windows <= len(stages):
            raise ValueError(f"this night has 1 to {len(stages)} windows; got windows={windows}")
        chosen = np.linspace(0, len(stages) - 1, windows).round().astype(int)
    x = _eeg(rng, stages[chosen], sfreq, duration, spread)
    _disturb(rng, x, loose, moving)
    neighbor = np.clip(chosen + rng.choice([-1, 1], len(chosen)), 0, len(stages) - 1)
    told = np.where(rng.random(len(chosen)) < disagreement, neighbor, chosen)
    return Night(x, stages[told])


def hypnogram(rng: Generator) -> NDArray[np.int64]:
    """Draw the stages of a night, one per 30 s: four to six cycles, N3 early and REM late."""
    bouts: list[tuple[int, float]] = [(W, rng.uniform(10, 40))]
    cycles = rng.integers(4, 7)
    for cycle in range(cycles):
        late = cycle / (cycles - 1)
        minutes = rng.uniform(75, 105)
        deep, rem = (0.4 * (1 - late) * minutes, (0.1 + 0.25 * late) * minutes)
        light = minutes - deep - rem
        middle = [(N2, 0.4 * light), (N3, deep), (N2, 0.25 * light)]
        if rng.random() < 0.5:  # deep sleep is often interrupted by N2
            middle = [(N2, 0.4 * light), (N3, deep / 2), (N2, 0.1 * light), (N3, deep / 2),
                      (N2, 0.15 * light)]  # fmt: skip
        waking = [(W, rng.uniform(1, 6)), (N1, 0.1 * light)]
        bouts += [(N1, 0.15 * light), *middle, (REM, rem), *waking]
    bouts.append((W, rng.uniform(5, 30)))
    labels, lengths = zip(*bouts, strict=True)
    jitter = rng.uniform(0.6, 1.4, len(bouts))
    return np.repeat(np.array(labels), np.round(2 * np.array(lengths) * jitter).astype(int))


def _eeg(
    rng: Generator, stages: NDArray[np.int64], sfreq: float, duration: float, spread: float
) -> NDArray[np.float32]:
    """Mix the sources of one subject for some windows, in µV."""
    count, times = len(stages), round(duration * sfreq)
    shift = spread * rng.uniform(-1, 1)  # a fast subject is fast in all rhythms
    x = 6.0 * _noise(rng, (count, len(CHANNELS), times), _pink(times, sfreq))
    x += 4.0 * _noise(rng, (count, 1, times), _pink(times, sfreq))  # from the reference
    for name, (center, width, burst, places, powers) in SOURCES.items():
        own = center + (shift + 0.3 * rng.normal() if name in RHYTHMS else 0.0)
        away = (np.fft.rfftfreq(times, 1 / sfreq) - own) / width
        wave = _noise(rng, (count, times), np.exp(-0.5 * away**2).astype(np.float32))
        if burst:
            wave *= _bursts(rng, count, times, burst * sfreq)
        power = np.array(powers) * np.exp(0.3 * rng.normal(size=len(STAGES)))
        strength = 15.0 * power[stages] * np.exp(0.2 * rng.normal(size=count))
        wave *= strength[:, None].astype(np.float32)
        x += _map(rng, places, opposite=name in OPPOSITE)[:, None] * wave[:, None, :]
    x *= np.float32(np.exp(0.3 * rng.normal()))
    return x


def _map(rng: Generator, places: tuple[float, float, float], opposite: bool) -> NDArray[np.float32]:
    """Draw the amplitudes of a source at C3 C4 F3 F4 O1 O2, slightly asymmetric per subject."""
    sides = np.array([1.0, -1.0 if opposite else 1.0])
    asymmetry = 1 + 0.2 * rng.normal() * np.array([1.0, -1.0])
    own = np.array(places) * np.exp(0.15 * rng.normal(size=3))
    return (own[:, None] * sides * asymmetry).reshape(-1).astype(np.float32)


def _noise(
    rng: Generator, shape: tuple[int, ...], spectrum: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Draw Gaussian noise of unit power whose amplitudes follow a spectrum."""
    white = np.fft.rfft(rng.standard_normal(shape, dtype=np.float32))
    white *= spectrum / np.sqrt(2 * (spectrum**2).sum() / shape[-1])
    return np.fft.irfft(white, shape[-1]).astype(np.float32, copy=False)


def _pink(times: int, sfreq: float) -> NDArray[np.float32]:
    """Return amplitudes that fall with the square root of the frequency, from 0.3 Hz on."""
    frequency = np.fft.rfftfreq(times, 1 / sfreq).astype(np.float32)
    return np.where(frequency < 0.3, np.float32(0), np.maximum(frequency, 0.3) ** -0.5)


def _bursts(rng: Generator, count: int, times: int, length: float) -> NDArray[np.float32]:
    """Draw an envelope with bursts at random times of each window, symmetric in time."""
    centers = times * rng.random((BURSTS, count, 1), dtype=np.float32)
    time = np.arange(times, dtype=np.float32)
    envelope = np.zeros((count, times), dtype=np.float32)
    for center in centers:
        envelope += np.exp(-0.5 * ((time - center) / np.float32(length)) ** 2)
    return 3.0 * envelope


def _disturb(rng: Generator, x: NDArray[np.float32], loose: float, moving: float) -> None:
    """Add loose electrodes and movements, in place."""
    count, channels, times = x.shape
    off = rng.random((count, channels)) < loose / channels
    x[off] = 2.0 * rng.standard_normal((int(np.count_nonzero(off)), times), dtype=np.float32)
    body = rng.random(count) < moving
    movers = int(np.count_nonzero(body))
    envelope = _bursts(rng, movers, times, times / 60)[:, None, :]
    x[body] += 25.0 * envelope * rng.standard_normal((movers, channels, times), dtype=np.float32)
