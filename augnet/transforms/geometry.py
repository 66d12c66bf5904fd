"""Transforms that move pixels: translate, shear, rotate, scale, flip. All are affine maps."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from augnet import validation
from augnet.transforms.base import (
    IMAGES,
    Bernoulli,
    Domain,
    Magnitude,
    Multiplicative,
    Params,
    Signed,
    per_sample,
)
from augnet.transforms.registry import register_transform
from augnet.transforms.relax import straight_through, straight_through_where

Interpolation: TypeAlias = Literal["bilinear", "bicubic", "nearest"]
Padding: TypeAlias = Literal["zeros", "border", "reflection"]
Pivot: TypeAlias = Literal["center", "corner"]


def warp(
    x: Tensor,
    matrix: Tensor,
    interpolation: Interpolation = "bilinear",
    padding: Padding = "zeros",
) -> Tensor:
    """Resample images under affine maps, one per image, about the center of the image.

    `matrix` (B, 2, 3) maps the position of a point to its new position, x to the right and y down.
    Its linear part acts on pixels; its last column is a translation in fractions of the width and
    of the height. This is the plain definition of all geometric transforms. Resampling on the
    identity grid rounds, so images whose matrix is the identity are returned as they are, with the
    gradient of the warp. Next to an edge, bicubic values can exceed those of the image, as in
    other libraries.
    """
    height, width = x.shape[-2:]
    (a, b, right), (c, d, down) = (row.unbind(-1) for row in matrix.unbind(-2))
    # The grid has the source of each output pixel, in halves of a side. It is the sum of a part per
    # column and a part per row: one broadcast, and two sums in the backward pass.
    inverse = torch.stack((d / width, -c / height, -b / width, a / height), dim=-1)
    inverse = (inverse * (2 / (a * d - b * c))[:, None]).unflatten(-1, (2, 2, 1))
    across = inverse[:, 0] * (centered(x, width) - (right * width)[:, None])[:, None]
    along = inverse[:, 1] * (centered(x, height) - (down * height)[:, None])[:, None]
    grid = (across[:, :, None] + along[..., None]).permute(0, 2, 3, 1)
    warped = F.grid_sample(x, grid, interpolation, padding, align_corners=False)
    if interpolation == "nearest" and torch.is_grad_enabled():  # it has no gradient of its own
        smooth = F.grid_sample(x, grid, "bilinear", padding, align_corners=False)
        warped = straight_through(warped, smooth)
    still = (matrix == torch.eye(2, 3, dtype=matrix.dtype, device=matrix.device)).all(2).all(1)
    return straight_through_where(still[:, None, None, None], x, warped)


def compose(first: Tensor, second: Tensor, x: Tensor) -> Tensor:
    """Return the product of two maps of images `x`: `first`, then `second`."""
    # Translations are in fractions of the sides, but the linear part acts on pixels.
    # They are filled on the device: to copy them there would make the host wait.
    sides = torch.stack([x.new_full((1,), x.shape[dim]) for dim in (-1, -2)])
    linear = second[..., :2]
    moved = (linear @ (first[..., 2:] * sides)) / sides + second[..., 2:]
    return torch.cat((linear @ first[..., :2], moved), dim=-1)


def slide(x: Tensor, offset: Tensor, dim: int) -> Tensor:
    """Move each row of images (`dim` −1) or each column (−2) by its own offset, in pixels.

    Offsets are (B, H) or (B, W), or (B, 1) if all are the same. Equals `warp` (bilinear, zeros) for
    translations and shears, which move whole rows or columns, at the cost of one gather and one
    lerp; tests compare values and gradients. An offset of 0 is the identity exactly.
    """
    return _Slide.apply(x, offset, dim)[0]  # type: ignore[no-untyped-call]


class _Slide(torch.autograd.Function):
    """Two neighbors and a lerp. The adjoint is a slide back; autograd would scatter."""

    @staticmethod
    def forward(x: Tensor, offset: Tensor, dim: int) -> tuple[Tensor, Tensor]:
        size = x.shape[dim]
        source = (-offset).unsqueeze(dim)[:, None]
        start = source.floor()
        # One zero on either side represents everything outside.
        steps = torch.arange(1, size + 2, device=x.device)
        index = start.long() + (steps if dim == -1 else steps[:, None])
        shape = list(x.shape)
        shape[dim] += 1
        index = index.clamp(0, size + 1).expand(shape)
        pixels = F.pad(x, (1, 1) if dim == -1 else (0, 0, 1, 1)).gather(dim, index)
        left, right = pixels.narrow(dim, 0, size), pixels.narrow(dim, 1, size)
        return left.lerp(right, source - start), pixels

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor, int], output: tuple[Tensor, Tensor]
    ) -> None:
        _, offset, ctx.dim = inputs
        ctx.save_for_backward(offset, output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor | None, Tensor | None, None]:
        offset, pixels = ctx.saved_tensors
        back, along = None, None
        if ctx.needs_input_grad[0]:
            back = slide(gradient, -offset, ctx.dim)
        if ctx.needs_input_grad[1]:
            slope = pixels.diff(dim=ctx.dim)
            along = -(gradient * slope).sum((1, ctx.dim)).sum_to_size(offset.shape)
        return back, along, None


def centered(x: Tensor, size: int) -> Tensor:
    """Return the positions of pixels along a side, in pixels from its center."""
    return torch.arange(size, dtype=x.dtype, device=x.device) - (size - 1) / 2


def affine(rows: tuple[tuple[Any, Any, Any], tuple[Any, Any, Any]]) -> Tensor:
    """Build (B, 2, 3) matrices from entries that are numbers or tensors of shape (B,)."""
    entries = [entry for row in rows for entry in row]
    like = next(entry for entry in entries if isinstance(entry, Tensor))
    numbers = {entry for entry in entries if not isinstance(entry, Tensor)}
    filled = {number: torch.full_like(like, number) for number in numbers}
    stacked = [entry if isinstance(entry, Tensor) else filled[entry] for entry in entries]
    return torch.stack(stacked, dim=-1).unflatten(-1, (2, 3))


@dataclass(frozen=True)
class Affine(Signed):
    """A signed transform given by a matrix, so that transforms can share one resampling."""

    interpolation: Interpolation = "bilinear"
    padding: Padding = "zeros"

    domain: ClassVar[Domain] = IMAGES

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.one_of(self.interpolation, get_args(Interpolation), self.name)
        validation.one_of(self.padding, get_args(Padding), self.name)

    @abstractmethod
    def matrix(self, strength: Tensor) -> Tensor:
        """Return the affine maps (B, 2, 3) of strengths (B,), as `warp` takes them."""

    def map(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Return the affine maps (B, 2, 3) of a batch with these params."""
        return self.matrix_for(x, self.strength(params * per_sample(magnitude, x)))

    def matrix_for(self, x: Tensor, strength: Tensor) -> Tensor:
        """Return the affine maps of strengths for images `x`; subclasses may need their size."""
        return self.matrix(strength)

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Resample the images under their maps."""
        return warp(x, self.matrix_for(x, strength), self.interpolation, self.padding)


@dataclass(frozen=True)
class Sliding(Affine):
    """An affine transform that moves whole rows or columns."""

    dim: ClassVar[int]
    """The dimension along which pixels move: −1 for rows, −2 for columns."""

    @abstractmethod
    def offset(self, x: Tensor, strength: Tensor) -> Tensor:
        """Return the offsets in pixels of all rows or columns for strengths (B,)."""

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Slide if interpolation and padding are those of `slide`, else warp."""
        if (self.interpolation, self.padding) != ("bilinear", "zeros"):
            return super().transform(x, strength)
        return slide(x, self.offset(x, strength), self.dim)


