"""Policies without a search: RandAugment and TrivialAugment with any transforms."""

from collections.abc import Iterator

from augnet.layers import Policy, Step
from augnet.paper.search.task import Task


def randaugment(task: Task, rounds: int = 2, magnitude: float = 0.3) -> Iterator[Policy]:
    """Yield RandAugment (Cubuk et al. 2020): `rounds` random transforms, all at one magnitude."""
    yield Policy([[Step(transform, 1.0, magnitude)] for transform in task.all_transforms], rounds)


def trivialaugment(task: Task) -> Iterator[Policy]:
    """Yield TrivialAugment (Müller and Hutter 2021): one random transform at a random strength."""
    yield Policy([[Step(transform, 1.0, 1.0)] for transform in task.all_transforms])
