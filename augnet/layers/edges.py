"""One transform per sample, some at the edge of its range: what layers draw in training."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from augnet.transforms import Bernoulli, Ranged, Transform
from augnet.transforms.base import Params
from augnet.transforms.noise import permutation, uniform

UNTRANSFORMED = 0.25
"""The share of samples that no layer transforms, however many transforms there are."""


class Choice(NamedTuple):
    """What each sample drew in one layer: tensors (B,)."""

    transform: Tensor
    """The index of its transform, or the number of transforms if it is left as it is."""
    edge: Tensor
    """Whether its transform is at the edge of its range."""
    upper: Tensor
    """At which end it is there; the lower end of an unsigned transform is its upper one, too."""
    measured: Tensor
    """Whether its loss is the cost of this edge: it is not if a later layer is measured."""


class Assigned(NamedTuple):
    """Params for one transform per sample that was chosen without regard to weights."""

    choice: Choice
    fractions: Tensor
    """Of the magnitude, (B,), for transforms whose params are no strength."""
    transforms: list[Params]


def has_range(transform: Transform) -> bool:
    """Tell whether a transform can be made weaker; a Bernoulli transform only gets rarer."""
    return not isinstance(transform, Bernoulli)


def draws_strength(transform: Transform) -> bool:
    """Tell whether the params of a transform are a fraction of its magnitude, and nothing else."""
    return isinstance(transform, Ranged) and type(transform).sample_params is Ranged.sample_params


def draw_choices(
    layers: Sequence[Sequence[Transform]],
    size: int,
    like: Tensor,
    generator: Generator | None,
    selected: Sequence[Tensor] | None = None,
) -> list[Choice]:
    """Draw for each layer which transform each sample of a batch gets, and where in its range.

    A quarter of the samples get no transform. Half of the others get one transform of one layer, at
    its edge, and no layer changes them further: so the cost of each edge is measured alone. The
    other half get one transform of every layer, within its range. All shares are those of the
    batch to within one sample. Within a layer, all transforms get the same share.

    If layers have `selected` one transform each, a sample at the edge of a transform also gets
    those selected by the layers before, at the same end of their ranges: so the cost is that of all
    these layers together.

    A Bernoulli transform has no edge: samples that draw it get it with its probability. A layer
    that has nothing else acts on all samples, also on those that no other layer changes.
    """
    share = (1 - UNTRANSFORMED) / 2
    place = _evenly(size, like, generator)
    none = place < UNTRANSFORMED
    alone = (place < UNTRANSFORMED + share) & ~none
    upper = uniform(like, (size,), generator) < 0.5
    ranged = [any(map(has_range, transforms)) for transforms in layers]
    count = sum(len(transforms) for transforms, has in zip(layers, ranged, strict=True) if has)
    slot = _index((place - UNTRANSFORMED) / share, count)
    place = (place - UNTRANSFORMED - share) / share
    choices, start = [], 0
    for number, (transforms, has) in enumerate(zip(layers, ranged, strict=True)):
        if number or not has:
            place = _evenly(size, like, generator)
        index = _index(place, len(transforms))
        if not has:
            never = torch.zeros_like(none)
            choices.append(Choice(index, never, upper, never))
            continue
        end = start + len(transforms)
        own = alone & (slot >= start) & (slot < end)
        below = alone & (slot >= end) & (selected is not None)
        index = torch.where(own, slot - start, index)
        if selected is not None:
            index = torch.where(below, selected[number], index)
        index = index.masked_fill(none | (alone & ~own & ~below), len(transforms))
        for bernoulli in (i for i, each in enumerate(transforms) if not has_range(each)):
            own = own & (index != bernoulli)
        choices.append(Choice(index, own | below, upper, own))
        start = end
    return choices


def assign(
    transforms: Sequence[Transform],
    choice: Choice,
    shape: Sequence[int],
    like: Tensor,
    generator: Generator | None,
) -> Assigned:
    """Draw the params of all transforms, and put the samples at an edge there.

    A transform that draws a strength is at its edge if this is the upper end of its range, or the
    chosen end if it is signed. One with other params is at its edge at the magnitude itself, and
    within its range at a uniform fraction of it.
    """
    fractions = uniform(like, shape[:1], generator)
    params = []
    for transform in transforms:
        drawn = transform.sample_params(shape, like, generator)
        if isinstance(transform, Ranged) and draws_strength(transform):
            end = torch.where(choice.upper, 1.0, transform.low or 1.0).to(drawn.dtype)
            drawn = torch.where(choice.edge, end, drawn)
        params.append(drawn)
    return Assigned(choice, fractions.masked_fill(choice.edge, 1.0), params)


def to_edge(transform: Transform, params: Params, at_edge: Tensor) -> Params:
    """Move the strengths of some samples to an end of the range of a transform.

    A signed strength goes to the end on its side, an unsigned one to the upper end. Params that are
    no strength do not change.
    """
    if not draws_strength(transform):
        return params
    return torch.where(at_edge, torch.where(params < 0, -1.0, 1.0).to(params), params)


def magnitudes_per_sample(
    transforms: Sequence[Transform], magnitudes: Tensor, params: Assigned
) -> Iterator[Tensor]:
    """Iterate over the magnitudes (B,) of all transforms: 0 for samples that are left as they are.

    Magnitude 0 is the identity exactly.
    """
    changed = (params.choice.transform < len(transforms)).to(params.fractions.dtype)
    weakened = changed * params.fractions
    for transform, magnitude in zip(transforms, magnitudes, strict=True):
        whole = draws_strength(transform) or not has_range(transform)
        yield magnitude * (changed if whole else weakened)


def distance(x: Tensor, view: Tensor) -> Tensor:
    """Return how far each sample is from its view, (B,): the root of the mean square."""
    moved = (view.detach() - x.detach()).float().flatten(1)
    return moved.square().mean(1).sqrt()


def _evenly(size: int, like: Tensor, generator: Generator | None) -> Tensor:
    """Place samples in random order at even distances in [0, 1), from a random start."""
    return (permutation(like, size, generator) + uniform(like, (), generator)) / size


def _index(place: Tensor, count: int) -> Tensor:
    """Divide [0, 1) into `count` equal parts and return the part of each place."""
    return (place * count).long().clamp(0, max(0, count - 1))
