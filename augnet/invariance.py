"""How invariant is a model to a transform? (eq. 4)."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.transforms.noise import derangement


def cosine_distance(first: Tensor, second: Tensor) -> Tensor:
    """Return one minus the cosine between the outputs of each sample.

    Computed as half the squared distance of unit vectors, which is exactly 0 for equal outputs.
    """
    if first.dim() < 2 or first[0].numel() < 2:
        raise ValueError(
            f"the cosine needs several values per sample; outputs are {tuple(first.shape)}: give "
            "distance=, such as lambda a, b: (a - b).abs().flatten()"
        )
    first, second = (F.normalize(output.flatten(1), dim=1) for output in (first, second))
    return (first - second).square().sum(1) / 2


@torch.no_grad()
def invariance(
    model: Callable[[Tensor], Tensor],
    transform: Callable[[Tensor], Tensor],
    x: Tensor,
    generator: Generator | None = None,
    distance: Callable[[Tensor, Tensor], Tensor] = cosine_distance,
) -> Tensor:
    """Score each sample: 1 if T does not change f(x), 0 if it changes it as much as another sample.

    (b − d(f(x), f(T(x)))) / b, where b is the distance to the output of another sample, drawn
    without ever pairing a sample with itself. Scores have no lower bound, and can be far below 0
    where b is small, or −∞ where it is 0: report their `summary`, not their mean. The cosine is for
    outputs with several values; for one value per sample give another distance, such as
    `lambda a, b: (a - b).abs().flatten()`. `generator` draws the pairs, and is given to f and T if
    they take one.
    """
    validation.batch(x, "invariance")
    if x.shape[0] < 2:
        raise ValueError("invariance compares a sample with another one; got a batch of one")
    model, transform = _seeded(model, generator), _seeded(transform, generator)
    here, there = model(x), model(transform(x))
    baseline = distance(here, here[derangement(here, len(x), generator)])
    moved = distance(here, there)
    # The baseline may be 0, but a score of 1 does not need it.
    return torch.where(moved == 0, 1.0, (baseline - moved) / baseline)


def _seeded(function: Callable[..., Tensor], generator: Generator | None) -> Callable[..., Tensor]:
    """Bind the generator to a function that takes one."""
    called = function.forward if isinstance(function, nn.Module) else function
    try:
        takes = "generator" in inspect.signature(called).parameters
    except ValueError:  # a built-in function has no signature
        takes = False
    return partial(function, generator=generator) if takes else function


class Summary(NamedTuple):
    """A median and the interval around it that contains a given fraction of the values."""

    median: float
    low: float
    high: float


def summary(scores: Tensor, coverage: float = 0.75) -> Summary:
    """Return the median, and the quantiles that contain `coverage` of the scores."""
    if not 0 < coverage < 1:
        raise ValueError(f"coverage lies between 0 and 1; got {coverage}")
    levels = scores.new_tensor([0.5, (1 - coverage) / 2, (1 + coverage) / 2])
    bounded = scores.flatten().clamp(min=torch.finfo(scores.dtype).min / 2)
    return Summary(*bounded.quantile(levels).tolist())
