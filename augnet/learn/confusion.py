"""Find the classes that a transform may exchange: which the reference takes for one other class.

If a flip exchanges two of forty classes, the error over all classes rises by little. So the classes
that may be exchanged are tested by themselves. They are found on fitted samples, and tested on
held-out ones.
"""

import torch
from torch import Generator, Tensor

from augnet.learn.config import LearnConfig
from augnet.learn.reference import Reference
from augnet.learn.strengths import apply_at_strength
from augnet.transforms import Transform
from augnet.transforms.base import full_precision


@torch.no_grad()
def confused_rows(
    reference: Reference, transform: Transform, generator: Generator, config: LearnConfig
) -> Tensor:
    """Return which held-out samples (R,) are of a class that may become another."""
    data, evaluator = reference.data, reference.evaluator
    if not data.classes:
        return torch.zeros_like(reference.held_out, dtype=torch.bool)
    x = data.x[data.fitted[: config.max_held_out]]
    with full_precision(x):
        moved = apply_at_strength(transform, x, x.new_ones(len(x)), generator)
    before, after = (evaluator.outputs(reference.network, each).argmax(1) for each in (x, moved))
    counts = x.new_zeros(data.classes, data.classes)
    counts.index_put_((before, after), x.new_ones(len(x)), accumulate=True)
    total = counts.sum(1)
    others = counts.fill_diagonal_(0).amax(1)
    confused = (others >= config.min_confused) & (others >= 0.5 * total)
    return confused[data.y[reference.held_out]]
