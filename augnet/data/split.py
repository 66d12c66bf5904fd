"""Split samples into training and test samples."""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from augnet.categories import listing
from augnet.data.collection import Collection
from augnet.data.read_log import DataError
from augnet.groups import draw_sides, halve, refusal

TEST_FRACTION = 0.2
MIN_PER_CLASS = 6
"""Classes with fewer samples are skipped: too few for training and testing."""
MIN_SAMPLES = 24
MIN_GROUPS = 3
"""Fewer groups cannot be tested on, fitted and held out."""
SHARED_RECORDINGS = "training and test samples come from the same recordings"


class Split(NamedTuple):
    """Training and test samples."""

    train: Collection
    test: Collection


def split(samples: Collection, seed: int = 0) -> Split:
    """Use a fifth of each class as test samples; no group is split.

    Recordings are split if they are too few; other groups are refused then.
    """
    if samples.y is None:
        raise DataError("the data has no labels: learning needs them")
    if samples.classes:
        samples = _frequent(samples)
    if len(samples) < MIN_SAMPLES:
        raise DataError(f"{len(samples)} samples are too few: learning needs {MIN_SAMPLES} or more")
    generator = torch.Generator().manual_seed(seed)
    if samples.groups is not None and samples.y is not None:
        return _by_group(samples, samples.groups, samples.y, generator)
    return _parts(samples, _by_class(samples, generator))


def _parts(samples: Collection, test: Tensor) -> Split:
    return Split(samples[(~test).nonzero()[:, 0]], samples[test.nonzero()[:, 0]])


def _frequent(samples: Collection) -> Collection:
    """Skip classes with too few samples, and renumber the others."""
    assert samples.y is not None
    counts = samples.y.bincount(minlength=len(samples.classes))
    enough = counts >= MIN_PER_CLASS
    for number in (~enough).nonzero()[:, 0].tolist():
        name = samples.classes[number]
        reason = f"samples of classes with fewer than {MIN_PER_CLASS} samples"
        samples.log.skip(reason, name, int(counts[number]))
    if int(enough.sum()) < 2:
        got = ", ".join(
            f"{name} ({count})"
            for name, count in zip(samples.classes, counts.tolist(), strict=True)
        )
        raise DataError(
            f"learning needs at least two classes of at least {MIN_PER_CLASS} samples; got {got}"
        )
    if bool(enough.all()):
        return samples
    kept = samples[enough[samples.y].nonzero()[:, 0]]
    assert kept.y is not None
    classes = tuple(n for n, good in zip(samples.classes, enough.tolist(), strict=True) if good)
    renumbered = (enough.cumsum(0) - 1)[kept.y]
    return replace(kept, y=renumbered, classes=classes)


def _by_class(samples: Collection, generator: torch.Generator) -> Tensor:
    """Draw a fifth of each class."""
    assert samples.y is not None
    order = torch.randperm(len(samples), generator=generator)
    if samples.classes:
        order = order[samples.y[order].argsort(stable=True)]
    test = torch.zeros(len(samples), dtype=torch.bool)
    test[order[:: round(1 / TEST_FRACTION)]] = True
    return test


def _by_group(samples: Collection, groups: Tensor, y: Tensor, generator: torch.Generator) -> Split:
    """Draw whole groups of about a fifth of each class, so that `learn` can halve the others."""
    sides = [test for test in draw_sides(groups, y, TEST_FRACTION, generator) if _fits(test, y)]
    if samples.classes:
        sides.sort(key=lambda test: -len(y[test].unique()))
    halved = (test for test in sides if halve(groups[~test], y[~test], generator) is not None)
    test = next(halved, None)
    if test is not None:
        return _noted(samples, groups, test)
    if samples.grouped_by is not None:
        raise DataError(_refusal(samples, groups, y))
    if not sides:
        samples.log.note(SHARED_RECORDINGS)
        return _parts(replace(samples, groups=None), _by_class(samples, generator))
    samples.log.note("fitted and held-out samples come from the same recordings")
    train, tested = _noted(samples, groups, sides[0])
    return Split(replace(train, groups=None), tested)


def _noted(samples: Collection, groups: Tensor, test: Tensor) -> Split:
    """Return both parts; note how many groups they have, and which classes are not tested."""
    train, tested = _parts(samples, test)
    learned_from, tested_on = (len(groups[part].unique()) for part in (~test, test))
    samples.log.note(
        f"training and test samples come from different {samples.group_kind}: {learned_from} and "
        f"{tested_on}"
    )
    present = set() if tested.y is None or not samples.classes else set(tested.y.tolist())
    missing = [name for number, name in enumerate(samples.classes) if number not in present]
    if missing:
        samples.log.note(f"no test samples of {listing(missing)}: their groups are too few")
    return Split(train, tested)


def _fits(test: Tensor, y: Tensor) -> bool:
    """Tell whether there are test samples, and training samples of all classes."""
    if not bool(test.any()) or bool(test.all()):
        return False
    if y.is_floating_point():
        return True
    least = y[~test].bincount(minlength=int(y.max()) + 1).min()
    return int(least) >= MIN_PER_CLASS - 1


def _refusal(samples: Collection, groups: Tensor, y: Tensor) -> str:
    """Say why groups cannot be kept whole, and what helps."""
    count, kind = len(groups.unique()), samples.group_kind
    if count < MIN_GROUPS:
        return (
            f"{count} {kind} are too few: learning needs {MIN_GROUPS} or more, one to test and two "
            "to learn from"
        )
    return f"{kind}: {refusal(groups, y, MIN_GROUPS, samples.classes)}"
