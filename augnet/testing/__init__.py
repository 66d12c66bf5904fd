"""Check the laws of transforms: `check_transform(MyTransform())`.

    base        the registry of laws
    laws        laws about values, randomness, shapes and types
    gradients   laws about gradients

A law is a function of a transform and an input that raises an error if it does not hold; `LAWS` has
them by name. A transform that is exempt from a law says so, with the reason, in its `exemptions`.
"""

import torch
from torch import Tensor

from augnet.testing import gradients, laws  # they register their laws
from augnet.testing.base import LAWS, Law
from augnet.transforms import Transform

__all__ = ["LAWS", "Law", "check_transform", "example_input", "gradients", "laws"]

SIZES = {"H": 18, "W": 20, "T": 256}


def check_transform(transform: Transform, x: Tensor | None = None) -> None:
    """Raise an AssertionError that names the laws a transform breaks, and how.

    `x` is a batch of at least eight samples; without it, one that fits the domain is made. The law
    `expected_gradient` is for transforms that are exempt from `exact_gradient`.
    """
    x = example_input(transform) if x is None else x
    transform.check(x)
    if len(x) < 8:
        raise ValueError(f"check_transform takes at least eight samples; got {len(x)}")
    broken = []
    for name, law in LAWS.items():
        exact = name == "expected_gradient" and "exact_gradient" not in transform.exemptions
        if exact or name in transform.exemptions:
            continue
        try:
            law(transform, x.clone())
        except Exception as error:  # whatever a transform raises, it breaks the law
            promise = (law.__doc__ or "").removeprefix("Check that ")
            broken.append(f"{name}: {promise} {type(error).__name__}: {error}")
    if broken:
        raise AssertionError(f"{transform.name} breaks these laws:\n" + "\n".join(broken))


def example_input(transform: Transform, batch: int = 8, seed: int = 0) -> Tensor:
    """Make a batch that fits the domain of a transform: images in [0, 1], else normal values."""
    channels = 3 if "H" in transform.domain.axes else len(getattr(transform, "channels", ())) or 6
    shape = [batch]
    for axis in transform.domain.axes[1:]:
        sizes = (channels, SIZES["T"]) if axis == "..." else (SIZES.get(axis, channels),)
        shape += (int(axis),) if axis.isdigit() else sizes
    generator = torch.Generator().manual_seed(seed)
    draw = torch.rand if "H" in transform.domain.axes else torch.randn
    return draw(shape, generator=generator)
