"""Split samples by groups, such as subjects, speakers or slides: no group is on both sides."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from augnet.categories import as_array, listing, number

TRIES = 64
"""Random splits that are compared."""
CLOSE = 0.05
"""Splits whose fractions are off by less than this are equally good."""
MIN_SIDE = 0.25
"""If one half has less than this fraction of the samples, it is the one held out."""
QUANTILES = 4
"""Values are split as if this many quantiles were classes."""


def number_groups(groups: Any, count: int) -> Tensor:
    """Give groups numbers from 0; refuse what is not one group for each of `count` samples."""
    array = as_array(groups, "groups")
    if array.shape != (count,):
        raise ValueError(
            f"groups takes one group per sample, shape ({count},); got shape {array.shape}"
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ValueError("groups has NaN: leave out samples without a group")
    if array.dtype.kind == "U" and not np.char.strip(array).astype(bool).all():
        raise ValueError("groups has empty names: leave out samples without a group")
    numbers, names = number(array)
    if len(names) < 2:
        raise ValueError(
            f"groups takes at least 2 groups; all samples are of group {listing(names)}: leave "
            "groups out"
        )
    return numbers


def strata(labels: Tensor) -> Tensor:
    """Return what a split keeps in proportion: classes, or quantiles of single values."""
    if not labels.is_floating_point():
        return labels.unique(return_inverse=True)[1]
    if labels.numel() != len(labels):
        return torch.zeros(len(labels), dtype=torch.long, device=labels.device)
    return labels.reshape(-1).argsort().argsort() * QUANTILES // len(labels)


def draw_sides(
    groups: Tensor, labels: Tensor, fraction: float, generator: Generator | None
) -> Tensor:
    """Draw ways to put about a fraction of each class on one side: (TRIES, N), the closest first.

    Groups come in random order, large ones rather first, and each goes to the side where it is
    missed more: a greedy version of what scikit-learn's StratifiedGroupKFold does.
    """
    groups = groups.unique(return_inverse=True)[1].cpu()
    shares = _shares(groups, strata(labels).cpu())
    draws = torch.rand(TRIES, len(shares), generator=generator, dtype=torch.float64)
    order = (draws * shares.amax(1)).argsort(1, descending=True)
    ties = 1e-9 * (torch.rand(TRIES, len(shares), generator=generator, dtype=torch.float64) - 0.5)
    chosen = torch.zeros(TRIES, len(shares), dtype=torch.bool)
    excess = torch.zeros(TRIES, shares.shape[1], dtype=torch.float64)
    rows = torch.arange(TRIES)
    for column, tie in zip(order.T, ties.T, strict=True):
        share = shares[column]
        # How much the squared excess is larger with this group on the side than without.
        added = 2 * (excess * share).sum(1) + (1 - 2 * fraction) * share.square().sum(1)
        here = added + tie < 0
        chosen[rows, column] = here
        excess += torch.where(here, 1 - fraction, -fraction)[:, None] * share
    empty = ~chosen.any(1)
    last = order[empty, -1]
    chosen[empty, last] = True
    excess[empty] += shares[last]
    deviation = excess.square().mean(1).sqrt().clamp(min=CLOSE)
    return chosen[deviation.argsort(stable=True)][:, groups].to(labels.device)


def _shares(groups: Tensor, strata: Tensor) -> Tensor:
    """Return which share of each stratum is in each group: (groups, strata)."""
    size, width = int(groups.max()) + 1, int(strata.max()) + 1
    counts = (groups * width + strata).bincount(minlength=size * width).reshape(size, width)
    return counts.double() / counts.sum(0).clamp(min=1)


def halve(groups: Tensor, labels: Tensor, generator: Generator | None) -> Tensor | None:
    """Return which samples are fitted: about half, of all classes on both sides; None if none."""
    if not labels.is_floating_point() and bool(in_fewer_groups(groups, labels, 2).any()):
        return None
    for fitted in draw_sides(groups, labels, 0.5, generator):
        if _complete(fitted, labels):
            return ~fitted if float(fitted.double().mean()) < MIN_SIDE else fitted
    return None


def _complete(side: Tensor, labels: Tensor) -> bool:
    """Tell whether there are samples, and all classes, on both sides."""
    if labels.is_floating_point():
        return bool(side.any()) and not bool(side.all())
    sides = (labels[side].unique(), labels[~side].unique(), labels.unique())
    return len(sides[0]) == len(sides[1]) == len(sides[2])


def in_fewer_groups(groups: Tensor, classes: Tensor, least: int) -> Tensor:
    """Return the classes that are in fewer groups than `least`."""
    width = int(groups.max()) + 1
    pairs = (classes * width + groups.to(classes.device)).unique()
    present, counts = (pairs // width).unique(return_counts=True)
    return present[counts < least]


def refusal(groups: Tensor, labels: Tensor, least: int, names: Sequence[str] = ()) -> str:
    """Say why groups cannot be split, and what helps.

    Each class should be in `least` groups. `names` are those of classes.
    """
    few = [] if labels.is_floating_point() else in_fewer_groups(groups, labels, least).tolist()
    if few:
        classes = listing(names[each] if names else each for each in few)
        return (
            f"each class must be in {least} groups or more, as no group is on both sides of a "
            f"split; in fewer: {classes}. Leave these classes out, or learn without groups"
        )
    return (
        f"no split of the {len(groups.unique())} groups has all classes on both sides: give more "
        "groups, leave rare classes out, or learn without groups"
    )
