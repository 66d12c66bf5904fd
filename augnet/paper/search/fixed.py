"""Policies without a search: RandAugment and TrivialAugment with any transforms."""

from collections.abc import Iterator
from dataclasses import replace

from augnet.layers import Policy, Step
from augnet.layers.published import EITHER_SIGN, FULL
from augnet.paper.search.task import Task
from augnet.transforms import Bernoulli, Ranged, Signed, Transform


def randaugment(task: Task, rounds: int = 2, magnitude: float = 0.3) -> Iterator[Policy]:
    """Yield RandAugment (Cubuk et al. 2020): `rounds` random transforms, all at one magnitude.

    Strengths have either sign. Flips and the like are applied whenever they are drawn. Transforms
    with other random params draw them at this magnitude. The identity is drawn like the others.
    """
    steps = [_whole(each) or _at_strength(each, magnitude) for each in task.all_transforms]
    yield Policy([[step] for step in [*steps, _identity(steps)]], rounds)


def trivialaugment(task: Task) -> Iterator[Policy]:
    """Yield TrivialAugment (Müller and Hutter 2021): one random transform at a random strength.

    The identity is one of them. Flips and the like are applied whenever they are drawn.
    """
    steps = [_whole(each) or Step(each) for each in task.all_transforms]
    yield Policy([[step] for step in [*steps, _identity(steps)]])


def _whole(transform: Transform) -> Step | None:
    """Return a step that applies a Bernoulli transform always; None for others."""
    return Step(replace(transform, limit=1.0)) if isinstance(transform, Bernoulli) else None


def _at_strength(transform: Transform, magnitude: float) -> Step:
    """Return a step at the end of a range."""
    ends = EITHER_SIGN if isinstance(transform, Signed) else FULL
    return Step(transform, 1.0, magnitude, ends if isinstance(transform, Ranged) else ())


def _identity(steps: list[Step]) -> Step:
    """Return a step that changes nothing."""
    return replace(steps[0], magnitude=0.0)
