"""Tasks with a known range of each class, or of each direction, for benchmarks/by_class.py.

All samples are transformed up to the same strength. So two figures that differ by the transform
itself become each other at half of the gap between them, less the spread of the data: the truth of
both. A figure that no other one becomes has the limit of the transform as its truth.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from recovery_tasks import (
    LIMIT,
    SFREQ,
    arrow,
    balanced,
    bar,
    box,
    disc,
    even,
    flag,
    grainy,
    inside,
    plane,
    sectors,
    tone,
)
from torch import Generator, Tensor

from augnet.transforms import Transform, build_transforms

Truth = float | str
"""A strength in the unit of the transform, 0 for not invariant, or "limit"."""
Samples = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Task:
    """Data by seed, a transform, and the truth of each class, or of both directions."""

    make: Callable[[Generator, int], Samples]
    transform: Transform
    truths: dict[str, Truth]
    """By the number of the class, or by the direction: − and +; none if they do not differ."""
    directions: bool = False
    """Whether truths are those of directions."""
    size: int = 900
    held_out: bool = False
    """Not used while settings were chosen."""

    def draw(self, seed: int) -> Samples:
        """Return the samples of a seed."""
        return self.make(Generator().manual_seed(seed), self.size)


def build(name: str, **options: float | str) -> Transform:
    """Build one transform."""
    (transform,) = build_transforms({"name": name, **options})
    return transform


def by_number(*truths: Truth) -> dict[str, Truth]:
    """Return the truths of classes by their numbers."""
    return {str(number): truth for number, truth in enumerate(truths)}


def pick(figures: list[Tensor], y: Tensor) -> Tensor:
    """Take for each sample the figure of its class."""
    return torch.stack(figures)[y, torch.arange(len(y))]


def painted(x: Tensor, generator: Generator) -> Tensor:
    """Make figures darker or brighter, and add some noise."""
    light = even(len(x), generator, 0.7, 1.0)[:, None, None, None]
    return grainy(light * x, generator, 0.03)


def ring(x: Tensor, y: Tensor) -> Tensor:
    """Draw a ring."""
    return inside(1.5 - ((x.square() + y.square()).sqrt() - 7).abs())


def hands(generator: Generator, size: int) -> Samples:
    """Draw arrows at 0° and 60°, flags at 0° and 160°, and discs."""
    y = balanced(size, 5, generator)
    angle = torch.tensor([0.0, 60, 0, 160, 0])[y] + 2 * even(size, generator)
    where = plane(angle, *(0.02 * even(size, generator) for _ in range(2)))
    figures = [arrow(*where), arrow(*where), flag(*where), flag(*where), disc(*where, 7.0)]
    return painted(pick(figures, y), generator), y


def clock(generator: Generator, size: int) -> Samples:
    """Draw bars at 0° and 90°, flags at 0° and 50°, arrows and rings."""
    y = balanced(size, 6, generator)
    angle = torch.tensor([0.0, 90, 0, 50, 0, 0])[y] + 2 * even(size, generator)
    where = plane(angle, *(0.02 * even(size, generator) for _ in range(2)))
    figures = [bar(*where), bar(*where), flag(*where), flag(*where), arrow(*where), ring(*where)]
    return painted(pick(figures, y), generator), y


def places(generator: Generator, size: int) -> Samples:
    """Draw discs 0.2 apart, squares 0.4 apart, and stripes across the image."""
    y = balanced(size, 5, generator)
    right = torch.tensor([-0.1, 0.1, -0.2, 0.2, 0.0])[y] + 0.01 * even(size, generator)
    x, down = plane(0.0, right, 0.1 * even(size, generator))
    hollow = torch.minimum(box(x, down, 5.0, 5.0), -box(x, down, 2.5, 2.5))
    figures = [disc(x, down, 3.5), inside(hollow), inside(3 - down.abs())]
    return painted(pick(figures, y // 2), generator), y


def sides(generator: Generator, size: int) -> Samples:
    """Draw flags to the right and to the left, bars, and arrows that point up to the right."""
    y = balanced(size, 4, generator)
    angle = torch.tensor([0.0, 0, 0, 40])[y] + 4 * even(size, generator)
    x, down = plane(angle, *(0.04 * even(size, generator) for _ in range(2)))
    figures = [flag(x, down), flag(-x, down), bar(x, down), arrow(x, down)]
    return painted(pick(figures, y), generator), y


def chords(
    single: tuple[float, float], double: tuple[float, float], spread: float
) -> Callable[[Generator, int], Samples]:
    """Make tones of two frequencies, pairs of tones of two frequencies, and noise."""

    def make(generator: Generator, size: int) -> Samples:
        y = balanced(size, 5, generator)
        frequency = torch.tensor([*single, *double, 0.0])[y] + spread * even(size, generator)
        first, second = (
            tone(frequency + step, torch.rand(size, generator=generator)) for step in (0.0, 4.0)
        )
        noise = torch.randn(first.shape, generator=generator)
        x = pick([first, (first + second) / 1.4, 0.7 * noise], y // 2)
        return grainy(x, generator, 0.2), y

    return make


def loud(generator: Generator, size: int) -> Samples:
    """Make tones with levels of 1 and 2.25, beats with levels of 1 and 9, and noise."""
    y = balanced(size, 5, generator)
    level = torch.tensor([1.0, 2.25, 1.0, 9.0, 3.0])[y] * 1.03 ** even(size, generator)
    first = tone(even(size, generator, 5, 7), torch.rand(size, generator=generator))
    time = torch.arange(first.shape[-1]) / SFREQ
    beat = first * (time % 1 < 0.5)
    noise = torch.randn(first.shape, generator=generator)
    x = grainy(pick([first, beat, noise], y // 2), generator, 0.05)
    return level[:, None, None] * x, y


def margin(generator: Generator, size: int) -> Samples:
    """Draw a thin line on the right, dark or bright: moved by 0.22 to the right it is gone."""
    y = balanced(size, 2, generator)
    x, down = plane(0.0, 0.3 + 0.01 * even(size, generator), 0.1 * even(size, generator))
    level = torch.tensor([0.4, 0.9])[y][:, None, None, None]
    return grainy(level * inside(box(x, down, 1.0, 8.0)), generator, 0.03), y


def late(generator: Generator, size: int) -> Samples:
    """Make a pulse early in a window, up or down: 0.2 of the window earlier it is gone."""
    y = balanced(size, 2, generator)
    time = torch.arange(200) / 200
    place = 0.18 + 0.01 * even(size, generator)
    x = (2.0 * y[:, None] - 1) * (-((time - place[:, None]) / 0.01).square()).exp()
    return grainy(x[:, None], generator, 0.05), y


def facing(generator: Generator, size: int) -> Samples:
    """Draw arrows at 0°, 90°, 180° and 270°: both directions are the same."""
    y = balanced(size, 4, generator)
    where = plane(90 * y + 4 * even(size, generator), *(0.02 * even(size, generator),) * 2)
    return painted(arrow(*where), generator), y


TASKS = {
    "hands": Task(
        hands, build("rotate", limit=180.0), by_number(28.0, 28.0, 78.0, 78.0, LIMIT)
    ),
    "chords": Task(
        chords((10.0, 14.0), (22.0, 32.0), 0.2),
        build("frequency_shift", limit=8.0, sfreq=SFREQ),
        by_number(1.8, 1.8, 4.8, 4.8, LIMIT),
    ),
    "places": Task(
        places, build("translate_x", limit=0.25), by_number(0.09, 0.09, 0.19, 0.19, LIMIT)
    ),
    "sides": Task(sides, build("horizontal_flip"), by_number(0.0, 0.0, LIMIT, LIMIT)),
    "sectors": Task(sectors, build("rotate", limit=90.0), by_number(0.0, 0.0, 0.0, 0.0)),
    "margin": Task(
        margin, build("translate_x", limit=0.4), {"−": LIMIT, "+": 0.22}, directions=True
    ),
    "facing": Task(facing, build("rotate", limit=180.0), {}, directions=True),
    "clock": Task(
        clock,
        build("rotate", limit=120.0),
        by_number(43.0, 43.0, 23.0, 23.0, LIMIT, LIMIT),
        size=1080,
        held_out=True,
    ),
    "intervals": Task(
        chords((8.0, 11.0), (20.0, 26.0), 0.1),
        build("frequency_shift", limit=6.0, sfreq=SFREQ),
        by_number(1.4, 1.4, 2.9, 2.9, LIMIT),
        held_out=True,
    ),
    "loud": Task(
        loud,
        build("amplitude_scale", limit=8.0),
        by_number(1.46, 1.46, 2.91, 2.91, LIMIT),
        held_out=True,
    ),
    "late": Task(
        late,
        build("time_shift", limit=0.6, padding="zeros"),
        {"−": 0.2, "+": LIMIT},
        directions=True,
        held_out=True,
    ),
}  # fmt: skip
