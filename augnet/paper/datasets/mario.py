"""The Mario-Iggy data of section 4.1: two figures, each upright or upside down, up to ±45°.

The class is the figure and whether it is upright; every image is rotated by up to ±45° from there.
Another rotation by up to ±45° does not change the class.
"""

from pathlib import Path

import numpy as np
import torch
from torch import Generator, Tensor

from augnet import validation
from augnet.paper.datasets.splits import Samples, Splits
from augnet.transforms import Rotate

SIZE = 32


def load(
    seed: int = 0,
    *,
    sizes: tuple[int, int, int] = (10_000, 1_000, 5_000),
    spread: float = 45.0,
    images: str | None = None,
    draw: int | None = None,
) -> Splits:
    """Rotate two images: classes 0 and 2 are upright, 1 and 3 upside down, ± `spread` degrees.

    The images are drawn in code, or read from an `.npz` file that holds two images (3, 32, 32),
    such as those of the authors. With `draw` the data is the same for all seeds.
    """
    validation.sizes(sizes)
    sources = figures() if images is None else read(Path(images))
    generator = Generator().manual_seed(seed if draw is None else draw)

    def make(size: int) -> Samples:
        label = torch.arange(size)[torch.randperm(size, generator=generator)] % 4
        angle = 180 * (label % 2) + spread * (2 * torch.rand(size, generator=generator) - 1)
        return Samples(Rotate(180).transform(sources[label // 2], angle), label)

    return Splits(*map(make, sizes))


def read(path: Path) -> Tensor:
    """Read two images from an `.npz` file, without unpickling anything."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = [np.asarray(file[name], dtype=np.float32) for name in file.files]
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} is not a readable .npz file of two images: {error}") from error
    if len(arrays) != 2 or any(array.squeeze().shape != (3, SIZE, SIZE) for array in arrays):
        came = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"{path} should hold two images (3, {SIZE}, {SIZE}); got {came}")
    return torch.from_numpy(np.stack([array.squeeze() for array in arrays]))


def figures() -> Tensor:
    """Draw a lighthouse and a mushroom, (2, 3, 32, 32), inside the circle that rotations keep."""
    y, x = np.mgrid[-15.5:16, -15.5:16]

    def paint(*shapes: tuple[np.ndarray, tuple[float, float, float]]) -> np.ndarray:
        canvas = np.zeros((3, SIZE, SIZE), dtype=np.float32)
        for mask, color in shapes:
            canvas[:, mask] = np.array(color, dtype=np.float32)[:, None]
        return canvas

    tower = (np.abs(x) < 3 + (y + 8) / 8) & (y > -7) & (y < 13)
    lighthouse = paint(
        (tower, (0.95, 0.95, 0.9)),
        (tower & (np.floor((y + 7) / 4) % 2 == 1), (0.8, 0.15, 0.15)),
        ((np.abs(x) < 2.5) & (y > -11) & (y <= -7), (1.0, 0.85, 0.2)),
        ((np.abs(x) < y + 15) & (y <= -11) & (y > -15), (0.3, 0.3, 0.35)),
    )
    cap = (x**2 / 144 + (y + 2) ** 2 / 100 < 1) & (y < 0)
    spots = ((np.abs(x) - 6) ** 2 + (y + 4) ** 2 < 5) | (x**2 + (y + 8) ** 2 < 6)
    mushroom = paint(
        ((np.abs(x) < 5) & (y >= 0) & (y < 12), (0.95, 0.85, 0.7)),
        (cap, (0.15, 0.55, 0.3)),
        (cap & spots, (1.0, 1.0, 1.0)),
        ((np.abs(np.abs(x) - 2) < 0.8) & (y > 3) & (y < 7), (0.1, 0.1, 0.1)),
    )
    return torch.from_numpy(np.stack([lighthouse, mushroom]))
