"""Distinguish a border between classes from a guess of the trunk."""

from collections.abc import Callable

import torch
from torch import Tensor

from augnet.learn.curve import ResponseCurve
from augnet.learn.measure import Evaluator, Samples
from augnet.learn.strengths import apply_at_strength
from augnet.transforms import Signed, Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import uniform


@torch.no_grad()
def is_border(
    evaluator: Evaluator,
    transform: Transform,
    fraction: float,
    samples: Samples,
    curve: ResponseCurve,
) -> bool:
    """Return whether a class really becomes another in the window of a response curve.

    Beyond the strengths that it was trained on, a trunk may predict another class for samples that
    look different from it. Samples that really become another class come nearer to its samples.
    """
    crossings = curve.crossings()
    if not isinstance(transform, Signed) or not crossings:
        return False
    x, y, generator = samples.x, samples.y, evaluator.generator
    fractions = curve.window * (1 + uniform(x, (len(x),), generator)) / 2
    signs = torch.where(uniform(x, (len(x),), generator) < 0.5, -1.0, 1.0).to(x)
    with full_precision(x):
        far = apply_at_strength(transform, x, fractions, generator, signs)
        within = [fraction * uniform(x, (len(x),), generator) for _ in range(2)]
        views = [apply_at_strength(transform, x, each, generator) for each in within]
    near, labels = torch.cat((x, *views)), y.repeat(3)
    predictions = evaluator.errors(far, y)[1].argmax(1)
    for represent in _representations(x):
        start, end, all_views = represent(x), represent(far), represent(near)
        for own, other, sign in crossings:
            rows = (y == own) & (signs == sign) & (predictions == other)
            others = all_views[labels == other]
            if rows.sum() < 2 or len(others) < 6:
                continue
            before, after = (_nearest(side[rows], others) for side in (start, end))
            among = _nearest(start[y == other], others, itself=False).median()
            left = (after - among) / (before - among).clamp(min=1e-9)
            if left.median() < evaluator.config.border_distance:
                return True
    return False


def _representations(x: Tensor) -> list[Callable[[Tensor], Tensor]]:
    """Return ways to compare samples: as they are, and signals by their spectra too."""
    ways: list[Callable[[Tensor], Tensor]] = [lambda x: x.flatten(1)]
    if x.dim() == 3:
        ways.append(lambda x: torch.fft.rfft(x).abs().flatten(1))
    return ways


def _nearest(samples: Tensor, views: Tensor, itself: bool = True) -> Tensor:
    """Return the distance of each sample to the nearest view, of itself or only of others."""
    distances = torch.cdist(samples, views)
    if not itself:
        own = torch.eye(len(samples), dtype=torch.bool, device=samples.device)
        distances = distances.masked_fill(own.repeat(1, len(views) // len(samples)), torch.inf)
    return distances.amin(1)
