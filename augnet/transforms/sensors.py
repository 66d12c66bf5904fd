"""Transforms of the sensors of a recording: its channels and their positions on the head."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import ClassVar

import torch
from torch import Generator, Tensor

from augnet.transforms.base import (
    SIGNALS,
    Bernoulli,
    Domain,
    Linear,
    Magnitude,
    Params,
    Signed,
    Transform,
    constant,
    per_sample,
)
from augnet.transforms.noise import uniform
from augnet.transforms.registry import register_transform
from augnet.transforms.relax import bernoulli
from augnet.transforms.scalp import TERMS, Position, cosines, opposite, splines, standard_positions


@dataclass(frozen=True)
class Sensors(Transform):
    """A transform for recordings; `channels` has the names of their channels, in order."""

    channels: tuple[str, ...] = field(default=(), kw_only=True)

    domain: ClassVar[Domain] = SIGNALS

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.channels, str):
            raise TypeError(f"{self.name} takes a list of channel names; got {self.channels!r}")
        object.__setattr__(self, "channels", tuple(self.channels))
        repeated = sorted({name for name in self.channels if self.channels.count(name) > 1})
        if repeated:
            raise ValueError(f"{self.name}: channels named more than once: {', '.join(repeated)}")

    def check(self, x: Tensor) -> None:
        """Raise an error if `x` has another number of channels."""
        super().check(x)
        if self.channels and x.shape[1] != len(self.channels):
            raise ValueError(
                f"{self.name} was built for {len(self.channels)} channels "
                f"({', '.join(self.channels)}); got {x.shape[1]}, shape {tuple(x.shape)}"
            )


@register_transform
@dataclass(frozen=True)
class ChannelSymmetry(Sensors, Bernoulli):
    """Exchange left and right: odd electrodes of the 10-20 system with their even neighbors."""

    limit: float = 0.5
    channels: tuple[str, ...] = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.mirror

    @cached_property
    def mirror(self) -> tuple[int, ...]:
        """The position of each channel's mirror image."""
        return tuple(self._position_of(opposite(name), name) for name in self.channels)

    def _position_of(self, opposite: str | None, name: str) -> int:
        if opposite is None:
            raise ValueError(
                f"{self.name} cannot tell the side of channel {name!r}: 10-20 names end in an odd "
                "number (left), an even one (right) or z (middle)"
            )
        if opposite not in self.channels:
            raise ValueError(
                f"{self.name} needs both sides: {name!r} is there and {opposite!r} is not, "
                f"among {', '.join(self.channels)}"
            )
        return self.channels.index(opposite)

    def transform(self, x: Tensor) -> Tensor:
        """Take each channel from the other side."""
        return torch.stack([x[:, side] for side in self.mirror], dim=1)


@register_transform
@dataclass(frozen=True)
class ChannelDropout(Sensors):
    """Set each channel to zero with a probability of up to limit."""

    limit: float = 1.0

    unit: ClassVar[str] = "probability"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    exemptions: ClassVar[Mapping[str, str]] = Bernoulli.exemptions

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw one number per channel, which is compared with the probability."""
        return uniform(like, shape[:2], generator)

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Set the drawn channels to zero."""
        probability = self.strength(per_sample(magnitude, x))[:, None]
        return x * (1 - bernoulli(params, probability))[..., None]


