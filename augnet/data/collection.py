"""What every reader gives: samples, labels, and an account of both."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor

from augnet.data.account import Account, DataError
from augnet.data.reading import Reading

Task: TypeAlias = Literal["auto", "classes", "values"]
MOST = 20_000
"""Samples that are read if nobody says otherwise: what fits into memory and an afternoon."""
MANY = 1000
"""More classes than this are taken for a mistake."""


@dataclass(frozen=True)
class Collection:
    """Samples as they were read, (N, ...), bytes or floats; `reading.prepare` makes them ready."""

    x: Tensor
    y: Tensor | None
    """Classes as whole numbers, or values; None where there are no labels."""
    classes: tuple[str, ...]
    names: tuple[str, ...]
    """What each sample is called: a file, or its number."""
    reading: Reading
    account: Account = field(default_factory=Account)
    groups: Tensor | None = None
    """What belongs together, such as the windows of a recording, and must not be split."""

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Tensor) -> "Collection":
        """Take some of the samples."""
        return replace(
            self,
            x=self.x[rows],
            y=None if self.y is None else self.y[rows],
            names=tuple(self.names[row] for row in rows.tolist()),
            groups=None if self.groups is None else self.groups[rows],
        )

    def finite(self) -> "Collection":
        """Leave out samples with NaN or infinite numbers."""
        good = torch.ones(len(self), dtype=torch.bool)
        if self.x.is_floating_point():
            good &= self.x.isfinite().flatten(1).all(1)
        if self.y is not None and self.y.is_floating_point():
            good &= self.y.isfinite().reshape(len(self), -1).all(1)
        if bool(good.all()):
            return self
        first = self.names[int((~good).nonzero()[0])]
        self.account.skip("NaN or infinite values", first, int((~good).sum()))
        if not bool(good.any()):
            raise DataError(f"all {len(self)} samples have NaN or infinite values")
        return self[good.nonzero()[:, 0]]


def encode(labels: Sequence[Any], task: Task = "auto") -> tuple[Tensor, tuple[str, ...]]:
    """Make numbers of labels: classes, in order, or values, which have no classes.

    Numbers with a fractional part are values; whole numbers and transforms are classes.
    """
    array = np.asarray(labels)
    if array.dtype.kind == "O":
        array = np.asarray([str(label) for label in labels])
    if array.dtype.kind in "US":
        numbers = _numbers(array)
        if numbers is not None and (task == "values" or (numbers % 1 != 0).any()):
            array = numbers
        elif task == "values":
            raise DataError(f"values are numbers; got {array[0]!r}")
        elif numbers is not None:
            array = numbers.astype(np.int64)
    if array.ndim > 1 and array.shape[1:] == (1,):
        array = array[:, 0]
    fractions = array.dtype.kind == "f" and not (array[np.isfinite(array)] % 1 == 0).all()
    if task == "values" or (task == "auto" and (fractions or array.ndim > 1)):
        return torch.as_tensor(array.astype(np.float32)), ()
    if array.ndim > 1:
        raise DataError(
            f"a class is one label per sample; got labels of shape {array.shape}: argmax(1)?"
        )
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise DataError("some labels are NaN: leave those samples out, or --task values")
        array = array.astype(np.int64)
    names, numbers = np.unique(array, return_inverse=True)
    if len(names) > MANY:
        raise DataError(
            f"{len(names)} different labels are too many for classes: --task values for numbers?"
        )
    return torch.as_tensor(numbers.astype(np.int64)), tuple(str(name) for name in names)


def _numbers(texts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Read transforms as numbers, if all of them are."""
    try:
        numbers = texts.astype(np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def some(y: Tensor | None, count: int, most: int, seed: int) -> Tensor:
    """Draw at most so many rows, evenly from all classes; in their order."""
    if count <= most:
        return torch.arange(count)
    dice = torch.Generator().manual_seed(seed)
    order = torch.randperm(count, generator=dice)
    if y is not None and not y.is_floating_point() and y.dim() == 1:
        turn = torch.empty(count, dtype=torch.long)
        of_class = y[order].argsort(stable=True)
        sizes = y.bincount()
        turn[of_class] = torch.cat([torch.arange(int(size)) for size in sizes])
        order = order[turn.argsort(stable=True)]  # each class's first, then each one's second, ...
    return order[:most].sort().values
