"""One transform per sample, and one pass for all transforms that share an operator.

    affine maps       one matrix per sample, one resampling      (`Maps`)
    linear operators  one operator per sample, one action        (`Actions`: filters share one FFT)
    tones             four factors per sample, one weighted sum  (`Tones`: brightness to invert)

An operator is prepared for the samples of each transform, which costs little, and then acts on all
of them at once. All other transforms are applied alone. The plain definition is
`AugmentationLayer.pick_by_mask`; tests compare values and gradients.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple, Protocol, TypeAlias

import torch
from torch import Tensor

from augnet.layers.resampling import Resampling, chosen_maps, resample
from augnet.transforms import (
    Brightness,
    Contrast,
    Gray,
    Invert,
    Magnitude,
    Params,
    Saturation,
    Transform,
    per_sample,
    spread,
)
from augnet.transforms.base import Bernoulli, Linear, checked_apply, grouped, take
from augnet.transforms.color import luma
from augnet.transforms.geometry import Affine, Flip, warp

DrawnTransform: TypeAlias = tuple[Transform, Magnitude, Params]
"""A transform, its magnitude or one per sample, and its params for the whole batch."""


class Operator(Hashable, Protocol):
    """What several transforms share."""

    def prepare(
        self, transform: Transform, x: Tensor, magnitude: Magnitude, params: Params
    ) -> Tensor:
        """Return what the transform does to each of these samples: (B, ...)."""

    def act(self, x: Tensor, prepared: Tensor) -> Tensor:
        """Transform all samples."""


@dataclass(frozen=True)
class Maps:
    """Affine maps: one resampling."""

    how: Resampling

    def prepare(
        self, transform: Transform, x: Tensor, magnitude: Magnitude, params: Params
    ) -> Tensor:
        """Return matrices (B, 2, 3)."""
        assert isinstance(transform, Affine)
        return transform.map(x, magnitude, params)

    def act(self, x: Tensor, prepared: Tensor) -> Tensor:
        """Resample each image under its map."""
        return warp(x, prepared, *self.how)


@dataclass(frozen=True)
class Actions:
    """Linear operators that act alike: filters, sensor rotations."""

    action: Callable[[Tensor, Tensor], Tensor]

    def prepare(
        self, transform: Transform, x: Tensor, magnitude: Magnitude, params: Params
    ) -> Tensor:
        """Return operators as the action takes them."""
        assert isinstance(transform, Linear)
        return transform.operator(x, magnitude, params)

    def act(self, x: Tensor, prepared: Tensor) -> Tensor:
        """Add what its operator makes of each sample."""
        return x + self.action(x, prepared)


TONES: dict[type[Transform], tuple[float, float, float, float]] = {
    Brightness: (1, 0, 0, 0),
    Contrast: (1, 0, -1, 0),
    Saturation: (1, -1, 0, 0),
    Gray: (-1, 1, 0, 0),
    Invert: (-2, 0, 0, 1),
}
"""What one unit of strength adds: parts of the pixel, of its luma, of the mean luma, and of 1."""


@dataclass(frozen=True)
class Tones:
    """Transforms that add to each pixel parts of itself, of its luma, of the mean luma and of 1."""

    def prepare(
        self, transform: Transform, x: Tensor, magnitude: Magnitude, params: Params
    ) -> Tensor:
        """Return the four parts and the lowest and highest result, (B, 6)."""
        if isinstance(transform, Bernoulli):
            amount, low, high = transform.outcomes(x, magnitude, params), -torch.inf, torch.inf
        else:
            amount, low, high = transform.strength(params * per_sample(magnitude, x)), 0.0, 1.0
        parts = [amount * part for part in TONES[type(transform)]]
        return torch.stack((*parts, torch.full_like(amount, low), torch.full_like(amount, high)), 1)

    def act(self, x: Tensor, prepared: Tensor) -> Tensor:
        """Add the parts, within the range of pixels."""
        own, gray, mean, shift, low, high = (spread(each, x) for each in prepared.unbind(1))
        plain = luma(x)
        added = plain * gray + (plain.mean((2, 3), keepdim=True) * mean + shift)
        bounds = x.detach()
        return (x.addcmul(x, own) + added).clamp(bounds.clamp(max=low), bounds.clamp(min=high))


class Group(NamedTuple):
    """Transforms, by their indices in a layer, and their operator; None: applied alone."""

    operator: Operator | None
    indices: tuple[int, ...]


def groups(transforms: Sequence[Transform], flips: bool) -> list[Group]:
    """Group transforms by their operators; with `flips`, these are affine maps, too."""
    found: dict[Hashable, list[int]] = {}
    operators: dict[Hashable, Operator] = {}
    for index, transform in enumerate(transforms):
        operator = _operator(transform)
        key: Hashable = index if operator is None else operator
        if operator is not None:
            operators[key] = operator
        found.setdefault(key, []).append(index)
    resamplings = [key for key in operators if isinstance(key, Maps)]
    if flips and resamplings:
        for index, transform in enumerate(transforms):
            if isinstance(transform, Flip):
                del found[index]
                found[resamplings[0]].append(index)
    return [
        Group(operators.get(key) if len(indices) > 1 else None, tuple(indices))
        for key, indices in found.items()
    ]


def _operator(transform: Transform) -> Operator | None:
    if isinstance(transform, Affine):
        return Maps((transform.interpolation, transform.padding))
    if isinstance(transform, Linear):
        return Actions(type(transform).act)
    return Tones() if type(transform) in TONES else None


def pick_rows(x: Tensor, choice: Tensor, drawn: Sequence[DrawnTransform]) -> Tensor:
    """Apply one transform per sample, to its own samples; a choice beyond the last changes nothing.

    Samples are sorted by their transforms once. This reads the sizes of the groups, so it is for
    the CPU, where that costs nothing.
    """
    sequence = groups([transform for transform, *_ in drawn], flips=False)
    order = [index for group in sequence for index in group.indices]
    place = torch.empty(len(drawn) + 1, dtype=torch.long)
    place[[*order, len(drawn)]] = torch.arange(len(drawn) + 1)
    rows, back = grouped(place[choice], len(drawn) + 1)
    own = dict(zip(order, rows, strict=False))
    sizes = [sum(len(own[index]) for index in group.indices) for group in sequence]
    *parts, unchanged = permuted(x, torch.cat(rows), back).split((*sizes, len(rows[-1])))
    views = [
        _view(x, part, group, drawn, own)
        for group, part in zip(sequence, parts, strict=True)
        if len(part)
    ]
    return permuted(torch.cat((*views, unchanged)), back, torch.cat(rows))


def _view(
    x: Tensor,
    part: Tensor,
    group: Group,
    drawn: Sequence[DrawnTransform],
    own: dict[int, Tensor],
) -> Tensor:
    """Transform the samples of one group, which are sorted by transform."""
    present = [index for index in group.indices if len(own[index])]
    parts = part.split([len(own[index]) for index in present])
    if group.operator is None or len(present) == 1:
        (index,) = present
        transform, magnitude, params = drawn[index]
        if transform.batch_coupled:
            return checked_apply(transform, x, magnitude, params, own[index])
        return checked_apply(transform, part, *_of(own[index], magnitude, params))
    prepared = [
        group.operator.prepare(drawn[index][0], each, *_of(own[index], *drawn[index][1:]))
        for index, each in zip(present, parts, strict=True)
    ]
    return group.operator.act(part, torch.cat(_of_one_type(prepared)))


def _of_one_type(prepared: Iterable[Tensor]) -> list[Tensor]:
    """Convert real operators to complex ones if there are both: not all gradients do that."""
    prepared = list(prepared)
    common = reduce(torch.promote_types, (each.dtype for each in prepared))
    return [each.to(common) for each in prepared]


def _of(rows: Tensor, magnitude: Magnitude, params: Params) -> tuple[Magnitude, Params]:
    """Return the magnitudes and params of some samples."""
    per_row = isinstance(magnitude, Tensor) and magnitude.dim() > 0
    return magnitude[rows] if per_row else magnitude, take(params, rows)  # type: ignore[index]


def pick_all(x: Tensor, choice: Tensor, drawn: Sequence[DrawnTransform]) -> Tensor:
    """Apply one transform per sample, by one pass of the whole batch for each operator.

    Nothing is read from the device, so the host never waits for an accelerator.
    """
    picked = x
    for operator, indices in groups([transform for transform, *_ in drawn], flips=True):
        own = [choice == index for index in indices]
        members = [drawn[index] for index in indices]
        if operator is None:
            view = checked_apply(members[0][0], x, *members[0][1:])
        elif isinstance(operator, Maps):  # samples of other groups get any map
            local = torch.stack([number * each for number, each in enumerate(own)]).sum(0)
            view = resample(x, chosen_maps(x, local, members), operator.how)
        else:
            prepared, *others = _of_one_type(
                operator.prepare(each[0], x, *each[1:]) for each in members
            )
            for each, other in zip(own[1:], others, strict=True):
                prepared = torch.where(spread(each, prepared), other, prepared)
            view = operator.act(x, prepared)
        picked = torch.where(spread(torch.stack(own).any(0), x), view, picked)
    return picked


def permuted(x: Tensor, order: Tensor, back: Tensor) -> Tensor:
    """Sort the samples of a batch; `back` is the inverse of `order`."""
    return _Permuted.apply(x, order, back)  # type: ignore[no-untyped-call]


class _Permuted(torch.autograd.Function):
    """The adjoint of a permutation is its inverse. Autograd would add rows to zeros."""

    @staticmethod
    def forward(x: Tensor, order: Tensor, back: Tensor) -> Tensor:
        return x.index_select(0, order)

    @staticmethod
    def setup_context(
        ctx: torch.autograd.function.FunctionCtx,
        inputs: tuple[Tensor, Tensor, Tensor],
        output: Tensor,
    ) -> None:
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, gradient: Tensor
    ) -> tuple[Tensor, None, None]:
        order, back = ctx.saved_tensors  # type: ignore[attr-defined]
        return permuted(gradient, back, order), None, None
