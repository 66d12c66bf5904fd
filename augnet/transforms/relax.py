"""Gradients where there are none: straight-through values, coins, windows, the unit interval."""

from typing import Any

import torch
from torch import Tensor

RARE = 0.05
"""Outcomes of a coin that are rarer have less than half of its gradient, which would be noise."""


def straight_through(value: Tensor, surrogate: Tensor) -> Tensor:
    """Show `value`, exactly, with the gradient of `surrogate`."""
    return value.detach() + (surrogate - surrogate.detach())


def straight_through_where(condition: Tensor, value: Tensor, surrogate: Tensor) -> Tensor:
    """Show `value` where the condition holds and `surrogate` elsewhere, with the latter's gradient.

    `where(condition, straight_through(value, surrogate), surrogate)`, in one pass over the data
    and none in the backward pass.
    """
    return _StraightThroughWhere.apply(condition, value.detach(), surrogate)  # type: ignore[no-untyped-call]


class _StraightThroughWhere(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(condition: Tensor, value: Tensor, surrogate: Tensor) -> Tensor:
        return torch.where(condition, value, surrogate)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        """Keep nothing."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        return None, None, gradient


def bernoulli(u: Tensor, probability: Tensor) -> Tensor:
    """Toss with `u` uniform on [0, 1): 1 with the given probability, else 0.

    What the probability is worth is the loss of heads less that of tails, of which the slopes at
    both ends tell more than either alone: their mean is exact for losses that are quadratic between
    the outcomes (Heun's rule, as in Liu et al. 2023). So each outcome gets half of the gradient,
    however rare it is. Equal weights would let the commoner one decide: halfway to its mirror an
    image is a ghost, and any net seems to lose by a flip that is rarer than not flipping.
    Probabilities within `RARE` of 0 or 1 give less to what is rare, and nothing to what never is.
    """
    heads = u < probability
    p = probability.detach()
    rarer = torch.minimum(p, 1 - p)
    rare_share = (rarer / (2 * RARE)).clamp(max=0.5)
    share = torch.where(heads == (p <= 0.5), rare_share, 1 - rare_share)
    frequency = torch.where(heads, p, 1 - p).clamp(min=1e-6)
    return straight_through(heads.to(u.dtype), share / frequency * probability)


def window(position: Tensor, start: Tensor, length: Tensor, sharpness: float) -> Tensor:
    """Give 1 between start and start + length and 0 elsewhere, with soft edges.

    A difference of two sigmoids: exactly 0 everywhere if the length is 0.
    """
    rise = torch.sigmoid(sharpness * (position - start))
    return rise - torch.sigmoid(sharpness * (position - start - length))


def unit_interval(raw: Tensor) -> Tensor:
    """Clamp to [0, 1] with a gradient that can lead back in from outside, but not further out.

    A plain clamp has no gradient outside the box: what leaves it never returns. Each use of the
    value is gated by itself, so that at a border where one loss pulls in and a stronger one pushes
    out the value may bounce by a step.
    """
    return _UnitInterval.apply(raw)  # type: ignore[no-untyped-call]


class _UnitInterval(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(raw: Tensor) -> Tensor:
        return raw.clamp(0, 1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (raw,) = ctx.saved_tensors
        # Descent goes against the gradient: a positive one lowers, a negative one raises.
        outward = ((raw <= 0) & (gradient > 0)) | ((raw >= 1) & (gradient < 0))
        return gradient.masked_fill(outward, 0.0)
