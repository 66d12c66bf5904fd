"""Use operations of torchvision v2 and kornia as transforms: results/operations.json.

Each operation is made a transform by `transform_from` or `from_operation`, which check its laws;
then `audit` learns what labels allow, and measures a model. Samples are few: this shows what runs,
not what is found. Operations of a library that cannot be imported are skipped, with a message.

    python benchmarks/operations.py
"""

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor

from augnet import audit, transform_from
from augnet.transforms import Transform, from_operation

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "operations.json"
IMAGES = {"domain": "images"}
COLOR = {"domain": "color_images"}


def kornia_operations() -> dict[str, Callable[[], Transform]]:
    """Return functions that make transforms of kornia's operations."""
    from kornia import augmentation as ka
    from kornia import enhance, filters, geometry

    def turned(x: Tensor, s: float) -> Tensor:
        return geometry.rotate(x, x.new_full((len(x),), s))

    def moved(x: Tensor, s: float) -> Tensor:
        return geometry.translate(x, x.new_tensor([[s, 0.0]]).expand(len(x), 2))

    def sheared(x: Tensor, s: float) -> Tensor:
        return geometry.shear(x, x.new_tensor([[s, 0.0]]).expand(len(x), 2))

    def blurred(x: Tensor, s: float) -> Tensor:
        return filters.gaussian_blur2d(x, (7, 7), (max(s, 1e-3), max(s, 1e-3)))

    def sharpened(x: Tensor, s: float) -> Tensor:
        return x + s * (filters.unsharp_mask(x, (5, 5), (1.0, 1.0)) - x)

    return {
        "geometry.rotate": lambda: transform_from(
            turned, limit=30.0, unit="degrees", signed=True, **IMAGES
        ),
        "geometry.translate": lambda: transform_from(
            moved, limit=4.0, unit="pixels", signed=True, **IMAGES
        ),
        "geometry.shear": lambda: transform_from(
            sheared, limit=0.3, unit="slope", signed=True, **IMAGES
        ),
        "enhance.adjust_brightness": lambda: transform_from(
            enhance.adjust_brightness, limit=0.5, unit="levels", signed=True, **IMAGES
        ),
        "enhance.adjust_contrast": lambda: transform_from(
            lambda x, s: enhance.adjust_contrast(x, 1 - s), limit=0.9, name="contrast_k", **IMAGES
        ),
        "enhance.adjust_gamma": lambda: transform_from(
            lambda x, s: enhance.adjust_gamma(x, 1 + s), limit=1.0, name="gamma_k", **IMAGES
        ),
        "enhance.adjust_hue": lambda: transform_from(
            enhance.adjust_hue, limit=0.5, unit="radians", signed=True, **COLOR
        ),
        "enhance.adjust_saturation": lambda: transform_from(
            lambda x, s: enhance.adjust_saturation(x, 1 + s), limit=0.9, signed=True,
            name="saturation_k", **COLOR,
        ),
        "filters.gaussian_blur2d": lambda: transform_from(
            blurred, limit=2.0, unit="pixels", **IMAGES
        ),
        "filters.unsharp_mask": lambda: transform_from(sharpened, limit=2.0, **IMAGES),
        "augmentation.RandomRotation": lambda: from_operation(
            lambda s: ka.RandomRotation((s, s), p=1.0), limit=30.0, unit="degrees", signed=True
        ),
        "augmentation.RandomGaussianNoise": lambda: from_operation(
            lambda s: ka.RandomGaussianNoise(std=s, p=1.0), limit=0.3, unit="levels", random=True
        ),
        "augmentation.RandomPerspective": lambda: from_operation(
            lambda s: ka.RandomPerspective(s, p=1.0), limit=0.5, unit="of the size", random=True
        ),
    }  # fmt: skip


