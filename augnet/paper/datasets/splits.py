"""What every data set loads."""

from typing import NamedTuple

from torch import Tensor


class Samples(NamedTuple):
    """Inputs (N, ...) and their labels or targets (N, ...)."""

    x: Tensor
    y: Tensor


class Splits(NamedTuple):
    """What is learned from, what choices are made on, what is reported."""

    train: Samples
    valid: Samples
    test: Samples
