"""The same mixtures with the functions of other libraries, to compare with."""

import math
from collections.abc import Callable, Sequence

import braindecode.augmentation.functional as braindecode
import kornia.enhance
import kornia.geometry.transform as kornia_geometry
import mne
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augnet.layers.augerino import GENERATORS

View = Callable[[Tensor, Tensor], Tensor]


class Mixture(nn.Module):
    """Layers of functions (x, magnitude) -> view; each returns the weighted sum of its views."""

    def __init__(self, layers: Sequence[Sequence[View]]) -> None:
        super().__init__()
        self.layers = layers
        self.logits = nn.ParameterList(torch.zeros(len(views)) for views in layers)
        self.magnitudes = nn.ParameterList(torch.full((len(views),), 0.5) for views in layers)

    def named(self, layers: Sequence[Sequence[str]]) -> list[list[View]]:
        """Look up the methods that are named after our transforms."""
        return [[getattr(self, name) for name in names] for names in layers]

    def forward(self, x: Tensor) -> Tensor:
        """Pass through all layers."""
        for views, logits, magnitudes in zip(
            self.layers, self.logits, self.magnitudes, strict=True
        ):
            weights = logits.softmax(0)
            x = sum(w * view(x, m) for view, w, m in zip(views, weights, magnitudes, strict=True))
        return x


class KorniaMixture(Mixture):
    """Our image transforms by kornia, with one strength per sample."""

    def __init__(self, layers: Sequence[Sequence[str]]) -> None:
        super().__init__(self.named(layers))

    @staticmethod
    def _signed(x: Tensor, magnitude: Tensor) -> Tensor:
        return magnitude * (2 * torch.rand(len(x)) - 1)

    def translate_x(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Translate horizontally."""
        part = self._signed(x, magnitude) * 0.5 * x.shape[-1]
        return kornia_geometry.translate(x, torch.stack((part, torch.zeros_like(part)), 1))

    def translate_y(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Translate vertically."""
        part = self._signed(x, magnitude) * 0.5 * x.shape[-2]
        return kornia_geometry.translate(x, torch.stack((torch.zeros_like(part), part), 1))

    def rotate(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Rotate."""
        return kornia_geometry.rotate(x, self._signed(x, magnitude) * 30)

    def shear_x(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Shear horizontally."""
        part = self._signed(x, magnitude) * 0.3
        return kornia_geometry.shear(x, torch.stack((part, torch.zeros_like(part)), 1))

    def shear_y(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Shear vertically."""
        part = self._signed(x, magnitude) * 0.3
        return kornia_geometry.shear(x, torch.stack((torch.zeros_like(part), part), 1))

    def horizontal_flip(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Flip with a relaxed Bernoulli variable."""
        applied = torch.distributions.RelaxedBernoulli(0.1, magnitude * 0.5).rsample(x.shape[:1])
        applied = applied[:, None, None, None]
        return applied * kornia_geometry.hflip(x) + (1 - applied) * x

    def sample_pairing(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Blend with another sample."""
        part = (magnitude * torch.rand(len(x)) * 0.4)[:, None, None, None]
        return (1 - part) * x + part * x[torch.randperm(len(x))]

    def contrast(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Change the contrast."""
        return kornia.enhance.adjust_contrast(x, 1 + 0.9 * self._signed(x, magnitude))

    def brightness(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Change the brightness."""
        return kornia.enhance.adjust_brightness(x, 0.9 * self._signed(x, magnitude))


class BraindecodeMixture(Mixture):
    """Our EEG transforms by braindecode 0.8.

    Its rotations have no gradient in the angle, so their backward pass is that of the signals only.
    """

    def __init__(
        self, layers: Sequence[Sequence[str]], channels: Sequence[str], sfreq: float
    ) -> None:
        super().__init__(self.named(layers))
        self.sfreq = sfreq
        montage = mne.channels.make_standard_montage("standard_1020").get_positions()["ch_pos"]
        self.positions = torch.tensor([montage[name] for name in channels]).float().T
        self.mirror = [channels.index(name) for name in ("C4", "C3", "F4", "F3", "O2", "O1")]

    @staticmethod
    def _with_probability(x: Tensor, magnitude: Tensor, view: Tensor) -> Tensor:
        applied = torch.distributions.RelaxedBernoulli(0.1, magnitude * 0.5).rsample(x.shape[:1])
        return applied[:, None, None] * view + (1 - applied[:, None, None]) * x

    def time_reverse(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Reverse time."""
        return self._with_probability(x, magnitude, braindecode.time_reverse(x, None)[0])

    def sign_flip(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Change the sign."""
        return self._with_probability(x, magnitude, braindecode.sign_flip(x, None)[0])

    def time_mask(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Mask an interval."""
        start, length = torch.rand(len(x)), magnitude * 200
        return braindecode.smooth_time_mask(x, None, start * (x.shape[-1] - length), length)[0]

    def gaussian_noise(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Add noise."""
        return braindecode.gaussian_noise(x, None, magnitude * 0.2)[0]

    def ft_surrogate(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Randomize phases."""
        return braindecode.ft_surrogate(x, None, magnitude, channel_indep=False)[0]

    def frequency_shift(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Shift frequencies."""
        shift = magnitude * 5 * (2 * torch.rand(len(x)) - 1)
        return braindecode.frequency_shift(x, None, shift, self.sfreq)[0]

    def channel_symmetry(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Swap left and right channels."""
        return self._with_probability(
            x, magnitude, braindecode.channels_permute(x, None, self.mirror)[0]
        )

    def channel_shuffle(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Permute some channels."""
        return braindecode.channels_shuffle(x, None, magnitude)[0]

    def channel_dropout(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Drop some channels."""
        return braindecode.channels_dropout(x, None, magnitude)[0]

    def _rotated(self, x: Tensor, magnitude: Tensor, axis: str) -> Tensor:
        angles = magnitude.detach() * 30 * (2 * torch.rand(len(x)) - 1)
        return braindecode.sensors_rotation(x, None, self.positions, axis, angles, True)[0]

    def sensor_rotation_x(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Rotate around x."""
        return self._rotated(x, magnitude, "x")

    def sensor_rotation_y(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Rotate around y."""
        return self._rotated(x, magnitude, "y")

    def sensor_rotation_z(self, x: Tensor, magnitude: Tensor) -> Tensor:
        """Rotate around z."""
        return self._rotated(x, magnitude, "z")


class ExponentialAffine(nn.Module):
    """Augerino by its definition: matrix exponential in float64, affine grid, resampling."""

    def __init__(self) -> None:
        super().__init__()
        rows = torch.tensor([(*rows, (0, 0, 0)) for rows in GENERATORS.values()])
        self.generators = rows.double()
        self.widths = nn.Parameter(torch.full((len(GENERATORS),), math.log(2)).double())

    def forward(self, x: Tensor) -> Tensor:
        """Transform each image differently."""
        noise = torch.rand(len(x), len(self.widths), dtype=torch.float64) - 0.5
        algebra = torch.einsum("bi,ijk->bjk", noise * self.widths, self.generators)
        inverse = torch.linalg.matrix_exp(-algebra)[:, :2].to(x.dtype)
        grid = F.affine_grid(inverse, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, align_corners=False)
