"""Policies that nobody has to search: RandAugment and TrivialAugment on any transforms."""

from collections.abc import Iterator

from augnet.layers import Policy, Step
from augnet.paper.search.task import Task


def randaugment(task: Task, rounds: int = 2, magnitude: float = 0.3) -> Iterator[Policy]:
    """Use so many transforms, drawn evenly, one after the other, all at one magnitude (Cubuk 2020)."""
    yield Policy([[Step(transform, 1.0, magnitude)] for transform in task.all_transforms], rounds)


def trivialaugment(task: Task) -> Iterator[Policy]:
    """Use one transform, drawn evenly, at any strength up to its limit (Müller and Hutter 2021)."""
    yield Policy([[Step(transform, 1.0, 1.0)] for transform in task.all_transforms])