@dataclass(frozen=True)
class Translate(Sliding):
    """A transform that moves all rows or all columns by the same offset."""

    limit: float = 0.5

    def offset(self, x: Tensor, strength: Tensor) -> Tensor:
        """Convert a fraction of the side to pixels."""
        return (strength * x.shape[self.dim])[:, None]


@dataclass(frozen=True)
class Shear(Sliding):
    """A transform that moves rows or columns in proportion to their distance from the pivot.

    This is the center of the image, or the first row or column ("corner", as kornia has it).
    """

    limit: float = 0.3
    pivot: Pivot = "center"

    unit: ClassVar[str] = "shear"

    def __post_init__(self) -> None:
        super().__post_init__()
        validation.one_of(self.pivot, get_args(Pivot), self.name)

    def offset(self, x: Tensor, strength: Tensor) -> Tensor:
        """Return a fraction of the distance from the pivot."""
        return strength[:, None] * (centered(x, x.shape[-3 - self.dim]) + self._to_pivot(x))

    def matrix_for(self, x: Tensor, strength: Tensor) -> Tensor:
        """Add the translation of the center to the maps."""
        moved = strength * (self._to_pivot(x) / x.shape[self.dim])
        zero = torch.zeros_like(moved)
        column = torch.stack((moved, zero) if self.dim == -1 else (zero, moved), dim=-1)
        return torch.cat((self.matrix(strength)[..., :2], column[..., None]), dim=-1)

    def _to_pivot(self, x: Tensor) -> float:
        """Return the distance from the pivot to the center, in pixels."""
        return (x.shape[-3 - self.dim] - 1) / 2 if self.pivot == "corner" else 0.0


