"""Transforms of pixel values, for images in [0, 1]."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from augnet.transforms.base import (
    COLOR_IMAGES,
    IMAGES,
    Bernoulli,
    Domain,
    Magnitude,
    Params,
    Signed,
    Transform,
    Unsigned,
    per_sample,
    spread,
)
from augnet.transforms.noise import uniform
from augnet.transforms.registry import register_transform
from augnet.transforms.relax import straight_through, window

LUMA = (0.299, 0.587, 0.114)  # ITU-R 601-2, as Pillow converts to gray
LEVELS = 255


@dataclass(frozen=True)
class Enhance(Signed):
    """Extrapolate from a plainer image, or interpolate if negative: x + s (x − plainer)."""

    limit: float = 0.9

    unit: ClassVar[str] = "of the contrast with a plainer image"
    domain: ClassVar[Domain] = IMAGES
    resamples: ClassVar[bool] = False

    def plainer(self, x: Tensor) -> Tensor:
        """Return the image at strength −1: black, unless a subclass overrides it."""
        return torch.zeros_like(x)

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Extrapolate from the plainer image, within the range of pixels."""
        return _within_range(x + spread(strength, x) * (x - self.plainer(x)), x)


@register_transform
@dataclass(frozen=True)
class Brightness(Enhance):
    """Make images brighter or darker by up to ±limit of their own brightness."""

    unit: ClassVar[str] = "of the brightness"


@register_transform
@dataclass(frozen=True)
class Contrast(Enhance):
    """Move pixels away from the mean gray of the image, or towards it."""

    unit: ClassVar[str] = "of the contrast"

    def plainer(self, x: Tensor) -> Tensor:
        """Return an even gray."""
        return luma(x).mean((1, 2, 3), keepdim=True)


@register_transform
@dataclass(frozen=True)
class Saturation(Enhance):
    """Make colors stronger or paler."""

    unit: ClassVar[str] = "of the saturation"
    domain: ClassVar[Domain] = COLOR_IMAGES

    def plainer(self, x: Tensor) -> Tensor:
        """Return the image in gray."""
        return luma(x)


@register_transform
@dataclass(frozen=True)
class Sharpness(Enhance):
    """Sharpen or smooth images; the outermost pixels stay the same."""

    unit: ClassVar[str] = "of the sharpness"
    resamples: ClassVar[bool] = True

    def plainer(self, x: Tensor) -> Tensor:
        """Return the image smoothed by a 3×3 kernel: 5 in the middle, 1 elsewhere, over 13."""
        if min(x.shape[-2:]) < 3:
            return x
        rows = x[..., :-2, :] + x[..., 1:-1, :] + x[..., 2:, :]
        square = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:]
        smooth = (square + 4 * x[..., 1:-1, 1:-1]) / 13
        return x + F.pad(smooth - x[..., 1:-1, 1:-1], (1, 1, 1, 1))


@register_transform
@dataclass(frozen=True)
class Hue(Signed):
    """Rotate hues by an angle within ±limit degrees."""

    limit: float = 180.0

    unit: ClassVar[str] = "degrees"
    domain: ClassVar[Domain] = COLOR_IMAGES
    bounds: ClassVar[tuple[float, float]] = (0.0, 180.0)
    resamples: ClassVar[bool] = False

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Add the change in hue, so that an angle of 0 is the identity exactly."""
        high, low = x.amax(1), x.amin(1)
        chroma = high - low
        red, green, blue = x.unbind(1)
        divisor = torch.where(chroma > 0, chroma, 1.0)
        sextant = torch.where(
            high == red,
            (green - blue) / divisor,
            torch.where(high == green, (blue - red) / divisor + 2, (red - green) / divisor + 4),
        )
        turned = sextant + spread(strength, chroma) / 60
        return x + (_wheel(turned, chroma) - _wheel(sextant, chroma))


@register_transform
@dataclass(frozen=True)
class Solarize(Unsigned):
    """Invert pixels above a threshold, which is up to limit below white."""

    limit: float = 1.0

    unit: ClassVar[str] = "of the range below white"
    domain: ClassVar[Domain] = IMAGES
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"exact_gradient": "a threshold is a step: its gradient is that of a soft step"}
    )

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Invert by a hard step, with the gradient of a soft one in its depth."""
        depth = spread(strength, x)
        above = x.detach() - (1 - depth)
        inverted = torch.where((above >= 0) & (depth > 0), 1 - x, x)
        soft = torch.sigmoid(20 * above) * (1 - 2 * x.detach())
        return inverted + (soft - soft.detach())


