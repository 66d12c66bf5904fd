"""Split samples into training and test samples."""

from typing import NamedTuple

import torch
from torch import Tensor

from augnet.data.collection import Collection
from augnet.data.read_log import DataError

TEST_FRACTION = 0.2
MIN_PER_CLASS = 6
"""Classes with fewer samples are skipped: too few for training and testing."""
MIN_SAMPLES = 24
SHARED_RECORDINGS = "training and test samples come from the same recordings"


class Split(NamedTuple):
    """Training and test samples."""

    train: Collection
    test: Collection


def split(whole: Collection, seed: int = 0) -> Split:
    """Use a fifth of each class as test samples; a group is not split, if that is possible."""
    if whole.y is None:
        raise DataError("the data has no labels: learning needs them")
    if whole.classes:
        whole = _frequent(whole)
    if len(whole) < MIN_SAMPLES:
        raise DataError(f"{len(whole)} samples are too few: learning needs {MIN_SAMPLES} or more")
    generator = torch.Generator().manual_seed(seed)
    test = _by_group(whole, generator)
    if test is None:
        test = _by_class(whole, generator)
    return Split(whole[(~test).nonzero()[:, 0]], whole[test.nonzero()[:, 0]])


def _frequent(whole: Collection) -> Collection:
    """Skip classes with too few samples, and renumber the others."""
    assert whole.y is not None
    counts = whole.y.bincount(minlength=len(whole.classes))
    enough = counts >= MIN_PER_CLASS
    for number in (~enough).nonzero()[:, 0].tolist():
        name = whole.classes[number]
        reason = f"samples of classes with fewer than {MIN_PER_CLASS} samples"
        whole.log.skip(reason, name, int(counts[number]))
    if int(enough.sum()) < 2:
        found = ", ".join(
            f"{name} ({count})" for name, count in zip(whole.classes, counts.tolist(), strict=True)
        )
        raise DataError(
            f"learning needs at least two classes of at least {MIN_PER_CLASS} samples; got {found}"
        )
    if bool(enough.all()):
        return whole
    kept = whole[enough[whole.y].nonzero()[:, 0]]
    assert kept.y is not None
    classes = tuple(n for n, good in zip(whole.classes, enough.tolist(), strict=True) if good)
    renumbered = (enough.cumsum(0) - 1)[kept.y]
    return Collection(
        kept.x, renumbered, classes, kept.names, kept.input_spec, kept.log, kept.groups
    )


def _by_class(whole: Collection, generator: torch.Generator) -> Tensor:
    """Draw a fifth of each class."""
    assert whole.y is not None
    order = torch.randperm(len(whole), generator=generator)
    if whole.classes:
        order = order[whole.y[order].argsort(stable=True)]
    test = torch.zeros(len(whole), dtype=torch.bool)
    test[order[:: round(1 / TEST_FRACTION)]] = True
    return test


def _by_group(whole: Collection, generator: torch.Generator) -> Tensor | None:
    """Draw whole groups up to a fifth of the samples, if all classes are left for training."""
    if whole.groups is None or whole.y is None:
        return None
    groups = whole.groups.unique()
    for _ in range(20):
        test = torch.zeros(len(whole), dtype=torch.bool)
        for group in groups[torch.randperm(len(groups), generator=generator)].tolist()[:-1]:
            if int(test.sum()) < TEST_FRACTION * len(whole):
                test |= whole.groups == group
        counts = whole.y[~test].bincount(minlength=len(whole.classes))
        if bool(test.any()) and int(counts.min()) >= MIN_PER_CLASS - 1:
            whole.log.note("training and test samples come from different recordings")
            return test
    whole.log.note(SHARED_RECORDINGS)
    return None
