"""Find the strength at which two classes meet: both moved by it, one looks like the other.

A network that is trained beyond may still tell them, by traces of the transform. So samples are
compared without a network.
"""

import zlib
from collections.abc import Sequence
from dataclasses import asdict

import torch
from torch import Generator, Tensor

from augnet.learn.border import representations
from augnet.learn.config import LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.strengths import apply_at_strength
from augnet.transforms import Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import permutation, uniform

SAMPLES = 128
"""Samples of a class that are compared, at most."""
MIN_SAMPLES = 8
"""Classes with fewer samples are not compared."""
APART = 2.0
"""Classes are apart if they are so many times as far from each other as samples of one class."""
PARTNERS = 10
"""Other classes that each class is compared with, at most: the closest."""


def find_meetings(
    data: LearnData, transform: Transform, fractions: Sequence[float], config: LearnConfig
) -> list[int]:
    """Return the number of the first fraction of the limit at which each class meets another.

    It is that of all fractions for classes that meet none.
    """
    return Meeting(data, transform, config).find(fractions)


class Meeting:
    """Compare the samples of classes, moved by a signed transform."""

    def __init__(self, data: LearnData, transform: Transform, config: LearnConfig) -> None:
        self.data, self.transform = data, transform
        self.seed = zlib.crc32(f"{config.seed} {transform.name} {asdict(transform)}".encode())
        self.share = config.meeting_share
        self.rows = [(data.y == number).nonzero()[:SAMPLES, 0] for number in range(data.classes)]

    @torch.no_grad()
    def find(self, fractions: Sequence[float]) -> list[int]:
        """Search for the first fraction of each pair, by bisection below the least of three.

        Beyond it classes need not look alike: a figure that turns on leaves the other one behind.
        """
        count = len(fractions)
        found = [count] * self.data.classes
        for one, other in self._pairs():
            tried = [round(part * count / 3) - 1 for part in (1, 2, 3)]
            tried = [each for each in tried if 0 <= each < max(found[one], found[other])]
            met = (each for each in tried if self._meet(one, other, fractions[each]))
            low, high = 0, next(met, count)
            while low < high < count:
                middle = (low + high) // 2
                if self._meet(one, other, fractions[middle]):
                    high = middle
                else:
                    low = middle + 1
            for each in (one, other):
                found[each] = min(found[each], high)
        return found

    def _pairs(self) -> list[tuple[int, int]]:
        """Return pairs of classes: all of them, or those with the closest means."""
        if self.data.classes <= PARTNERS + 1:
            partners = [
                [other for other in range(self.data.classes) if other != one]
                for one in range(self.data.classes)
            ]
        else:
            means = torch.stack([self.data.x[rows].mean(0).flatten() for rows in self.rows])
            distances = torch.cdist(means, means).fill_diagonal_(torch.inf)
            partners = distances.topk(PARTNERS, largest=False).indices.tolist()
        enough = [len(rows) >= MIN_SAMPLES for rows in self.rows]
        return [
            (one, other)
            for one, some in enumerate(partners)
            for other in some
            if enough[one] and enough[other] and (one < other or one not in partners[other])
        ]

    def _meet(self, one: int, other: int, fraction: float) -> bool:
        """Whether both classes, moved to opposite ends of a range, look like the other within it.

        Samples that are far from those of their own class, such as waves with any phase, cannot be
        compared.
        """
        generator = Generator(device=self.data.x.device).manual_seed(self.seed)
        rest = [self.data.x[self.rows[each]] for each in (one, other)]
        clouds, ends = [], []
        for x in rest:
            order = permutation(x, len(x), generator)
            places = 2 * (order + uniform(x, (len(x),), generator)) / len(x) - 1
            clouds.append(self._moved(x, fraction * places, generator))
            edge = x.new_full((len(x),), fraction)
            ends.append([self._moved(x, sign * edge, generator) for sign in (-1.0, 1.0)])
        for represent in representations(rest[0]):
            here, there = (represent(each) for each in clouds)
            apart = torch.cdist(represent(rest[0]), represent(rest[1])).amin(1).median()
            first = [_looks_like(represent(end), here, there, apart) for end in ends[0]]
            second = [_looks_like(represent(end), there, here, apart) for end in ends[1]]
            if min(first[0], second[1]) > self.share or min(first[1], second[0]) > self.share:
                return True
        return False

    def _moved(self, x: Tensor, fractions: Tensor, generator: Generator) -> Tensor:
        with full_precision(x):
            return apply_at_strength(
                self.transform, x, fractions.abs(), generator, fractions.sign()
            )


def _looks_like(end: Tensor, own: Tensor, others: Tensor, apart: Tensor) -> float:
    """Return the fraction of samples that are closer to another class than to their own.

    It is 0 if they are not much closer to their own class than both are at rest, `apart`.
    """
    mine = torch.cdist(end, own).fill_diagonal_(torch.inf).amin(1)
    if APART * mine.median() > apart:
        return 0.0
    return (torch.cdist(end, others).amin(1) < mine).float().mean().item()
