"""Augerino: a uniform distribution on the Lie algebra of the affine group (Benton et al. 2020)."""

from collections.abc import Sequence
from typing import ClassVar, get_args

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.transforms.base import IMAGES, full_precision
from augnet.transforms.geometry import Interpolation, warp
from augnet.transforms.noise import uniform

# Generators of the affine group of the plane: rows are ((a, b, right), (c, d, down)), and the third
# row is zero. The linear part acts on pixels, so that rotations of images that are not square are
# rotations; translations are in halves of a side, scaled by 0.1, as in Benton et al.
GENERATORS = {
    "translate_x": ((0, 0, 0.1), (0, 0, 0)),
    "translate_y": ((0, 0, 0), (0, 0, 0.1)),
    "rotate": ((0, -1, 0), (1, 0, 0)),
    "scale": ((1, 0, 0), (0, 1, 0)),
    "stretch": ((1, 0, 0), (0, -1, 0)),
    "shear": ((0, 1, 0), (1, 0, 0)),
}


class Augerino(nn.Module):
    """Transform images by exp(Σ c_i G_i), c_i uniform on ±width_i / 2, with learned widths.

    An augmentation for AugNet, with the regularizer `MagnitudeNorm`. Widths are the softplus of
    `raw_widths` and start at `width`, one for all or one per generator; the default corresponds to
    raw widths of 0. Benton et al. resample images bilinearly.
    """

    joinable_params = True
    independent_params = True
    generators: Tensor
    names: ClassVar[tuple[str, ...]] = tuple(GENERATORS)

    def __init__(
        self,
        width: float | Sequence[float] = 0.6931471805599453,
        interpolation: Interpolation = "bilinear",
    ) -> None:
        super().__init__()
        validation.one_of(interpolation, get_args(Interpolation), "Augerino")
        self.interpolation = interpolation
        widths = torch.as_tensor(width, dtype=torch.get_default_dtype())
        if widths.dim() > 1 or (widths.dim() and len(widths) != len(GENERATORS)):
            raise ValueError(f"width takes one value or one for each of {self.names}; got {width}")
        if not bool((widths > 0).all()):
            raise ValueError(f"widths are positive; got {width}")
        # The inverse of softplus, in a form that does not overflow.
        raw = widths + torch.log(-torch.expm1(-widths))
        self.raw_widths = nn.Parameter(raw.expand(len(GENERATORS)).clone())
        rows = torch.tensor([(*rows, (0, 0, 0)) for rows in GENERATORS.values()])
        self.register_buffer("generators", rows.to(widths.dtype), persistent=False)

    @property
    def widths(self) -> Tensor:
        """The widths of the six uniform distributions, in the order of `names`."""
        return F.softplus(self.raw_widths)

    @property
    def magnitudes(self) -> Tensor:
        """The widths, for regularizers."""
        return self.widths

    def matrix(self, params: Tensor, size: Sequence[int] = (1, 1)) -> Tensor:
        """Return affine maps (B, 3, 3) for images (H, W), with translations in halves of a side."""
        coefficients = params * self.widths.to(params.dtype)
        algebra = (coefficients[..., None, None] * self.generators.to(params.dtype)).sum(1)
        # The exponential joins translations and the linear part, so both need the same unit on
        # both axes: half the height.
        unit = torch.ones_like(algebra[0])
        unit[0, 2] = size[1] / size[0]
        return torch.linalg.matrix_exp(algebra * unit) / unit

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Return a view of each image."""
        self.check(x)
        return self.apply_params(x, self.sample_params(x.shape, x, generator))

    def check(self, x: Tensor) -> None:
        """Raise an error if `x` is not a batch of images."""
        validation.batch(x, "Augerino")
        if not IMAGES.fits(tuple(x.shape)):
            raise ValueError(f"Augerino takes {IMAGES}; got shape {tuple(x.shape)}")
        validation.floats(x, "Augerino")
        validation.same_device(self.raw_widths, x, "Augerino")

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw a number in ±1/2 per sample and generator of the group."""
        return uniform(like, (shape[0], len(GENERATORS)), generator, -0.5, 0.5)

    def apply_params(self, x: Tensor, params: Tensor) -> Tensor:
        """Return the view of each image with these params."""
        with full_precision(x):
            matrix = self.matrix(params, x.shape[-2:])
            # Half a side is twice the fraction of a side that `warp` takes.
            linear, translation = matrix[:, :2, :2], matrix[:, :2, 2:] / 2
            return warp(x, torch.cat((linear, translation), dim=-1), self.interpolation)

    def __repr__(self) -> str:
        degrees = torch.rad2deg(self.widths[self.names.index("rotate")] / 2)
        parts = [
            f"{name} ±{degrees:.1f}°" if name == "rotate" else f"{name} ±{width / 2:.3f}"
            for name, width in zip(self.names, self.widths.tolist(), strict=True)
        ]
        return "Augerino: " + ", ".join(parts)
