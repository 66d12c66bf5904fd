"""Tasks with known invariances, for benchmarks/recovery.py.

A bounded truth is half the gap between neighboring classes that differ by the transform itself,
less the spread of the data around its class; for a transform without a sign it is the whole gap. A
transform that moves no sample towards another class preserves labels: its truth is the limit. A
transform that turns one class into another at once has the truth 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from augnet.paper.datasets import mario, sinusoids
from augnet.transforms import Transform, build_transforms

SFREQ = 100.0
LIMIT = "limit"
UNCLEAR = "unclear"
Truth = float | str
"""A strength in the unit of the transform, 0 for not invariant, "limit", or "unclear"."""


@dataclass(frozen=True)
class Task:
    """Data by seed, candidate transforms, and the truth about each, in their order."""

    name: str
    make: Callable[[Generator, int], tuple[Tensor, Tensor]]
    transforms: tuple[Transform, ...]
    truths: tuple[Truth | None, ...]
    size: int = 800
    label_noise: float = 0.0
    """The fraction of wrong labels in training data."""
    input_noise: float = 0.0
    """The standard deviation of white noise, added to training and test data."""
    imbalanced: bool = False
    """One class keeps all training samples, the others a tenth, but at least 20."""
    shuffled: bool = False
    """Labels of training data are in random order: there is nothing to learn."""
    held_out: bool = False
    """Not used while settings were chosen."""

    def __post_init__(self) -> None:
        assert len(self.transforms) == len(self.truths), self.name

    def train(self, seed: int) -> tuple[Tensor, Tensor]:
        """Return training data, as noisy, as imbalanced and as wrong as the task says."""
        generator = Generator().manual_seed(seed)
        x, y = self.make(generator, self.size)
        if self.label_noise:
            y = with_wrong_labels(y, self.label_noise, generator)
        if self.shuffled:
            y = y[torch.randperm(len(y), generator=generator)]
        if self.input_noise:
            x = grainy(x, generator, self.input_noise)
        if self.imbalanced:
            rows = imbalanced_rows(y, most=seed % (int(y.max()) + 1))
            x, y = x[rows], y[rows]
        return x, y

    def test(self, seed: int, size: int = 1000) -> tuple[Tensor, Tensor]:
        """Return test data with clean labels, and with noise as in training."""
        generator = Generator().manual_seed(10_000 + seed)
        x, y = self.make(generator, size)
        return (grainy(x, generator, self.input_noise) if self.input_noise else x), y


def with_wrong_labels(y: Tensor, fraction: float, generator: Generator) -> Tensor:
    """Replace classes by other ones, and values by those of other samples."""
    wrong = torch.rand(len(y), generator=generator) < fraction
    if y.is_floating_point():
        other = torch.randint(1, len(y), (len(y),), generator=generator)
        return torch.where(wrong, y[(torch.arange(len(y)) + other) % len(y)], y)
    classes = int(y.max()) + 1
    other = torch.randint(1, classes, y.shape, generator=generator)
    return torch.where(wrong, (y + other) % classes, y)


def imbalanced_rows(y: Tensor, most: int) -> Tensor:
    """Return all rows of the class `most` and the first tenth of each other one, in order."""
    rank = torch.stack([(y == c).cumsum(0) for c in range(int(y.max()) + 1)])[
        y, torch.arange(len(y))
    ]
    kept = (y.bincount() // 10).clamp(min=20)
    return ((y == most) | (rank <= kept[y])).nonzero()[:, 0]


def even(size: int, generator: Generator, low: float = -1.0, high: float = 1.0) -> Tensor:
    """Draw uniformly."""
    return low + (high - low) * torch.rand(size, generator=generator)


def balanced(size: int, classes: int, generator: Generator) -> Tensor:
    """Return balanced classes in random order."""
    return torch.randperm(size, generator=generator) % classes


# Images: 28×28 unless said otherwise, drawn by distance functions with soft edges.
SIZE = 28


def plane(
    angle: Tensor | float = 0.0,
    right: Tensor | float = 0.0,
    down: Tensor | float = 0.0,
    scale: Tensor | float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return pixel coordinates, each (N, H, W), in the frame of a figure that was moved so.

    Angles in degrees, counter-clockwise; places in fractions of the side.
    """

    def column(value: Tensor | float) -> Tensor:
        return torch.as_tensor(value, dtype=torch.float32).reshape(-1, 1, 1)

    axis = torch.arange(SIZE) - (SIZE - 1) / 2
    x = axis - column(right) * SIZE
    y = axis[:, None] - column(down) * SIZE
    turn = torch.deg2rad(column(angle))
    return (
        (x * turn.cos() - y * turn.sin()) / column(scale),
        (x * turn.sin() + y * turn.cos()) / column(scale),
    )


