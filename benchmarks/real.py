"""Read images in the format of MNIST, and windows of sleep."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from augnet.paper.datasets import Samples, sleep


def idx(file: Path, header: int) -> Tensor:
    """Read bytes in the format of MNIST."""
    return torch.tensor(np.frombuffer(gzip.decompress(file.read_bytes())[header:], np.uint8))


def like_mnist(name: str) -> Callable[[Path, int], tuple[Samples, Samples]]:
    """Read four files of the format of MNIST: 4000 training images, and fresh ones of the test."""

    def load(data: Path, seed: int) -> tuple[Samples, Samples]:
        def read(part: str) -> Samples:
            x = idx(data / name / f"{part}-images-idx3-ubyte.gz", 16).view(-1, 1, 28, 28)
            return Samples(x, idx(data / name / f"{part}-labels-idx1-ubyte.gz", 8).long())

        train, test = read("train"), read("t10k")
        rows = torch.randperm(len(train.x), generator=torch.Generator().manual_seed(seed))
        return Samples(train.x[rows] / 255, train.y[rows]), Samples(test.x / 255, test.y)

    return load


def dream(data: Path, seed: int) -> tuple[Samples, Samples]:
    """Read windows of sleep: of four fifths of the 28 subjects, and fresh ones of the others."""
    parts = sleep.load(seed, source="dream", root=str(data / "sleep-dream"), nights=(20, 2, 6))
    both = (torch.cat(values) for values in zip(parts.train, parts.valid, strict=True))
    return Samples(*both), parts.test
