"""Find a strength at which samples of one class have become samples of another.

Beyond it a branch could only be right by traces of the transform: a blur, an empty margin, a gap in
the spectrum of noise. Given enough steps it finds them.
"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from augnet.learn.config import LearnConfig
from augnet.learn.reference import Reference
from augnet.learn.strengths import apply_at_strength
from augnet.transforms import Signed, Transform
from augnet.transforms.base import full_precision


@torch.no_grad()
def find_border(
    reference: Reference,
    transform: Transform,
    generator: Generator,
    config: LearnConfig,
    start: float = 0.0,
) -> float:
    """Return the least fraction of the limit, above `start`, at which a class is another, or 1.

    The reference predicts the other class for many of its samples, and these have come nearer to
    samples of that class. A network that only guesses predicts another class for samples that look
    like nothing it knows.
    """
    if not reference.data.classes or not isinstance(transform, Signed):
        return 1.0
    rows = reference.held_out[: config.measured_samples]
    x, evaluator = reference.data.x[rows], reference.evaluator
    labels = evaluator.outputs(reference.network, x).argmax(1)
    for index in range(config.border_strengths):
        fraction = (index + 1) / config.border_strengths
        if fraction <= start:
            continue
        for sign in (-1.0, 1.0):
            with full_precision(x):
                moved = apply_at_strength(
                    transform,
                    x,
                    x.new_full((len(x),), fraction),
                    generator,
                    x.new_full((len(x),), sign),
                )
            predicted = evaluator.outputs(reference.network, moved).argmax(1)
            if _crossed(x, moved, labels, predicted, config):
                return fraction
    return 1.0


def _crossed(
    x: Tensor, moved: Tensor, labels: Tensor, predicted: Tensor, config: LearnConfig
) -> bool:
    """Whether many samples of a class are predicted as another and have come nearer to it."""
    pairs = torch.stack((labels, predicted), 1)[labels != predicted].unique(dim=0).tolist()
    for own, other in pairs:
        mine = labels == own
        rows = mine & (predicted == other)
        others = x[labels == other]
        enough = int(rows.sum()) >= max(3, config.min_crossing * int(mine.sum()))
        if enough and len(others) > 3 and _nearer(x[rows], moved[rows], others, config):
            return True
    return False


def _nearer(before: Tensor, after: Tensor, others: Tensor, config: LearnConfig) -> bool:
    for represent in representations(before):
        start, end, goal = represent(before), represent(after), represent(others)
        among = torch.cdist(goal, goal).fill_diagonal_(torch.inf).amin(1).median()
        first, last = (torch.cdist(each, goal).amin(1) - among for each in (start, end))
        away = first > config.border_distance * among  # others were close before they moved
        if 2 * away.sum() < len(away) or away.sum() < 3:
            continue
        if (last[away] / first[away]).median() < config.border_distance:
            return True
    return False


def representations(x: Tensor) -> list[Callable[[Tensor], Tensor]]:
    """Return ways to compare samples: as they are, and signals by their spectra too."""
    ways: list[Callable[[Tensor], Tensor]] = [lambda x: x.flatten(1)]
    if x.dim() == 3:
        ways.append(lambda x: torch.fft.rfft(x).abs().flatten(1))
    return ways
