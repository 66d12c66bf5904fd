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
        self.distance = config.meeting_distance
        self.rows = [(data.y == number).nonzero()[:SAMPLES, 0] for number in range(data.classes)]

    @torch.no_grad()
    def find(self, fractions: Sequence[float]) -> list[int]:
        """Search for the first fraction of each pair by bisection."""
        found = [len(fractions)] * self.data.classes
        for one, other in self._pairs():
            low, high = 0, min(len(fractions), max(found[one], found[other]))
            if not high or not self._meet(one, other, fractions[high - 1]):
                continue
            while low < high:
                middle = (low + high) // 2
                if self._meet(one, other, fractions[middle]):
                    high = middle
                else:
                    low = middle + 1
            for each in (one, other):
                found[each] = min(found[each], high)
        return found

    def _pairs(self) -> list[tuple[int, int]]:
        """Return pairs of classes, both ways: all of them, or those with the closest means."""
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
            if enough[one] and enough[other]
        ]

    def _meet(self, one: int, other: int, fraction: float) -> bool:
        """Whether the one, moved to an end of a range, looks like the other within it."""
        generator = Generator(device=self.data.x.device).manual_seed(self.seed)
        x = self.data.x[self.rows[other]]
        order = permutation(x, len(x), generator)
        places = 2 * (order + uniform(x, (len(x),), generator)) / max(1, len(x)) - 1
        within = self._moved(other, fraction * places, generator)
        size = (len(self.rows[one]),)
        ends = [
            self._moved(one, x.new_full(size, sign * fraction), generator) for sign in (-1.0, 1.0)
        ]
        low, high = ends
        return self._nearer(low, high, within) or self._nearer(high, low, within)

    def _nearer(self, before: Tensor, after: Tensor, others: Tensor) -> bool:
        """Whether samples are as close to others as these are to each other, and were not before.

        Samples that are far from those of their own class, such as waves with any phase, cannot be
        compared.
        """
        for represent in representations(before):
            start, end, goal = represent(before), represent(after), represent(others)
            among = torch.cdist(goal, goal).fill_diagonal_(torch.inf).amin(1).median()
            first, last = (torch.cdist(each, goal).amin(1).median() for each in (start, end))
            if first > APART * among and last - among < self.distance * (first - among):
                return True
        return False

    def _moved(self, number: int, fractions: Tensor, generator: Generator) -> Tensor:
        x = self.data.x[self.rows[number]]
        with full_precision(x):
            return apply_at_strength(
                self.transform, x, fractions.abs(), generator, fractions.sign()
            )