def torchvision_operations() -> dict[str, Callable[[], Transform]]:
    """Return functions that make transforms of torchvision's operations."""
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as tf

    return {
        "functional.rotate": lambda: transform_from(
            tf.rotate, limit=30.0, unit="degrees", signed=True, name="rotate_tv", **IMAGES
        ),
        "functional.adjust_brightness": lambda: transform_from(
            lambda x, s: tf.adjust_brightness(x, 1 + s), limit=0.9, signed=True,
            name="brightness_tv", **IMAGES,
        ),
        "functional.adjust_sharpness": lambda: transform_from(
            lambda x, s: tf.adjust_sharpness(x, 1 + s), limit=3.0, name="sharpness_tv", **IMAGES
        ),
        "functional.adjust_hue": lambda: transform_from(
            tf.adjust_hue, limit=0.3, unit="of the circle", signed=True, name="hue_tv", **COLOR
        ),
        "v2.RandomRotation": lambda: from_operation(
            lambda s: v2.RandomRotation((s, s)), limit=30.0, unit="degrees", signed=True
        ),
        "v2.RandomAffine": lambda: from_operation(
            lambda s: v2.RandomAffine(0, shear=(s, s)), limit=20.0, unit="degrees", signed=True
        ),
        "v2.ColorJitter": lambda: from_operation(
            lambda s: v2.ColorJitter(contrast=(1 - s, 1 - s)), limit=0.9
        ),
        "v2.GaussianNoise": lambda: from_operation(
            lambda s: v2.GaussianNoise(sigma=s), limit=0.3, unit="levels", random=True
        ),
        "v2.RandomPerspective": lambda: from_operation(
            lambda s: v2.RandomPerspective(s, p=1.0), limit=0.5, unit="of the size", random=True
        ),
        "v2.ElasticTransform": lambda: from_operation(
            lambda s: v2.ElasticTransform(alpha=s, sigma=2.0), limit=50.0, unit="pixels",
            random=True,
        ),
    }  # fmt: skip


LIBRARIES = {"kornia": kornia_operations, "torchvision": torchvision_operations}


def samples(count: int = 64) -> tuple[Tensor, Tensor]:
    """Draw color images of two levels."""
    source = Generator().manual_seed(0)
    y = torch.arange(count) % 2
    x = 0.3 + 0.3 * y[:, None, None, None] + 0.1 * torch.rand(count, 3, 16, 16, generator=source)
    return x, y


def predict(x: Tensor) -> Tensor:
    """Call an image bright by its upper left corner."""
    level = x[:, 0, :4, :4].mean((1, 2))
    return torch.stack((0.5 - level, level - 0.5), 1)


def run(make: Callable[[], Transform]) -> dict[str, Any]:
    """Check an operation, measure labels and a model with it; say what fails."""
    start = time.process_time()
    try:
        made = make()
        x, y = samples()
        found = audit(predict, x, y, [made], budget=40, threads=1).rows[0]
    except (ValueError, TypeError, RuntimeError) as error:
        return {"works": False, "error": " ".join(str(error).split())[:300]}
    seconds = round(time.process_time() - start, 1)
    return {
        "works": True,
        "unit": made.unit,
        "limit": made.limit,
        "labels": found.labels.status,
        "finding": found.finding,
        "cpu_seconds": seconds,
    }


def main() -> None:
    """Run all operations of the libraries that are there."""
    from augnet.paper.run import commit  # which needs more packages than the operations

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = json.loads(given.out.read_text()) if given.out.exists() else {"operations": {}}
    for library in given.libraries.split(","):
        if importlib.util.find_spec(library) is None:
            print(f"{library} is not installed here: its operations are skipped")
            continue
        for name, make in LIBRARIES[library]().items():
            row = run(make) | {"commit": commit()}
            print(f"{library}.{name}: {row}")
            done["operations"][f"{library}.{name}"] = row
            done["command"] = "python benchmarks/operations.py"
            given.out.write_text(f"{json.dumps(done, indent=1)}\n")


if __name__ == "__main__":
    main()
