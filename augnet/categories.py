"""Read classes and groups: whole numbers or strings, from tensors, arrays, lists or columns."""

from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MANY = 20
"""More categories than this, most of them rare, are taken for values."""
RARE = 3
"""A category with at most this many samples is rare."""
SHOWN = 5
"""Names that an error lists."""


def as_array(values: Any, name: str) -> NDArray[Any]:
    """Return numbers or strings as an array of one of these; refuse missing values.

    Columns (N, 1) become (N,). Objects, as in columns of pandas, become what all of them are.
    """
    if isinstance(values, Tensor):
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise TypeError(f"{name} takes an array of numbers or strings: {error}") from None
    if array.ndim == 0:
        raise TypeError(f"{name} takes one value per sample; got {values!r}")
    if array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind not in "fc":
        array = array[:, 0]
    if array.dtype.kind == "U" and array.ndim == 1 and isinstance(values, list | tuple):
        array = np.asarray(values, dtype=object)  # numpy writes a missing value as "nan"
    if array.dtype.kind in "ST":
        return array.astype(str)
    if array.dtype.kind != "O":
        return array
    listed = array.tolist()
    kinds = set(map(type, listed))
    if all(issubclass(kind, Real) for kind in kinds):
        return np.asarray(listed)
    if all(issubclass(kind, str | int) for kind in kinds):
        return np.asarray(list(map(str, listed)))
    wrong = sorted(kind.__name__ for kind in kinds if not issubclass(kind, str | int))
    raise TypeError(
        f"{name} takes numbers or strings; some are {', '.join(wrong)}: leave out samples without "
        "a value"
    )


def number(array: NDArray[Any]) -> tuple[Tensor, tuple[str, ...]]:
    """Give categories numbers from 0, in sorted order; return these and the names."""
    names, numbers = np.unique(array, return_inverse=True)
    return torch.as_tensor(numbers.astype(np.int64)), tuple(map(str, names))


def look_like_values(counts: Tensor) -> bool:
    """Tell whether so many categories have so few samples that they must be values."""
    return len(counts) > MANY and int(counts.median()) <= RARE


def listing(names: Any) -> str:
    """List the first names, and say how many more there are."""
    names = [str(name) for name in names]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
