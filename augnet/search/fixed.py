"""Policies that nobody has to search: RandAugment and TrivialAugment on any words."""

from collections.abc import Iterator

from augnet.augment import Policy, Step
from augnet.search.task import Task


def randaugment(task: Task, rounds: int = 2, magnitude: float = 0.3) -> Iterator[Policy]:
    """Use so many words, drawn evenly, one after the other, all at one magnitude (Cubuk 2020)."""
    yield Policy([[Step(word, 1.0, magnitude)] for word in task.all_words], rounds)


def trivialaugment(task: Task) -> Iterator[Policy]:
    """Use one word, drawn evenly, at any strength up to its limit (Müller and Hutter 2021)."""
    yield Policy([[Step(word, 1.0, 1.0)] for word in task.all_words])
