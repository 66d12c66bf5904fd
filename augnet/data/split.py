"""Samples to learn from, and others to say how well that went."""

from typing import NamedTuple

import torch
from torch import Tensor

from augnet.data.account import DataError
from augnet.data.collection import Collection

TEST = 0.2
RARE = 6
"""Classes with fewer samples cannot be learned and tested both, and are left out."""
LEAST = 24
SHARED = "windows of one recording are both learned from and tested on"


class Parts(NamedTuple):
    """What is learned from, and what is only predicted."""

    learned: Collection
    tested: Collection


def split(whole: Collection, seed: int = 0) -> Parts:
    """Set a fifth of the samples of each class aside; what belongs together stays together."""
    if whole.y is None:
        raise DataError("there are no labels to learn")
    if whole.classes:
        whole = _frequent(whole)
    if len(whole) < LEAST:
        raise DataError(f"{len(whole)} samples are too few to learn from: {LEAST} are the least")
    dice = torch.Generator().manual_seed(seed)
    tested = _by_group(whole, dice)
    if tested is None:
        tested = _by_class(whole, dice)
    return Parts(whole[(~tested).nonzero()[:, 0]], whole[tested.nonzero()[:, 0]])


def _frequent(whole: Collection) -> Collection:
    """Leave out classes that are too rare, and number the others anew."""
    assert whole.y is not None
    counts = whole.y.bincount(minlength=len(whole.classes))
    enough = counts >= RARE
    for number in (~enough).nonzero()[:, 0].tolist():
        name = whole.classes[number]
        reason = f"samples of classes with fewer than {RARE} of them"
        whole.account.skip(reason, name, int(counts[number]))
    if int(enough.sum()) < 2:
        found = ", ".join(
            f"{name} ({count})" for name, count in zip(whole.classes, counts.tolist(), strict=True)
        )
        raise DataError(
            f"learning takes at least two classes of at least {RARE} samples; there are: {found}"
        )
    if bool(enough.all()):
        return whole
    kept = whole[enough[whole.y].nonzero()[:, 0]]
    assert kept.y is not None
    classes = tuple(n for n, good in zip(whole.classes, enough.tolist(), strict=True) if good)
    renumbered = (enough.cumsum(0) - 1)[kept.y]
    return Collection(
        kept.x, renumbered, classes, kept.names, kept.reading, kept.account, kept.groups
    )


def _by_class(whole: Collection, dice: torch.Generator) -> Tensor:
    """Take a fifth of each class, drawn evenly."""
    assert whole.y is not None
    order = torch.randperm(len(whole), generator=dice)
    if whole.classes:
        order = order[whole.y[order].argsort(stable=True)]
    tested = torch.zeros(len(whole), dtype=torch.bool)
    tested[order[:: round(1 / TEST)]] = True
    return tested


def _by_group(whole: Collection, dice: torch.Generator) -> Tensor | None:
    """Take whole groups until a fifth is reached, if every class is on both sides then."""
    if whole.groups is None or whole.y is None:
        return None
    kinds = whole.groups.unique()
    for _ in range(20):
        tested = torch.zeros(len(whole), dtype=torch.bool)
        for group in kinds[torch.randperm(len(kinds), generator=dice)].tolist()[:-1]:
            if int(tested.sum()) < TEST * len(whole):
                tested |= whole.groups == group
        learned = whole.y[~tested].bincount(minlength=len(whole.classes))
        if bool(tested.any()) and int(learned.min()) >= RARE - 1:
            whole.account.note("no recording is both learned from and tested on")
            return tested
    whole.account.note(SHARED)
    return None