def inside(distance: Tensor) -> Tensor:
    """Paint where a distance is positive, with an edge of about a pixel: (N, 1, H, W)."""
    return (2.5 * distance).sigmoid()[:, None]


def box(x: Tensor, y: Tensor, width: float, height: float) -> Tensor:
    """Return the distance to the border of a box, from within."""
    return torch.minimum(width - x.abs(), height - y.abs())


def bar(x: Tensor, y: Tensor) -> Tensor:
    """Draw a horizontal bar."""
    return inside(box(x, y, 9.0, 2.0))


def arrow(x: Tensor, y: Tensor) -> Tensor:
    """Draw an arrow that points right: a shaft and a tip."""
    tip = torch.minimum(10 - x - 1.2 * y.abs(), x - 2)
    return inside(torch.maximum(box(x + 3, y, 7.0, 1.5), tip))


def flag(x: Tensor, y: Tensor) -> Tensor:
    """Draw a pole with a flag to the right, as the letter p has."""
    return inside(torch.maximum(box(x + 2, y, 1.5, 10.0), box(x - 3, y + 5, 5.0, 4.0)))


def disc(x: Tensor, y: Tensor, radius: float) -> Tensor:
    """Draw a disc."""
    return inside(radius - (x.square() + y.square()).sqrt())


def grainy(x: Tensor, generator: Generator, noise: float) -> Tensor:
    """Add white noise."""
    return x + noise * torch.randn(x.shape, generator=generator)


def oriented(
    figure: Callable[[Tensor, Tensor], Tensor], angles: tuple[float, ...], spread: float
) -> Callable[[Generator, int], tuple[Tensor, Tensor]]:
    """Draw a figure whose orientation is its class."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, len(angles), generator)
        angle = torch.tensor(angles)[y] + spread * even(size, generator)
        jitter = [0.04 * even(size, generator) for _ in range(2)]
        light = even(size, generator, 0.6, 0.9)[:, None, None, None]
        return light * figure(*plane(angle, *jitter)), y

    return make


def placed(
    rights: tuple[float, ...], downs: tuple[float, ...], spread: tuple[float, float]
) -> Callable[[Generator, int], tuple[Tensor, Tensor]]:
    """Draw a disc whose place is its class."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, len(rights), generator)
        right = torch.tensor(rights)[y] + spread[0] * even(size, generator)
        down = torch.tensor(downs)[y] + spread[1] * even(size, generator)
        return 0.8 * disc(*plane(0.0, right, down), 4.0), y

    return make


def sized(radii: tuple[float, ...], spread: float) -> Callable:
    """Draw a disc whose radius is its class."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, len(radii), generator)
        scale = torch.tensor(radii)[y] * spread ** even(size, generator)
        x, down = plane()
        distance = (x.square() + down.square()).sqrt()
        return 0.8 * inside(scale[:, None, None] - distance), y

    return make


def lit(levels: tuple[float, ...], spread: float, color: bool = False) -> Callable:
    """Draw stripes whose brightness is their class; none reaches white."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, len(levels), generator)
        level = torch.tensor(levels)[y] * (1 + spread * even(size, generator))
        a, _ = plane(180 * even(size, generator))
        phase = 6.28 * torch.rand(size, 1, 1, generator=generator)
        stripes = inside((a * 0.7 + phase).sin())
        return level[:, None, None, None] * (0.5 + 0.5 * stripes), y

    return make


