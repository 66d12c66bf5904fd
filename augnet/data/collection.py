"""What every reader returns: samples, labels, and a log."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from augnet.categories import look_like_values
from augnet.data.input_spec import InputSpec
from augnet.data.options import Task
from augnet.data.read_log import DataError, ReadLog
from augnet.groups import number_groups
from augnet.text import MAX_NAME, printable

MAX_CLASSES = 1000
"""More classes than this are taken for a mistake."""
MAX_WHOLE = 2**53
"""Below, floats are exact: from here on, two whole numbers may be the same float."""


@dataclass(frozen=True)
class Collection:
    """Samples as they were read, (N, ...), bytes or floats; `input_spec.prepare` scales them."""

    x: Tensor
    y: Tensor | None
    """Classes as integers, or values; None if there are no labels."""
    classes: tuple[str, ...]
    names: tuple[str, ...]
    """The file of each sample, or its number."""
    input_spec: InputSpec
    log: ReadLog = field(default_factory=ReadLog)
    groups: Tensor | None = None
    """The group of each sample, such as its recording: groups are not split."""
    grouped_by: str | None = None
    """The column or array of groups; None for recordings, which are split if they are too few."""

    @property
    def group_kind(self) -> str:
        """What groups are, in the plural."""
        return "recordings" if self.grouped_by is None else f"groups ({self.grouped_by})"

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Tensor) -> "Collection":
        """Return some of the samples."""
        return replace(
            self,
            x=self.x[rows],
            y=None if self.y is None else self.y[rows],
            names=tuple(self.names[row] for row in rows.tolist()),
            groups=None if self.groups is None else self.groups[rows],
        )

    def finite(self) -> "Collection":
        """Return the samples without NaN and infinite values."""
        good = torch.ones(len(self), dtype=torch.bool)
        if self.x.is_floating_point():
            good &= self.x.isfinite().flatten(1).all(1)
        if self.y is not None and self.y.is_floating_point():
            good &= self.y.isfinite().reshape(len(self), -1).all(1)
        if bool(good.all()):
            return self
        first = self.names[int((~good).nonzero()[0])]
        self.log.skip("NaN or infinite values", first, int((~good).sum()))
        if not bool(good.any()):
            raise DataError(f"all {len(self)} samples have NaN or infinite values")
        return self[good.nonzero()[:, 0]]


def encode_groups(groups: Any, count: int, path: Path, name: str) -> Tensor:
    """Convert groups to numbers; refuse what is not one group per sample."""
    try:
        return number_groups(groups, count)
    except (ValueError, TypeError) as error:
        raise DataError(f"{path}, {name}: {error}") from None


def encode(labels: Sequence[Any], task: Task = "auto") -> tuple[Tensor, tuple[str, ...]]:
    """Convert labels to numbers; return these and the names of classes (none for regression).

    With `auto`, numbers with a fractional part are for regression, and all else are classes. Names
    of classes are labels as they are written: "1", "01" and "1.0" are three classes.
    """
    array = np.asarray(labels)
    if array.dtype.kind == "O":
        array = np.asarray([str(label) for label in labels])
    if array.dtype.kind not in "fiubUS":
        raise DataError(f"labels are numbers or strings; got an array of {array.dtype}")
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "surrogateescape")
    if array.ndim > 1 and array.shape[1:] == (1,):
        array = array[:, 0]
    numbers = _numbers(array, task) if array.dtype.kind == "U" else array
    if numbers is not None and (task == "regression" or (task == "auto" and _are_values(numbers))):
        return torch.as_tensor(to_float(numbers)), ()
    if array.ndim > 1:
        raise DataError(
            f"classification takes one label per sample; got shape {array.shape}: argmax(1)?"
        )
    if array.dtype.kind == "f":
        array = _without_fractions(array)
    names, found, counts = np.unique(array, return_inverse=True, return_counts=True)
    if len(names) > MAX_CLASSES:
        raise DataError(
            f"{len(names)} classes are too many (the limit is {MAX_CLASSES}): for numbers, use "
            "--task regression"
        )
    whole = array.dtype.kind in "iu" or (numbers is not None and (abs(numbers) < MAX_WHOLE).all())
    if task == "auto" and whole and look_like_values(torch.as_tensor(counts)):
        raise DataError(
            f"{len(array)} samples have {len(names)} different whole numbers as labels, most of "
            f"them {int(np.median(counts))} times or less: use --task regression if these are "
            "values, and --task classification if they are classes"
        )
    order = _order(names)
    return torch.as_tensor(np.argsort(order)[found]), _class_names(names[order])


def _are_values(numbers: np.ndarray[Any, Any]) -> bool:
    """Return whether numbers are for regression: some have fractions, or samples have several."""
    return numbers.ndim > 1 or bool((numbers[np.isfinite(numbers)] % 1 != 0).any())


def _without_fractions(labels: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return classes that are floats as whole numbers, or as text if some have fractions."""
    if not np.isfinite(labels).all():
        raise DataError("some labels are NaN: remove those samples, or use --task regression")
    if (np.abs(labels) >= MAX_WHOLE).any():
        raise DataError(
            f"some labels are as large as {np.abs(labels).max():.3g}: use --task regression if "
            "these are values, and names as labels if they are classes"
        )
    return labels.astype(str if (labels % 1 != 0).any() else np.int64)


def _order(names: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the order of classes: by their numbers if all of them are, and else by name."""
    numbers = [_number(name) for name in names]
    if not np.isfinite(numbers).all():
        return np.arange(len(names))
    return np.argsort(numbers, kind="stable")


def _class_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Return the names of classes as they can be written everywhere."""
    classes = tuple(map(printable, names))
    if len(set(classes)) < len(classes):
        raise DataError("names of classes differ in characters only that cannot be printed")
    if max(map(len, classes)) > MAX_NAME:
        raise DataError(f"a label has more than {MAX_NAME} characters: is it the column of labels?")
    return classes


def to_float(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert numbers to float32; those that are too large become infinite, and are skipped."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def _numbers(texts: np.ndarray[Any, Any], task: Task) -> np.ndarray[Any, Any] | None:
    """Convert strings to numbers, if all of them are; refuse values mixed with other words."""
    try:
        numbers = texts.astype(np.float64)
    except ValueError:
        numbers = np.array([_number(text) for text in texts.ravel()])
    finite = np.isfinite(numbers).ravel()
    if finite.all():
        return numbers
    values = bool((numbers.ravel()[finite] % 1 != 0).any())
    if task == "regression" or (task == "auto" and values):
        other = texts.ravel()[~finite]
        raise DataError(
            f"regression takes numbers as labels; {int(finite.sum())} of {len(finite)} are, "
            f"{len(other)} are not, such as {printable(other[0])!r}: remove those "
            "samples, or use --task classification if all are names of classes"
        )
    return None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def draw_rows(y: Tensor | None, count: int, max_samples: int, seed: int) -> Tensor:
    """Draw at most `max_samples` of `count` rows, evenly from all classes; in their order."""
    if count <= max_samples:
        return torch.arange(count)
    order = torch.randperm(count, generator=torch.Generator().manual_seed(seed))
    if y is not None and not y.is_floating_point() and y.dim() == 1:
        rank = torch.empty(count, dtype=torch.long)  # within the class
        by_class = y[order].argsort(stable=True)
        rank[by_class] = torch.cat([torch.arange(int(size)) for size in y.bincount()])
        order = order[rank.argsort(stable=True)]
    return order[:max_samples].sort().values
