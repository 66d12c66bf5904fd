"""Transforms that act on the sensors of a recording: its channels and where they sit on the head."""

import math
from collections.abc import Mapping
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
    Noise,
    Signed,
    Transform,
    per_sample,
)
from augnet.transforms.noise import uniform
from augnet.transforms.relax import bernoulli
from augnet.transforms.scalp import TERMS, Position, cosines, opposite, splines, standard_positions


@dataclass(frozen=True)
class Sensors(Transform):
    """A transform for recordings; `channels` names their channels, in order, where that matters."""

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
        """Refuse recordings with another number of channels."""
        super().check(x)
        if self.channels and x.shape[1] != len(self.channels):
            raise ValueError(
                f"{self.name} was built for {len(self.channels)} channels "
                f"({', '.join(self.channels)}); got {x.shape[1]}, shape {tuple(x.shape)}"
            )


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

    def apply(self, x: Tensor) -> Tensor:
        """Take each channel from the other side."""
        return torch.stack([x[:, side] for side in self.mirror], dim=1)


@dataclass(frozen=True)
class ChannelDropout(Sensors):
    """Silence each channel with a probability of up to limit."""

    limit: float = 1.0

    unit: ClassVar[str] = "probability"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    exemptions: ClassVar[Mapping[str, str]] = Bernoulli.exemptions

    def sample(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Draw one number per channel, to be compared with the probability."""
        return uniform(x, x.shape[:2], generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Silence the channels whose coin shows heads."""
        probability = self.strength(per_sample(magnitude, x))[:, None]
        return x * (1 - bernoulli(noise, probability))[..., None]


@dataclass(frozen=True)
class ChannelShuffle(Sensors):
    """Choose each channel with a probability of up to limit, and permute the chosen ones."""

    limit: float = 1.0

    unit: ClassVar[str] = "probability"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    exemptions: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"exact gradient": "a choice is discrete: its gradient is a straight-through one"}
    )

    def sample(self, x: Tensor, generator: Generator | None = None) -> tuple[Tensor, Tensor]:
        """Draw per channel a number to be compared with the probability, and its rank."""
        return uniform(x, x.shape[:2], generator), uniform(x, x.shape[:2], generator)

    def transform(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Permute; the gradient is that of blending each channel with one drawn from all."""
        draw, rank = noise
        probability = self.strength(per_sample(magnitude, x))[:, None]
        chosen = draw < probability
        index = torch.arange(x.shape[1], device=x.device).expand_as(rank)
        # Sort the chosen ones first, once in their own order and once in the order of their
        # ranks; the others come after them, both times in their own order.
        places = torch.where(chosen, index, index + x.shape[1]).argsort(1)
        sources = torch.where(chosen, rank, index + 1.0).argsort(1)
        source = torch.empty_like(places).scatter(1, places, sources)
        moved = (_channels(x, rank.argsort(1)) - x).detach()
        nothing = (probability - probability.detach())[..., None]  # but for its gradient
        return _channels(x, source).addcmul(moved, nothing)


@dataclass(frozen=True)
class SensorRotation(Linear, Sensors, Signed):
    """Turn the cap of electrodes by an angle within ±limit degrees, and read the scalp there.

    The potential between the electrodes is interpolated with spherical splines (Perrin et al.
    1989). Positions come from MNE's standard 10-20 montage, or are given in `positions`, one
    (x, y, z) per channel: x to the right ear, y to the nose, z up.
    """

    limit: float = 30.0
    channels: tuple[str, ...] = field(kw_only=True)
    positions: tuple[Position, ...] | None = field(default=None, kw_only=True, repr=False)

    unit: ClassVar[str] = "degrees"
    axis: ClassVar[int]
    regularisation: ClassVar[float] = 1e-5

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
        _ = self.harmonics  # now, and never first inside a graph that is being traced

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
        system[:-1, :-1] += self.regularisation * torch.eye(count, dtype=torch.float64)
        system[-1, -1] = 0
        return torch.linalg.pinv(system)[:-1, :-1].contiguous()

    def mixing(self, angle: Tensor) -> Tensor:
        """Give the matrices (B, C, C) from potentials to their change under angles (B,) in radians.

        The difference between the potentials under the turned electrodes and the old: regularized
        splines do not pass through the data, but this vanishes at rest. It is the plain
        definition, in float64 since the system is ill-conditioned; `harmonics` has its values.
        """
        sphere = self.sphere.to(angle.device)
        angle = angle.double()[:, None]
        turned, rest = (self._turned(sphere, a) for a in (angle, torch.zeros_like(angle[:1])))
        change = splines(cosines(turned, sphere)) - splines(cosines(rest, sphere))
        return change @ self.solver.to(angle.device)

    @cached_property
    def harmonics(self) -> Tensor:
        """What (cos kθ − 1, sin kθ) for k = 1, 2, ... are multiplied by: (2, K, C · C).

        Splines are polynomials of the cosines between electrodes, which are sinusoids of the angle
        θ: so `mixing` is a Fourier series with as many terms as the splines have, read off once,
        here. The solver being part of it, float32 is enough to sum it.
        """
        count = 2 * TERMS + 2
        angle = torch.arange(count, dtype=torch.float64) * (2 * math.pi / count)
        series = torch.fft.rfft(self.mixing(angle).flatten(1), dim=0)[1 : TERMS + 1]
        return torch.stack((series.real, -series.imag)) * (2 / count)

    def operator(self, x: Tensor, magnitude: Magnitude, noise: Noise) -> Tensor:
        """Give what turning the cap adds to each channel, from all channels."""
        return self._series(x, self.strength(noise * per_sample(magnitude, x)))

    def apply(self, x: Tensor, strength: Tensor) -> Tensor:
        """Turn the cap by angles in degrees."""
        return x + self.act(x, self._series(x, strength))

    @staticmethod
    def act(x: Tensor, operator: Tensor) -> Tensor:
        """Mix the channels."""
        return operator @ x

    def _series(self, x: Tensor, strength: Tensor) -> Tensor:
        """Sum the Fourier series of `mixing` in the precision of the input."""
        cosine, sine = self.harmonics.to(x)
        angles = strength.deg2rad()[:, None] * torch.arange(1, TERMS + 1, device=x.device)
        series = (angles.cos() - 1) @ cosine + angles.sin() @ sine
        return series.unflatten(1, (x.shape[1], x.shape[1]))

    def _turned(self, sphere: Tensor, angle: Tensor) -> Tensor:
        """Rotate the sphere about the axis by angles (B, 1): (B, 3, C)."""
        first, second = (self.axis + 1) % 3, (self.axis + 2) % 3
        rows = [sphere[axis] * torch.ones_like(angle) for axis in range(3)]
        rows[first] = angle.cos() * sphere[first] - angle.sin() * sphere[second]
        rows[second] = angle.sin() * sphere[first] + angle.cos() * sphere[second]
        return torch.stack(rows, dim=1)


@dataclass(frozen=True)
class SensorRotationX(SensorRotation):
    """Tilt the cap forwards or backwards: turn it about the axis through the ears."""

    axis: ClassVar[int] = 0


@dataclass(frozen=True)
class SensorRotationY(SensorRotation):
    """Tilt the cap to a side: turn it about the axis through nose and nape."""

    axis: ClassVar[int] = 1


@dataclass(frozen=True)
class SensorRotationZ(SensorRotation):
    """Turn the cap to the left or to the right: about the vertical axis."""

    axis: ClassVar[int] = 2


def _channels(x: Tensor, source: Tensor) -> Tensor:
    """Take each channel from where `source` (B, C) says."""
    # Rows of one matrix, for whole rows are copied and added up faster than values are gathered.
    first = torch.arange(0, x.shape[0] * x.shape[1], x.shape[1], device=x.device)
    rows = (first[:, None] + source).flatten()
    return x.flatten(0, 1).index_select(0, rows).view_as(x)
