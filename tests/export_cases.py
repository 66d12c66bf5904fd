"""Augmentations to export, and how views of two libraries are compared."""

from dataclasses import dataclass
from typing import ClassVar

import torch
from specimens import inputs, specimen

from augnet import TRANSFORMS, AugmentationLayer, AugmentationModule
from augnet.export import LIBRARIES
from augnet.transforms import (
    COLOR_IMAGES,
    SIGNALS,
    HorizontalFlip,
    Posterize,
    Rotate,
    Transform,
    TranslateX,
)

DRAWS = 40


@dataclass(frozen=True)
class Identity(Transform):
    """Return samples as they are."""

    limit: float = 1.0
    unit: ClassVar[str] = ""

    def sample_params(self, shape, like, generator=None):
        """Draw nothing."""

    def apply(self, x, magnitude, params):
        """Return the samples."""
        return x


IDENTITY = Identity()


def offered():
    """Return the names of all transforms that change samples."""
    return [name for name in TRANSFORMS if name != "identity"]


def known(library):
    return sorted(LIBRARIES[library].lines)


def alone(name):
    """Build an augmentation of one transform; posterize needs all bits to show."""
    return module([Posterize(8.0) if name == "posterize" else specimen(name)])


def module(*layers, magnitude=0.6):
    return AugmentationModule(
        *(AugmentationLayer(*layer, magnitude=magnitude) for layer in layers)
    ).eval()


def drawn(*transforms, magnitude=0.6, times=1):
    """Build an augmentation as `learn` does: equal layers that draw one of all transforms."""
    layers = (
        AugmentationLayer(*transforms, magnitude=magnitude, mixing="drawn") for _ in range(times)
    )
    return AugmentationModule(*layers).eval()


def _weighted():
    """Build a layer with weights of its own, before another one."""
    first = AugmentationLayer(Rotate(), HorizontalFlip(), specimen("brightness"), magnitude=0.8)
    with torch.no_grad():
        first.logits.copy_(torch.tensor([0.6, 0.3, 0.1]).log())
    second = AugmentationLayer(specimen("contrast"), IDENTITY, mixing="drawn")
    return AugmentationModule(first, second).eval()


_KEPT = (
    *(specimen(name) for name in ("rotate", "translate_x", "scale", "contrast", "posterize")),
    HorizontalFlip(),
    IDENTITY,
)
LAYERS = {
    **{f"{times} of {len(_KEPT)}": drawn(*_KEPT, times=times) for times in (1, 2, 3)},
    "weights": _weighted(),
    "sequence": module([Rotate()], [HorizontalFlip()], [specimen("gaussian_noise")]),
}

PADDED = {
    "border": module([Rotate(90.0, padding="border")]),
    "reflection": module([TranslateX(padding="reflection", interpolation="bicubic")]),
}
"""Options that torchvision does not have."""


def smooth(batch=6):
    """Images whose views do not depend on how pixels are interpolated."""
    x = inputs(COLOR_IMAGES, batch)
    return (
        torch.nn.functional.avg_pool2d(x, 7, 1, 3, count_include_pad=False)
        .sub(0.5)
        .mul(3)
        .add(0.5)
        .clamp(0, 1)
    )


def signals(name, batch=6):
    """Signals; bandstop filters have long flanks, so only long signals show where they stop."""
    if name != "bandstop":
        return inputs(SIGNALS, batch)
    return torch.randn(batch, 6, 2000, generator=torch.Generator().manual_seed(0))


def executed(snippet):
    names = {}
    exec(compile(snippet.text, "snippet", "exec"), names)
    return names["augment"]


def torch_views(snippet, x, draws=DRAWS):
    """Return views (draws, B, ...) by a snippet that takes batches."""
    augment = executed(snippet)
    torch.manual_seed(0)
    return torch.stack([augment(x) for _ in range(draws)])


def alike(ours, theirs, x, mean=0.12, spread=0.15):
    """Compare the distributions of views, as parts of how far views are from their samples."""
    torch.manual_seed(0)
    views = torch.stack([ours(x) for _ in range(len(theirs))])
    centers, spreads = (views.mean(0), theirs.mean(0)), (_rms(views), _rms(theirs))
    moved = (x - centers[0]).square().mean().sqrt() + spreads[0]
    assert moved > 0.01
    assert (centers[0] - centers[1]).square().mean().sqrt() < (mean + 2 / DRAWS**0.5) * moved
    assert abs(spreads[0] - spreads[1]) < spread * moved


def _rms(views):
    """Return the spread over draws, over all pixels."""
    return views.std(0).square().mean().sqrt()
