"""The type of a loaded data set."""

from typing import NamedTuple

from torch import Tensor


class Samples(NamedTuple):
    """Inputs (N, ...) and their labels or targets (N, ...)."""

    x: Tensor
    y: Tensor


class Splits(NamedTuple):
    """Samples for training, for choices such as early stopping, and for the final score."""

    train: Samples
    valid: Samples
    test: Samples