@register_transform
@dataclass(frozen=True)
class Posterize(Unsigned):
    """Drop up to limit of the eight bits of a pixel; fractions of a bit are steps in between."""

    limit: float = 4.0

    unit: ClassVar[str] = "bits"
    domain: ClassVar[Domain] = IMAGES
    bounds: ClassVar[tuple[float, float]] = (0.0, 8.0)
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"exact_gradient": "rounding is flat: its gradient is that of a blend"}
    )

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Round down, with the gradient of a blend with the rounded image."""
        bits = spread(strength, x)
        rounded = torch.where(bits > 0, self._rounded(x, bits), x)
        # Below one bit there is almost no change, so the blend is with at least one bit dropped.
        far = bits.detach().clamp(min=1)
        towards = (self._rounded(x, far) - x).detach()
        return straight_through(rounded, x + bits / far * towards)

    @staticmethod
    def _rounded(x: Tensor, bits: Tensor) -> Tensor:
        return ((x * LEVELS).round() / 2**bits).floor() * 2**bits / LEVELS


@register_transform
@dataclass(frozen=True)
class Invert(Bernoulli):
    """Invert images."""

    domain: ClassVar[Domain] = IMAGES

    def transform(self, x: Tensor) -> Tensor:
        """Exchange black and white."""
        return 1 - x


@register_transform
@dataclass(frozen=True)
class Gray(Bernoulli):
    """Remove the color."""

    limit: float = 1.0

    domain: ClassVar[Domain] = COLOR_IMAGES

    def transform(self, x: Tensor) -> Tensor:
        """Set all channels to the luma."""
        return luma(x).expand_as(x)


@register_transform
@dataclass(frozen=True)
class Autocontrast(Bernoulli):
    """Stretch each channel to the full range; a constant channel stays the same."""

    limit: float = 1.0

    domain: ClassVar[Domain] = IMAGES

    def transform(self, x: Tensor) -> Tensor:
        """Map the darkest pixel to black and the brightest to white."""
        low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)
        width = high - low
        uneven = width >= 0.5 / LEVELS  # less than half a level is rounding, not contrast
        return torch.where(uneven, (x - low) / torch.where(uneven, width, 1.0), x)


@register_transform
@dataclass(frozen=True)
class Equalize(Bernoulli):
    """Equalize the histogram of each channel, on 256 levels."""

    limit: float = 1.0

    domain: ClassVar[Domain] = IMAGES

    def transform(self, x: Tensor) -> Tensor:
        """Map pixels by the cumulative histogram of their channel, with the gradient of x."""
        level = (x * LEVELS).round().clamp(0, LEVELS).long().flatten(2)
        counts = x.new_zeros(*x.shape[:2], LEVELS + 1)
        counts = counts.scatter_add(2, level, torch.ones_like(level, dtype=x.dtype))
        brightest = counts.gather(2, level.amax(2, keepdim=True))
        step = ((counts.sum(2, keepdim=True) - brightest) / LEVELS).floor()
        below = counts.cumsum(2) - counts
        table = ((below + (step / 2).floor()) / step.clamp(min=1)).floor().clamp(max=LEVELS)
        looked_up = table.gather(2, level).view_as(x) / LEVELS
        return straight_through(torch.where(step[..., None] > 0, looked_up, x), x)


@register_transform
@dataclass(frozen=True)
class Cutout(Transform):
    """Set a box of up to limit of the width and the height to black, anywhere in the image."""

    limit: float = 0.5

    unit: ClassVar[str] = "of the side"
    domain: ClassVar[Domain] = IMAGES
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw the position of the box within the free space."""
        return uniform(like, (shape[0], 2), generator)

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Multiply by one minus a box with soft edges, one pixel wide."""
        side = self.strength(per_sample(magnitude, x))
        box = spread(torch.ones_like(side), x)
        for axis, place in zip((-2, -1), params.unbind(1), strict=True):
            size = x.shape[axis]
            position = torch.arange(size, dtype=x.dtype, device=x.device) + 0.5
            start, length = place * (1 - side) * size, side * size
            edge = window(position, start[:, None], length[:, None], sharpness=4.0)
            box = box * (edge[:, None, :, None] if axis == -2 else edge[:, None, None, :])
        return x * (1 - box)


def _within_range(y: Tensor, x: Tensor) -> Tensor:
    """Clamp to [0, 1], or to the value of the input if that is outside."""
    x = x.detach()
    return y.clamp(min=x.clamp(max=0), max=x.clamp(min=1))


def luma(x: Tensor) -> Tensor:
    """Return the luma of color images, the mean of any other number of channels."""
    if x.shape[1] != 3:
        return x.mean(1, keepdim=True)
    red, green, blue = x.split(1, dim=1)
    return LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue


def _wheel(sextant: Tensor, chroma: Tensor) -> Tensor:
    """Return the colors of hues (in sixths of a turn), relative to the brightest channel."""
    offsets = torch.arange(5, 0, -2, dtype=chroma.dtype, device=chroma.device)
    k = (offsets[:, None, None] + sextant[:, None]) % 6
    return -chroma[:, None] * torch.minimum(k, 4 - k).clamp(0, 1)
