"""Augmentations to export, and how views of two libraries are compared."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import torch
from specimens import inputs, specimen

from augnet import TRANSFORMS, AugmentationLayer, AugmentationModule, AugNet
from augnet.export import LIBRARIES, measured
from augnet.learn.net import build_augment
from augnet.learn.result import Invariance
from augnet.model import Model
from augnet.model.header import GainRecord, Measurement
from augnet.transforms import (
    COLOR_IMAGES,
    SIGNALS,
    Equalize,
    HorizontalFlip,
    Invert,
    Posterize,
    Rotate,
    Scale,
    Transform,
    TranslateX,
)
from augnet.trunks import build_trunk

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


SHAPE = (3, 18, 20)
ROWS = (
    Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0)),
    Invariance(HorizontalFlip(), "reached_limit", 0.5, (0.5, 0.5), cost=-0.002),
    Invariance(Equalize(), "reached_limit", 1.0, (1.0, 1.0)),
    Invariance(Posterize(), "bounded", 2.3, (2.0, 3.0)),
    Invariance(Invert(), "not_invariant", 0.0, (0.0, 0.0)),
    Invariance(Scale(), "unclear", 1.0, (1.0, 1.0), reason="no time was left"),
)
"""What `learn` may measure: four transforms preserve the label, one does not, one is unclear."""


def learned(draws=1, used=None, rows=ROWS, shape=SHAPE, gain=True):
    """Return a model with the augmentation that `learn` builds of the ranges that it uses."""
    torch.manual_seed(0)
    data = SimpleNamespace(x=torch.rand(2, *shape))
    used = [row for row in rows if row.kept] if used is None else used
    augment = build_augment(data, used, draws)
    record = GainRecord(
        draws=draws,
        score=0.95,
        plain_score=0.93,
        difference=0.02,
        interval=(-0.005, 0.045),
        averaging=0.004,
        scores=(0.93, 0.94, 0.95),
    )
    return Model.of(
        AugNet(augment, build_trunk("small", shape, 2)),
        shape,
        classes=("a", "b"),
        invariances=rows,
        measurement=Measurement(gain=record if gain else None),
    )


def measured_of(model, draws=None):
    """Return the measured ranges of a model, and notes."""
    return measured(model.header, model.net.augment, draws)


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