@register_transform
@dataclass(frozen=True)
class TranslateX(Translate):
    """Translate images horizontally by up to ±limit of their width."""

    unit: ClassVar[str] = "of the width"
    dim: ClassVar[int] = -1

    def matrix(self, strength: Tensor) -> Tensor:
        """Shift x."""
        return affine(((1, 0, strength), (0, 1, 0)))


@register_transform
@dataclass(frozen=True)
class TranslateY(Translate):
    """Translate images vertically by up to ±limit of their height."""

    unit: ClassVar[str] = "of the height"
    dim: ClassVar[int] = -2

    def matrix(self, strength: Tensor) -> Tensor:
        """Shift y."""
        return affine(((1, 0, 0), (0, 1, strength)))


@register_transform
@dataclass(frozen=True)
class ShearX(Shear):
    """Shear images horizontally: rows move by up to ±limit of their distance from the pivot."""

    dim: ClassVar[int] = -1

    def matrix(self, strength: Tensor) -> Tensor:
        """Add a fraction of y to x."""
        return affine(((1, strength, 0), (0, 1, 0)))


@register_transform
@dataclass(frozen=True)
class ShearY(Shear):
    """Shear images vertically: columns move by up to ±limit of their distance from the pivot."""

    dim: ClassVar[int] = -2

    def matrix(self, strength: Tensor) -> Tensor:
        """Add a fraction of x to y."""
        return affine(((1, 0, 0), (strength, 1, 0)))


@register_transform
@dataclass(frozen=True)
class Rotate(Affine):
    """Rotate images by an angle within ±limit degrees, counter-clockwise if positive."""

    limit: float = 30.0

    unit: ClassVar[str] = "degrees"

    def matrix(self, strength: Tensor) -> Tensor:
        """Rotate about the center."""
        cos, sin = strength.deg2rad().cos(), strength.deg2rad().sin()
        return affine(((cos, sin, 0), (-sin, cos, 0)))


@register_transform
@dataclass(frozen=True)
class Scale(Multiplicative, Affine):
    """Enlarge or shrink images about their center by up to `limit` times."""

    limit: float = 1.5

    def matrix(self, strength: Tensor) -> Tensor:
        """Scale x and y by the same factor."""
        return affine(((strength, 0, 0), (0, strength, 0)))


@dataclass(frozen=True)
class Flip(Bernoulli):
    """A flip along one dimension of images.

    A flip is an affine map too, so layers can resample flips together with other maps. They apply
    the flip itself by reversing pixels, which is exact, and keeps the gradient of `bernoulli`.
    """

    domain: ClassVar[Domain] = IMAGES
    dim: ClassVar[int]
    """The dimension that is reversed: −1 for the width, −2 for the height."""

    @abstractmethod
    def matrix(self, applied: Tensor) -> Tensor:
        """Return the affine maps (B, 2, 3) of outcomes (B,): the identity for 0, a flip for 1."""

    def transform(self, x: Tensor) -> Tensor:
        """Reverse the dimension."""
        return x.flip(self.dim)


@register_transform
@dataclass(frozen=True)
class HorizontalFlip(Flip):
    """Mirror images left to right."""

    dim: ClassVar[int] = -1

    def matrix(self, applied: Tensor) -> Tensor:
        """Negate x."""
        return affine(((1 - 2 * applied, 0, 0), (0, 1, 0)))


@register_transform
@dataclass(frozen=True)
class VerticalFlip(Flip):
    """Mirror images top to bottom."""

    dim: ClassVar[int] = -2

    def matrix(self, applied: Tensor) -> Tensor:
        """Negate y."""
        return affine(((1, 0, 0), (0, 1 - 2 * applied, 0)))
