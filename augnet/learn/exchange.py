"""Find two classes that a flip exchanges: each becomes the other, as the reference sees it.

Where a flip exchanges two of forty classes, the error over all classes rises by little. And a
branch may learn to tell a flipped sample from a true one, by the hand that drew it.
"""

import torch
from torch import Tensor

from augnet.learn.config import LearnConfig
from augnet.learn.reference import Reference
from augnet.transforms import Bernoulli
from augnet.transforms.base import full_precision


def exchanges_classes(reference: Reference, transform: Bernoulli, config: LearnConfig) -> bool:
    """Whether a flip exchanges two classes."""
    return bool(exchanged_classes(reference, transform, config))


@torch.no_grad()
def exchanged_classes(
    reference: Reference, transform: Bernoulli, config: LearnConfig
) -> list[tuple[int, int]]:
    """Return pairs of classes of which half of the samples of each become samples of the other.

    The outputs of the reference for them must be such as it gives for samples of that class: what
    it has never seen is taken for some class, too.
    """
    data, evaluator = reference.data, reference.evaluator
    if not data.classes:
        return []
    x = data.x[reference.held_out]
    with full_precision(x):
        flipped = transform.transform(x)
    before, after = (evaluator.outputs(reference.network, each) for each in (x, flipped))
    own, other = before.argmax(1), after.argmax(1)
    counts = before.new_zeros(data.classes, data.classes)
    counts.index_put_((own, other), before.new_ones(len(x)), accumulate=True)
    often = counts >= (counts.sum(1, keepdim=True) / 2).clamp(min=config.min_exchanged)
    pairs = torch.triu(often & often.T, diagonal=1).nonzero().tolist()
    return [
        (first, second)
        for first, second in pairs
        if _become(before, after, own, other, first, second, config)
        and _become(before, after, own, other, second, first, config)
    ]


def _become(
    before: Tensor,
    after: Tensor,
    own: Tensor,
    other: Tensor,
    first: int,
    second: int,
    config: LearnConfig,
) -> bool:
    """Whether outputs for samples of one class have come close to those of another class."""
    rows, goal = (own == first) & (other == second), before[own == second]
    among = torch.cdist(goal, goal).fill_diagonal_(torch.inf).amin(1).median()
    start, end = (torch.cdist(each[rows], goal).amin(1) - among for each in (before, after))
    return bool((end / start.clamp(min=1e-9)).median() < config.exchange_distance)
