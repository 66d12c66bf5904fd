"""Whether training with a transform makes predictions for samples as they are better.

A transform may preserve labels and still not help: inverted letters are read as well as others, but
nobody writes them. So each branch is also measured without its transform.
"""

import time

import torch

from augnet.learn.branch import Branch
from augnet.learn.result import Invariance
from augnet.training import Loop, RandomState


def measure_benefit(
    branch: Branch, found: Invariance, end: float | None = None
) -> tuple[float | None, int]:
    """Return the benefit of a transform that is kept, and the steps that this took.

    The benefit is by how much the branch is closer to the truth than training without a transform:
    the mean difference of squared distances, over held-out samples as they are. A branch that was
    not trained, because the reference ignores the transform, is trained now within the range, for
    as long as the control. There is no benefit if the reference hardly errs, so that nothing can be
    gained, or if the time of day `end` comes before.
    """
    reference, config = branch.reference, branch.config
    usual = reference.control.distances
    if not found.kept or not reference.errs or usual is None:
        return None, 0
    steps = 0
    if not branch.loop.done:
        planned = max(1, round(config.control_steps * reference.planned))
        branch.rule.start = found.magnitude
        loop = Loop(branch.batches, branch.train_on, steps=planned)
        loop.seconds = None if end is None else end - time.time()
        with RandomState(branch.data.x.device):
            torch.manual_seed(branch.seed)
            for _ in loop:
                pass
        steps = loop.done
        if steps < planned:
            return None, steps
    rows, evaluator = reference.held_out, reference.evaluator
    output = evaluator.outputs(branch.average.network, branch.data.x[rows])
    return evaluator.mean(usual - evaluator.distances(output, rows), rows).item(), steps