def colored(hues: tuple[float, ...], spread: float) -> Callable:
    """Draw a disc whose hue is its class, anywhere in the picture."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, len(hues), generator)
        hue = (torch.tensor(hues)[y] + spread * even(size, generator)) / 60
        k = (torch.tensor([5.0, 3.0, 1.0]) + hue[:, None]) % 6
        rgb = 0.85 - 0.7 * torch.minimum(k, 4 - k).clamp(0, 1)
        places = [0.15 * even(size, generator) for _ in range(2)]
        return rgb[:, :, None, None] * disc(*plane(0.0, *places), 8.0), y

    return make


def mirrored(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Draw a flag to the right or to the left."""
    y = balanced(size, 2, generator)
    a, b = plane(8 * even(size, generator), *(0.08 * even(size, generator) for _ in range(2)))
    a = torch.where(y[:, None, None] == 0, a, -a)
    return 0.8 * flag(a, b), y


def shapes(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Draw a flag, an arrow or a bar, upright."""
    y = balanced(size, 3, generator)
    where = plane(8 * even(size, generator), *(0.08 * even(size, generator) for _ in range(2)))
    figures = torch.stack([flag(*where), arrow(*where), bar(*where)])
    return 0.8 * figures[y, torch.arange(size)], y


def dials(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Draw a spot on a ring, at three, twelve, nine or six o'clock, in noise."""
    y = balanced(size, 4, generator)
    x, down = plane(90 * y + 20 * even(size, generator))
    spot = (-((x - 8).square() + down.square()) / 12).exp()
    ring = 0.5 * (-((x.square() + down.square()).sqrt() - 11).square() / 2).exp()
    return grainy(torch.stack((spot, ring, 0.3 * spot), 1), generator, 0.1), y


def rotated_and_lit(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Draw a vertical or horizontal bar, dark or bright: four classes."""
    y = balanced(size, 4, generator)
    angle = 90 * (y % 2) + 15 * even(size, generator)
    level = torch.tensor([0.3, 0.7])[y // 2] * (1 + 0.05 * even(size, generator))
    return level[:, None, None, None] * bar(*plane(angle)), y


def sectors(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Draw arrows at any angle; the class is the quadrant, so that no rotation preserves it."""
    angle = even(size, generator, 0.0, 360.0)
    y = ((angle + 45) // 90).long() % 4
    return 0.8 * arrow(*plane(angle)), y


def position(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Draw a disc; the target is how far to the right it is."""
    right, down = 0.25 * even(size, generator), 0.1 * even(size, generator)
    return 0.8 * disc(*plane(0.0, right, down), 4.0), 4 * right


# Signals: 400 samples at 100 Hz unless said otherwise.
TIMES = 400


def tone(frequency: Tensor, phase: Tensor, times: int = TIMES) -> Tensor:
    """Make pure tones, (N, 1, T)."""
    time = torch.arange(times) / SFREQ
    return torch.sin(2 * torch.pi * (frequency[:, None] * time + phase[:, None]))[:, None]


def waves(frequencies: tuple[float, ...], spread: float, noise: float = 0.5) -> Callable:
    """Make the waves of section 4.2."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        load = sinusoids.load(
            int(torch.randint(1 << 30, (), generator=generator)),
            sizes=(size, 1, 1),
            frequencies=frequencies,
            spread=spread,
            noise=noise,
        )
        return load.train.x, load.train.y

    return make


def pitched(frequencies: tuple[float, ...], spread: float, noise: float = 0.3) -> Callable:
    """Make short tones whose frequency is their class."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, len(frequencies), generator)
        frequency = torch.tensor(frequencies)[y] + spread * even(size, generator)
        x = tone(frequency, torch.rand(size, generator=generator))
        return grainy(x, generator, noise), y

    return make


def loud(levels: tuple[float, ...], spread: float) -> Callable:
    """Make tones whose loudness is their class."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, len(levels), generator)
        level = torch.tensor(levels)[y] * spread ** even(size, generator)
        x = tone(even(size, generator, 3, 9), torch.rand(size, generator=generator))
        return level[:, None, None] * grainy(x, generator, 0.1), y

    return make


def silent(length: int, spread: int) -> Callable:
    """Make a tone without a silence, or with one of `length` samples or up to `spread` more."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, 2, generator)
        x = tone(even(size, generator, 3, 9), torch.rand(size, generator=generator))
        duration = length + spread * torch.rand(size, 1, 1, generator=generator)
        start = torch.rand(size, 1, 1, generator=generator) * (TIMES - duration)
        time = torch.arange(TIMES)
        hole = (time >= start) & (time < start + duration) & (y[:, None, None] == 1)
        return grainy(torch.where(hole, 0.0, x), generator, 0.02), y

    return make


NOISE_RANGE = 0.492
"""Noise that adds one point of error to 0.1 and 0.6 for the best possible classifier.

It knows how much of a signal is noise, within the chance of 397 values (400, without the tone).
With noise of √(0.6² - 0.1²) = 0.592 the classes would be equal; overlaps start before.
"""


def noisy(low: float, high: float) -> Callable:
    """Make a tone with little or much noise."""

    def make(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
        y = balanced(size, 2, generator)
        x = tone(even(size, generator, 3, 9), torch.rand(size, generator=generator))
        level = torch.tensor([low, high])[y][:, None, None]
        return x + level * torch.randn(x.shape, generator=generator), y

    return make


def teeth(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Make teeth that rise fast and fall slowly, or the same backwards."""
    y = balanced(size, 2, generator)
    time = torch.arange(TIMES) / SFREQ
    cycles = even(size, generator, 2, 3)[:, None] * time + torch.rand(size, 1, generator=generator)
    ramp = cycles % 1
    bump = torch.where(ramp < 0.2, ramp / 0.2, (1 - ramp) / 0.8)  # fast up, slow down, always > 0
    back = torch.where(ramp > 0.8, (1 - ramp) / 0.2, ramp / 0.8)
    return grainy(torch.where(y[:, None] == 0, bump, back)[:, None], generator, 0.1), y


def bumps(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Make a bump that is positive or negative, the same forwards and backwards."""
    y = balanced(size, 2, generator)
    time = torch.arange(TIMES)
    center = even(size, generator, 100, 300)[:, None]
    bump = (-((time - center) / 30).square()).exp() * (1 - 2 * y[:, None])
    return grainy(bump[:, None], generator, 0.2), y


CHANNELS = ("C3", "C4", "O1", "O2")


def lateral(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Make a tone on the left or on the right."""
    y = balanced(size, 2, generator)
    x = tone(even(size, generator, 3, 9), torch.rand(size, generator=generator))
    side = (torch.arange(4) % 2)[:, None] == y[:, None, None]
    return grainy(x * side, generator, 0.3), y


def bilateral(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Make a slow or a fast tone, on the left or on the right."""
    y = balanced(size, 2, generator)
    frequency = torch.tensor([4.0, 8.0])[y] + even(size, generator)
    x = tone(frequency, torch.rand(size, generator=generator))
    where = torch.randint(2, (size, 1, 1), generator=generator)
    side = (torch.arange(4) % 2)[:, None] == where
    return grainy(x * side, generator, 0.3), y


def how_fast(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Make a tone; the target is its frequency."""
    frequency = even(size, generator, 3, 9)
    x = tone(frequency, torch.rand(size, generator=generator))
    return grainy(x, generator, 0.2), (frequency - 6) / 3


def upright(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Draw a flag, upright or upside down."""
    y = balanced(size, 2, generator)
    a, b = plane(8 * even(size, generator), *(0.08 * even(size, generator) for _ in range(2)))
    b = torch.where(y[:, None, None] == 0, b, -b)
    return 0.8 * flag(a, b), y


def mario_iggy(generator: Generator, size: int) -> tuple[Tensor, Tensor]:
    """Make the pictures of section 4.1."""
    seed = int(torch.randint(1 << 30, (), generator=generator))
    return mario.load(seed, sizes=(size, 4, 4)).train


def task(name: str, make: Callable, table: dict[str, tuple[dict, Truth]], **rest: object) -> Task:
    """Build transforms from names and options."""
    specs = [{"name": transform, **options} for transform, (options, _) in table.items()]
    built = build_transforms(specs, sfreq=SFREQ)
    return Task(name, make, tuple(built), tuple(truth for _, truth in table.values()), **rest)


def limit(value: float) -> dict[str, float]:
    """Set a limit."""
    return {"limit": value}


SPECTRAL = {"ft_surrogate": ({}, LIMIT), "gaussian_noise": (limit(0.5), LIMIT)}
TASKS = (
    task("mario-iggy", mario_iggy, {
        "rotate": (limit(180), 45.0), "translate_x": ({}, LIMIT), "translate_y": ({}, LIMIT),
        "shear_x": ({}, LIMIT), "shear_y": ({}, LIMIT)}, size=2000),
    task("sinusoids", waves((2, 4, 6, 8), 0.5),
         {"frequency_shift": (limit(2), 0.5), **SPECTRAL}, size=400),
    task("waves-wide-gap", waves((2, 4, 6, 8), 0.25),
         {"frequency_shift": (limit(2), 0.75), **SPECTRAL}),
    task("waves-3", waves((3, 6, 9), 0.75), {"frequency_shift": (limit(3), 0.75), **SPECTRAL}),
    task("rotate-2", oriented(bar, (0, 90), 15), {
        "rotate": (limit(90), 30.0), "translate_x": (limit(0.15), LIMIT),
        "brightness": (limit(0.5), LIMIT), "horizontal_flip": ({}, LIMIT)}),
    task("rotate-3", oriented(bar, (0, 60, 120), 10), {
        "rotate": (limit(90), 20.0), "translate_y": (limit(0.15), LIMIT),
        "vertical_flip": ({}, 0.0)}),
    task("rotate-4", oriented(arrow, (0, 90, 180, 270), 10), {
        "rotate": (limit(180), 35.0), "horizontal_flip": ({}, 0.0), "invert": ({}, LIMIT)}),
    task("translate_x", placed((-0.25, 0.25), (0, 0), (0.05, 0.1)), {
        "translate_x": (limit(0.45), 0.2), "translate_y": (limit(0.25), LIMIT),
        "horizontal_flip": ({}, 0.0)}),
    task("translate_y", placed((0, 0, 0), (-0.28, 0, 0.28), (0.1, 0.04)), {
        "translate_y": (limit(0.5), 0.1), "horizontal_flip": ({}, LIMIT),
        "vertical_flip": ({}, 0.0), "gaussian_noise": (limit(0.1), LIMIT)}),
    task("scale", sized((4.0, 9.0), 1.1), {
        "scale": (limit(3.0), 1.5 / 1.1), "rotate": (limit(180), LIMIT),
        "translate_x": (limit(0.15), LIMIT)}),
    task("brightness", lit((0.3, 0.6), 0.05), {
        "brightness": (limit(0.9), (0.57 - 0.315) / (0.57 + 0.315)), "rotate": (limit(180), LIMIT),
        "horizontal_flip": ({}, LIMIT)}),
    task("hue", colored((0, 120, 240), 20), {
        "hue": ({}, 40.0), "translate_x": (limit(0.2), LIMIT), "saturation": (limit(0.3), LIMIT)}),
    task("amplitude", loud((0.5, 2.0), 1.15), {
        "amplitude_scale": (limit(5.0), 2.0 / 1.15), "time_reverse": ({}, LIMIT),
        "sign_flip": ({}, LIMIT)}),
    task("time_mask", silent(80, 20), {
        "time_mask": (limit(200), 80.0), "sign_flip": ({}, LIMIT), "time_reverse": ({}, LIMIT)}),
    task("noise-level", noisy(0.1, 0.6), {
        "gaussian_noise": (limit(1.5), NOISE_RANGE), "sign_flip": ({}, LIMIT),
        "frequency_shift": (limit(1), LIMIT)}),
    task("flip-invariant", shapes, {
        "horizontal_flip": ({}, LIMIT), "translate_x": (limit(0.1), LIMIT),
        "brightness": (limit(0.4), LIMIT)}),
    task("flip-decides", mirrored, {
        "horizontal_flip": ({}, 0.0), "translate_x": (limit(0.1), LIMIT),
        "rotate": (limit(20), LIMIT)}),
    task("reverse-decides", teeth, {
        "time_reverse": ({}, 0.0), "sign_flip": ({}, LIMIT),
        "gaussian_noise": (limit(0.2), LIMIT)}),
    task("reverse-invariant", bumps, {
        "time_reverse": ({}, LIMIT), "sign_flip": ({}, 0.0),
        "gaussian_noise": (limit(0.2), LIMIT)}),
    task("symmetry-decides", lateral, {
        "channel_symmetry": ({"channels": CHANNELS}, 0.0), "sign_flip": ({}, LIMIT),
        "ft_surrogate": ({}, LIMIT)}),
    task("symmetry-invariant", bilateral, {
        "channel_symmetry": ({"channels": CHANNELS}, LIMIT), "time_reverse": ({}, LIMIT),
        "frequency_shift": (limit(4), 1.0)}),
    task("dials", dials, {
        "rotate": (limit(180), 25.0), "horizontal_flip": ({}, 0.0), "hue": (limit(30), LIMIT),
        "translate_x": (limit(0.1), LIMIT)}),
    task("rotate-and-brightness", rotated_and_lit, {
        "rotate": (limit(90), 30.0), "brightness": (limit(0.9), (0.665 - 0.315) / 0.98),
        "horizontal_flip": ({}, LIMIT)}, size=1200),
    task("shift-and-sign", pitched((4, 8), 0.75), {
        "frequency_shift": (limit(4), 1.25), "sign_flip": ({}, LIMIT),
        "time_mask": (limit(100), LIMIT)}),
    task("no-invariance", sectors, {
        "rotate": (limit(180), 0.0), "horizontal_flip": ({}, 0.0), "vertical_flip": ({}, 0.0)}),
    task("few-samples", pitched((4, 7), 0.5), {
        "frequency_shift": (limit(3), 1.0), "sign_flip": ({}, LIMIT), "ft_surrogate": ({}, LIMIT)},
        size=100),
    task("few-images", oriented(bar, (0, 90), 15), {
        "rotate": (limit(90), 30.0), "horizontal_flip": ({}, LIMIT),
        "translate_x": (limit(0.15), LIMIT)}, size=100),
    task("label-noise", oriented(bar, (0, 90), 15), {
        "rotate": (limit(90), 30.0), "horizontal_flip": ({}, LIMIT),
        "translate_x": (limit(0.15), LIMIT)}, label_noise=0.1),
    task("regress-position", position, {
        "translate_x": (limit(0.2), 0.0), "translate_y": (limit(0.2), LIMIT),
        "horizontal_flip": ({}, 0.0), "brightness": (limit(0.4), LIMIT)}),
    task("regress-frequency", how_fast, {
        "frequency_shift": (limit(2), 0.0), "sign_flip": ({}, LIMIT),
        "amplitude_scale": (limit(2), LIMIT)}),
    # Not used while settings were chosen.
    task("held-rotate-5", oriented(arrow, (0, 72, 144, 216, 288), 12), {
        "rotate": (limit(120), 24.0), "brightness": (limit(0.5), LIMIT),
        "shear_x": (limit(0.15), LIMIT)}, held_out=True, size=1000),
    task("held-hue-4", colored((0, 90, 180, 270), 15), {
        "hue": ({}, 30.0), "horizontal_flip": ({}, LIMIT), "rotate": (limit(90), LIMIT)},
        held_out=True),
    task("held-brightness-3", lit((0.2, 0.4, 0.8), 0.04), {
        "brightness": (limit(0.8), (0.384 - 0.208) / (0.384 + 0.208)),
        "vertical_flip": ({}, LIMIT), "translate_y": (limit(0.1), LIMIT)}, held_out=True),
    task("held-shift-5", pitched((3, 4.5, 6, 7.5, 9), 0.25), {
        "frequency_shift": (limit(3), 0.5), "time_reverse": ({}, LIMIT),
        "amplitude_scale": (limit(2), LIMIT)}, held_out=True, size=1000),
    task("held-amplitude-3", loud((0.25, 1.0, 4.0), 1.2), {
        "amplitude_scale": (limit(8.0), 2.0 / 1.2), "sign_flip": ({}, LIMIT),
        "time_mask": (limit(100), LIMIT)}, held_out=True),
    task("held-vertical-flip", upright, {
        "vertical_flip": ({}, 0.0), "horizontal_flip": ({}, LIMIT),
        "contrast": (limit(0.4), LIMIT)}, held_out=True),
)  # fmt: skip
