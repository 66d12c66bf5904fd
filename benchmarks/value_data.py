"""The data of benchmarks/value.py: samples to train on, and samples to test on.

Where samples have groups (drawers, speakers, subjects, slides), the seed draws the groups that are
tested. Else the test samples are those of the publisher.
"""

from collections.abc import Callable
from pathlib import Path

import recovery_real_data as real
import torch
from real import idx
from recovery_real_data import DEBIAN, RealData, per_class
from torch import Generator, Tensor

Pair = tuple[RealData, RealData]
TEST = 2000
"""Test samples that are used, at most."""


def digits(shared: Path, seed: int) -> Pair:
    """Read scikit-learn's digits, 8 by 8: 900 to train on."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    x, y = torch.tensor(bunch.images[:, None] / 16).float(), torch.tensor(bunch.target).long()
    order = torch.randperm(len(y), generator=Generator().manual_seed(seed))
    return RealData(x[order[:900]], y[order[:900]]), RealData(x[order[900:]], y[order[900:]])


def like_mnist(name: str, size: int) -> Callable[[Path, int], Pair]:
    """Read images in the format of MNIST, as many of each class to train on."""

    def load(shared: Path, seed: int) -> Pair:
        folder = next((f for f in (shared / name, DEBIAN / name) if f.is_dir()), shared / name)

        def read(part: str) -> tuple[Tensor, Tensor]:
            x = idx(folder / f"{part}-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28).float() / 255
            return x, idx(folder / f"{part}-labels-idx1-ubyte.gz", 8).long()

        (x, y), (fresh, truth) = read("train"), read("t10k")
        rows = per_class(y, size // 10, seed)
        return RealData(x[rows], y[rows]), RealData(fresh[:TEST], truth[:TEST])

    return load


def by_group(load: real.Loader, fraction: float = 0.3) -> Callable[[Path, int], Pair]:
    """Split the groups of a data set: a fraction of them is tested."""

    def split(shared: Path, seed: int) -> Pair:
        every = load(shared, seed)
        assert every.groups is not None
        groups = every.groups.unique()
        order = groups[torch.randperm(len(groups), generator=Generator().manual_seed(seed))]
        tested = torch.isin(every.groups, order[: max(1, round(fraction * len(groups)))])
        test, train = (
            RealData(every.x[rows], every.y[rows], every.groups[rows], every.known)
            for rows in (tested.nonzero()[:, 0][:TEST], (~tested).nonzero()[:, 0])
        )
        return train, test

    return split


def cifar(size: int) -> Callable[[Path, int], Pair]:
    """Read some training images, and the first test images."""

    def load(shared: Path, seed: int) -> Pair:
        test = real.cifar_strips(shared, "test", range(TEST // 500))
        return real.cifar(shared, seed, size), test

    return load


DATA: dict[str, Callable[[Path, int], Pair]] = {
    "digits": digits,
    "mnist": like_mnist("mnist", 1000),
    "fashion-mnist": like_mnist("fashion-mnist", 3000),
    "cifar-10": cifar(5000),
    "cifar-10-20000": cifar(20_000),
    "blood-cells": by_group(real.blood_cells),
    "omniglot-korean": by_group(real.omniglot(tuple(real.KOREAN))),
    "omniglot-pairs": by_group(real.omniglot(real.PAIRS)),
    "spoken-digits": by_group(real.spoken_digits),
    "exercises": by_group(real.exercises),
    "sleep": by_group(real.sleep),
}
