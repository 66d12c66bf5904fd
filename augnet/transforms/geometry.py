"""Words that move pixels: translate, shear, rotate, scale, flips. One affine warp for all."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

from augnet.transforms.base import IMAGES, Domain, Multiplicative, Ranged, Switched
from augnet.transforms.relax import straight_through

Interpolation: TypeAlias = Literal["bilinear", "bicubic", "nearest"]
Padding: TypeAlias = Literal["zeros", "border", "reflection"]


def warp(
    x: Tensor,
    matrix: Tensor,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
) -> Tensor:
    """Move the content of images by affine maps, one per image, about the image's centre.

    `matrix` (B, 2, 3) maps where a point is to where it goes, x to the right and y down. Its
    linear part acts on pixels; its last column is a translation in fractions of the width and
    of the height. The identity matrix gives `x` itself, exactly.
    """
    height, width = x.shape[-2:]
    (a, b, right), (c, d, down) = (row.unbind(-1) for row in matrix[:, None, None].unbind(-2))
    # Each output pixel looks back to where it came from. Broadcasting builds this grid several
    # times faster than a batched product of tiny matrices, and autocast leaves it alone.
    across = _centred(x, width) - right * width
    along = _centred(x, height)[:, None] - down * height
    determinant = a * d - b * c
    grid = torch.stack(
        (
            (d * across - b * along) * (2 / width / determinant),
            (a * along - c * across) * (2 / height / determinant),
        ),
        dim=-1,
    )
    warped = F.grid_sample(x, grid, interpolation, padding, align_corners=False)
    if interpolation == "nearest" and torch.is_grad_enabled():  # which has no gradient of its own
        smooth = F.grid_sample(x, grid, "bilinear", padding, align_corners=False)
        warped = straight_through(warped, smooth)
    still = (matrix == torch.eye(2, 3, dtype=matrix.dtype, device=matrix.device)).all(2).all(1)
    return torch.where(still[:, None, None, None], straight_through(x, warped), warped)


def _centred(x: Tensor, size: int) -> Tensor:
    return torch.arange(size, dtype=x.dtype, device=x.device) - (size - 1) / 2


def affine(rows: tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]) -> Tensor:
    """Build (B, 2, 3) matrices from entries that are numbers or tensors of shape (B,)."""
    like = next(entry for row in rows for entry in row if isinstance(entry, Tensor))
    entries = [
        entry if isinstance(entry, Tensor) else torch.full_like(like, entry)
        for row in rows
        for entry in row
    ]
    return torch.stack(entries, dim=-1).unflatten(-1, (2, 3))


@dataclass(frozen=True)
class Affine(Ranged):
    """A ranged word that is a matrix, so that words can share one resampling."""

    interpolation: Interpolation = "bilinear"
    padding: Padding = "zeros"

    domain: ClassVar[Domain] = IMAGES

    def __post_init__(self) -> None:
        super().__post_init__()
        for value, choices in (
            (self.interpolation, get_args(Interpolation)),
            (self.padding, get_args(Padding)),
        ):
            if value not in choices:
                raise ValueError(f"{self.name} knows {', '.join(choices)}; got {value!r}")

    @abstractmethod
    def matrix(self, strength: Tensor) -> Tensor:
        """Give the affine maps (B, 2, 3) of strengths (B,), as `warp` takes them."""

    def apply(self, x: Tensor, strength: Tensor) -> Tensor:
        """Resample the images under their maps."""
        return warp(x, self.matrix(strength), self.interpolation, self.padding)


@dataclass(frozen=True)
class TranslateX(Affine):
    """Move images sideways by up to ±limit of their width."""

    limit: float = 0.5

    unit: ClassVar[str] = "of the width"

    def matrix(self, strength: Tensor) -> Tensor:
        """Shift x."""
        return affine(((1, 0, strength), (0, 1, 0)))


@dataclass(frozen=True)
class TranslateY(Affine):
    """Move images up or down by up to ±limit of their height."""

    limit: float = 0.5

    unit: ClassVar[str] = "of the height"

    def matrix(self, strength: Tensor) -> Tensor:
        """Shift y."""
        return affine(((1, 0, 0), (0, 1, strength)))


@dataclass(frozen=True)
class ShearX(Affine):
    """Slant images sideways: each row moves by up to ±limit of its distance from the centre."""

    limit: float = 0.3

    unit: ClassVar[str] = "shear"

    def matrix(self, strength: Tensor) -> Tensor:
        """Add a part of y to x."""
        return affine(((1, strength, 0), (0, 1, 0)))


@dataclass(frozen=True)
class ShearY(Affine):
    """Slant images upwards: each column moves by up to ±limit of its distance from the centre."""

    limit: float = 0.3

    unit: ClassVar[str] = "shear"

    def matrix(self, strength: Tensor) -> Tensor:
        """Add a part of x to y."""
        return affine(((1, 0, 0), (strength, 1, 0)))


@dataclass(frozen=True)
class Rotate(Affine):
    """Turn images by an angle within ±limit degrees, counter-clockwise if positive."""

    limit: float = 30.0

    unit: ClassVar[str] = "degrees"

    def matrix(self, strength: Tensor) -> Tensor:
        """Rotate about the centre."""
        cos, sin = strength.deg2rad().cos(), strength.deg2rad().sin()
        return affine(((cos, sin, 0), (-sin, cos, 0)))


@dataclass(frozen=True)
class Scale(Multiplicative, Affine):
    """Enlarge or shrink images about their centre by up to `limit` times."""

    limit: float = 1.5

    def matrix(self, strength: Tensor) -> Tensor:
        """Stretch x and y alike."""
        return affine(((strength, 0, 0), (0, strength, 0)))


@dataclass(frozen=True)
class HorizontalFlip(Switched):
    """Mirror images left to right."""

    domain: ClassVar[Domain] = IMAGES

    def apply(self, x: Tensor) -> Tensor:
        """Reverse the width."""
        return x.flip(-1)

    def matrix(self, tossed: Tensor) -> Tensor:
        """Give the affine maps of tosses (B,): the identity for tails, a mirror for heads."""
        return affine(((1 - 2 * tossed, 0, 0), (0, 1, 0)))


@dataclass(frozen=True)
class VerticalFlip(Switched):
    """Mirror images top to bottom."""

    domain: ClassVar[Domain] = IMAGES

    def apply(self, x: Tensor) -> Tensor:
        """Reverse the height."""
        return x.flip(-2)

    def matrix(self, tossed: Tensor) -> Tensor:
        """Give the affine maps of tosses (B,): the identity for tails, a mirror for heads."""
        return affine(((1, 0, 0), (0, 1 - 2 * tossed, 0)))
