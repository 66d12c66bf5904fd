"""Draw each transform at three strengths: `python docs/transform_pictures.py`.

The pictures are docs/_static/transforms/NAME.png, which docs/transforms.md shows: a sample before,
and at a third, two thirds and all of the default limit. A transform that is applied as a whole is
shown before and after. The samples are drawn here: a house, waves, and six electrodes.
"""

import math
from pathlib import Path

import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from torch import Generator, Tensor

from augnet.learn.strengths import apply_at_strength
from augnet.transforms import TRANSFORMS, Bernoulli, Transform, build_transforms

FOLDER = Path(__file__).parent / "_static" / "transforms"
SIDE = 64
SFREQ = 100
CHANNELS = ("F3", "F4", "C3", "C4", "O1", "O2")
SENSORS = ("channel_symmetry", "channel_dropout", "channel_shuffle", "sensor_rotation_x",
           "sensor_rotation_y", "sensor_rotation_z")  # fmt: skip
DRAWS = 16
"""Draws of params, such as the place of a mask; the one that changes the sample most is shown."""


def house() -> Tensor:
    """Draw a house beside a tree below the sun, (3, SIDE, SIDE) in [0, 1]."""
    down, across = torch.meshgrid(*[torch.linspace(0, 1, SIDE)] * 2, indexing="ij")
    image = torch.stack((0.35 + 0.4 * down, 0.6 + 0.25 * down, 0.95 - 0.1 * down))

    def paint(where: Tensor, *color: float) -> None:
        image[:, where] = torch.tensor(color)[:, None]

    paint(down > 0.8, 0.35, 0.6, 0.25)
    paint((down - 0.2).square() + (across - 0.22).square() < 0.012, 1.0, 0.9, 0.3)
    paint((down > 0.5) & (down < 0.85) & (across > 0.45) & (across < 0.85), 0.75, 0.4, 0.3)
    paint((down > 0.25) & (down < 0.5) & ((across - 0.65).abs() < down - 0.25), 0.35, 0.2, 0.2)
    paint((down > 0.62) & (down < 0.85) & (across > 0.52) & (across < 0.63), 0.25, 0.15, 0.1)
    paint((down > 0.6) & (down < 0.9) & ((across - 0.2).abs() < 0.03), 0.4, 0.3, 0.2)
    paint((down - 0.55).square() + (across - 0.2).square() < 0.016, 0.15, 0.45, 0.2)
    return image


def stripes() -> Tensor:
    """Draw slanted stripes: the other sample of a pair."""
    down, across = torch.meshgrid(*[torch.linspace(0, 1, SIDE)] * 2, indexing="ij")
    return (0.5 + 0.5 * torch.sin(25 * (down + across))).expand(3, -1, -1)


def waves() -> Tensor:
    """Draw three seconds: a rhythm of 4 Hz, a short burst of 12 Hz and a slow drift, (1, T)."""
    time = torch.arange(3 * SFREQ) / SFREQ
    burst = torch.exp(-(((time - 0.9) / 0.25) ** 2)) * torch.sin(2 * math.pi * 12 * time)
    return (0.4 * torch.sin(2 * math.pi * 4 * time) + burst + 0.2 * (time - 1.5))[None]


def electrodes() -> Tensor:
    """Draw six channels, each with another amplitude and phase, (6, T)."""
    time = torch.arange(3 * SFREQ) / SFREQ
    gains = torch.tensor([1.6, 0.1, 1.2, 0.4, 0.1, 0.8])
    delays = 0.03 * torch.arange(6)
    return gains[:, None] * torch.sin(2 * math.pi * 2 * (time - delays[:, None]))


def is_image(transform: Transform) -> bool:
    """Say whether a transform is shown on images. Of those for any shape, one is."""
    return "images" in transform.domain.name or transform.name == "sample_pairing"


def views(transform: Transform) -> list[Tensor]:
    """Return a sample before, and at a third, two thirds and all of the limit."""
    if is_image(transform):
        x = torch.stack((house(), stripes()))
    else:
        x = (electrodes() if transform.name in SENSORS else waves())[None]
    magnitudes = (1.0,) if isinstance(transform, Bernoulli) else (1 / 3, 2 / 3, 1.0)

    def at(magnitude: float, seed: int) -> Tensor:
        fractions, signs = torch.full((len(x),), magnitude), torch.ones(len(x))
        generator = Generator().manual_seed(seed)
        return apply_at_strength(transform, x, fractions, generator, signs)[0]

    seed = max(range(DRAWS), key=lambda seed: float((at(1.0, seed) - x[0]).square().sum()))
    return [x[0], *(at(each, seed) for each in magnitudes)]


def picture(transform: Transform) -> Image.Image:
    """Draw the views of a transform beside each other."""
    shown = views(transform)
    return images(shown) if is_image(transform) else traces(shown)


def images(shown: list[Tensor], gap: int = 6) -> Image.Image:
    """Draw images beside each other."""
    between = torch.ones(3, SIDE, gap)
    parts = [part for view in shown for part in (view.clamp(0, 1), between)][:-1]
    pixels = (255 * torch.cat(parts, 2)).round().byte().permute(1, 2, 0)
    return Image.fromarray(pixels.numpy())


def traces(shown: list[Tensor]) -> Image.Image:
    """Draw signals beside each other, with what they were before in gray."""
    count = len(shown[0])
    step = 2.5
    reach = max(float(view[0].abs().max()) for view in shown)
    figure = Figure(figsize=(1.0 * len(shown), 0.5 + 0.13 * count), layout="constrained", dpi=100)
    for axis, view in zip(figure.subplots(1, len(shown)), shown, strict=True):
        for place, (now, then) in enumerate(zip(view, shown[0], strict=True)):
            axis.plot(then - step * place, color="0.75", lw=0.7)
            axis.plot(now - step * place, color="#0072b2", lw=0.8)
        axis.set_ylim(-step * (count - 1) - reach, reach)
        axis.set_axis_off()
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = Image.frombuffer("RGBA", canvas.get_width_height(), canvas.buffer_rgba())
    return drawn.convert("RGB").quantize(32)


def main() -> None:
    """Draw all built-in transforms."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    own = [name for name, cls in TRANSFORMS.items() if cls.__module__.startswith("augnet.")]
    for transform in build_transforms(own, sfreq=SFREQ, channels=CHANNELS):
        picture(transform).save(FOLDER / f"{transform.name}.png", optimize=True)


if __name__ == "__main__":
    main()