@register_transform
@dataclass(frozen=True)
class ChannelShuffle(Sensors):
    """Select each channel with a probability of up to limit, and permute the selected ones."""

    limit: float = 1.0

    unit: ClassVar[str] = "probability"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"exact_gradient": "a choice is discrete: its gradient is a straight-through one"}
    )

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> tuple[Tensor, Tensor]:
        """Draw per channel a number that is compared with the probability, and a rank."""
        return uniform(like, shape[:2], generator), uniform(like, shape[:2], generator)

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Permute, with the gradient of blending each channel with one drawn from all."""
        draw, rank = params
        probability = self.strength(per_sample(magnitude, x))[:, None]
        chosen = draw < probability
        index = torch.arange(x.shape[1], device=x.device).expand_as(rank)
        # Sort the chosen ones first, once in their own order and once in the order of their
        # ranks; the others come after them, both times in their own order.
        places = torch.where(chosen, index, index + x.shape[1]).argsort(1)
        sources = torch.where(chosen, rank, index + 1.0).argsort(1)
        source = torch.empty_like(places).scatter(1, places, sources)
        moved = (_channels(x, rank.argsort(1)) - x).detach()
        nothing = (probability - probability.detach())[..., None]  # a gradient only
        return _channels(x, source).addcmul(moved, nothing)


@dataclass(frozen=True)
class SensorRotation(Linear, Sensors, Signed):
    """Rotate the cap of electrodes by an angle within ±limit degrees.

    The potential between electrodes is interpolated with spherical splines (Perrin et al. 1989).
    Regularized splines smooth the data even at angle 0, where braindecode's rotation is therefore
    not the identity. This one adds the difference between rotated and unrotated splines to x.
    Positions come from MNE's standard 10-20 montage, or are given in `positions`, one
    (x, y, z) per channel: x to the right ear, y to the nose, z up.
    """

    limit: float = 30.0
    channels: tuple[str, ...] = field(kw_only=True)
    positions: tuple[Position, ...] | None = field(default=None, kw_only=True, repr=False)

    unit: ClassVar[str] = "degrees"
    axis: ClassVar[int]
    regularization: ClassVar[float] = 1e-5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.positions is None:
            positions = standard_positions(self.channels, self.name)
        else:
            positions = tuple(tuple(float(v) for v in row) for row in self.positions)  # type: ignore[misc]
        fits = len(positions) == len(self.channels) > 0 and all(len(row) == 3 for row in positions)
        if not fits or not all(math.isfinite(value) for row in positions for value in row):
            raise ValueError(
                f"{self.name} takes at least one channel, and one finite position (x, y, z) per "
                f"channel; got {len(self.channels)} channels and {positions}"
            )
        object.__setattr__(self, "positions", positions)
        _ = self.harmonics  # here, because a traced graph must not compute it first

    @cached_property
    def sphere(self) -> Tensor:
        """Electrode positions on the unit sphere, (3, C)."""
        return torch.nn.functional.normalize(
            torch.tensor(self.positions, dtype=torch.float64), dim=1
        ).T.contiguous()

    @cached_property
    def solver(self) -> Tensor:
        """The matrix (C, C) from potentials at the electrodes to the coefficients of splines."""
        count = len(self.channels)
        system = torch.ones(count + 1, count + 1, dtype=torch.float64)
        system[:-1, :-1] = splines(cosines(self.sphere, self.sphere))
        system[:-1, :-1] += self.regularization * torch.eye(count, dtype=torch.float64)
        system[-1, -1] = 0
        return torch.linalg.pinv(system)[:-1, :-1].contiguous()

    def mixing(self, angle: Tensor) -> Tensor:
        """Return the matrices (B, C, C) from potentials to their change under angles (radians).

        This is the plain definition by splines, in float64 because the system is ill-conditioned;
        tests compare it with the Fourier series of `harmonics`.
        """
        sphere = self.sphere.to(angle.device)
        angle = angle.double()[:, None]
        turned, rest = (self._rotated(sphere, a) for a in (angle, torch.zeros_like(angle[:1])))
        change = splines(cosines(turned, sphere)) - splines(cosines(rest, sphere))
        return change @ self.solver.to(angle.device)

    @cached_property
    def harmonics(self) -> Tensor:
        """The coefficients of (cos kθ − 1, sin kθ) for k = 1, 2, ...: (2, K, C · C).

        Splines are polynomials of the cosines between electrodes, which are sinusoids of the angle
        θ. So `mixing` is a Fourier series with as many terms as the splines have. The coefficients
        include the linear solve and are computed once in float64; float32 is enough to sum them.
        """
        count = 2 * TERMS + 2
        angle = torch.arange(count, dtype=torch.float64) * (2 * math.pi / count)
        series = torch.fft.rfft(self.mixing(angle).flatten(1), dim=0)[1 : TERMS + 1]
        return torch.stack((series.real, -series.imag)) * (2 / count)

    def operator(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Return what the rotation adds to each channel, from all channels."""
        return self._series(x, self.strength(params * per_sample(magnitude, x)))

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Rotate the cap by angles in degrees."""
        return x + self.act(x, self._series(x, strength))

    @staticmethod
    def act(x: Tensor, operator: Tensor) -> Tensor:
        """Mix the channels."""
        return operator @ x

    def _series(self, x: Tensor, strength: Tensor) -> Tensor:
        """Sum the Fourier series of `mixing` in the dtype of the input."""
        cosine, sine = _harmonics(self, x)
        angles = strength.deg2rad()[:, None] * torch.arange(1, TERMS + 1, device=x.device)
        series = (angles.cos() - 1) @ cosine + angles.sin() @ sine
        return series.unflatten(1, (x.shape[1], x.shape[1]))

    def _rotated(self, sphere: Tensor, angle: Tensor) -> Tensor:
        """Rotate the sphere about the axis by angles (B, 1): (B, 3, C)."""
        first, second = (self.axis + 1) % 3, (self.axis + 2) % 3
        rows = [sphere[axis] * torch.ones_like(angle) for axis in range(3)]
        rows[first] = angle.cos() * sphere[first] - angle.sin() * sphere[second]
        rows[second] = angle.sin() * sphere[first] + angle.cos() * sphere[second]
        return torch.stack(rows, dim=1)


@register_transform
@dataclass(frozen=True)
class SensorRotationX(SensorRotation):
    """Tilt the cap forwards or backwards: rotate it about the axis through the ears."""

    axis: ClassVar[int] = 0


@register_transform
@dataclass(frozen=True)
class SensorRotationY(SensorRotation):
    """Tilt the cap to a side: rotate it about the axis through nose and nape."""

    axis: ClassVar[int] = 1


@register_transform
@dataclass(frozen=True)
class SensorRotationZ(SensorRotation):
    """Rotate the cap to the left or to the right, about the vertical axis."""

    axis: ClassVar[int] = 2


@constant
def _harmonics(rotation: SensorRotation, device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return the `harmonics` of a rotation on a device."""
    return rotation.harmonics.to(device, dtype)


def _channels(x: Tensor, source: Tensor) -> Tensor:
    """Take each channel from the index in `source` (B, C)."""
    # As rows of one matrix: whole rows are copied and summed faster than values are gathered.
    first = torch.arange(0, x.shape[0] * x.shape[1], x.shape[1], device=x.device)
    rows = (first[:, None] + source).flatten()
    return x.flatten(0, 1).index_select(0, rows).view_as(x)
