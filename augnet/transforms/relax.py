"""Gradients for discrete values: straight-through, Bernoulli, windows, the unit interval."""

from typing import Any

import torch
from torch import Tensor

RARE = 0.05
"""A rarer outcome gets less than half of the gradient, because it would be mostly noise."""


def straight_through(value: Tensor, surrogate: Tensor) -> Tensor:
    """Return `value` exactly, with the gradient of `surrogate`."""
    return value.detach() + (surrogate - surrogate.detach())


def straight_through_where(condition: Tensor, value: Tensor, surrogate: Tensor) -> Tensor:
    """Return `value` where the condition holds, else `surrogate`, with the gradient of `surrogate`.

    `where(condition, straight_through(value, surrogate), surrogate)`, in one pass over the data
    and none in the backward pass. Both are finite: `lerp` is exact at 0 and 1, and on CPU takes a
    fifth of the time of `where` if the condition is one per sample.
    """
    return _StraightThroughWhere.apply(condition, value.detach(), surrogate)  # type: ignore[no-untyped-call]


class _StraightThroughWhere(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(condition: Tensor, value: Tensor, surrogate: Tensor) -> Tensor:
        return surrogate.lerp(value, condition.to(value.dtype))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        """Save nothing."""

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor]:
        return None, None, gradient


def bernoulli(u: Tensor, probability: Tensor) -> Tensor:
    """Return 1 where `u`, uniform on [0, 1), is below the probability, else 0.

    Outcomes are hard; the gradient is that of the expectation. The derivative of the expected loss
    in the probability is the loss of outcome 1 minus that of outcome 0. The mean of the slopes at
    both outcomes is exact for losses that are quadratic between them (Heun's rule, as in Liu et al.
    2023). So each outcome gets half of the gradient, however rare it is. With a derivative of 1 for
    every sample the more frequent outcome decides: its slope measures a blend of the image and its
    mirror image, and a flip then seems to increase the loss (docs/studies/cifar10.md). Within
    `RARE` of probability 0 or 1 the rare outcome gets less than half. A relaxed Bernoulli has no
    gradient at probability 0, and an infinite one in its logit.
    """
    applied = u < probability
    p = probability.detach()
    rarer = torch.minimum(p, 1 - p)
    rare_share = (rarer / (2 * RARE)).clamp(max=0.5)
    share = torch.where(applied == (p <= 0.5), rare_share, 1 - rare_share)
    frequency = torch.where(applied, p, 1 - p).clamp(min=1e-6)
    return straight_through(applied.to(u.dtype), share / frequency * probability)


def window(position: Tensor, start: Tensor, length: Tensor, sharpness: float) -> Tensor:
    """Return 1 between start and start + length and 0 elsewhere, with soft edges.

    A difference of two sigmoids: exactly 0 everywhere if the length is 0.
    """
    rise = torch.sigmoid(sharpness * (position - start))
    return rise - torch.sigmoid(sharpness * (position - start - length))


def unit_interval(raw: Tensor) -> Tensor:
    """Clamp to [0, 1] with a gradient that can lead back in from outside, but not further out.

    A plain clamp has no gradient outside the interval, so a value that leaves it never returns.
    Each use of the value is gated by itself, not the sum of gradients: at a border where one loss
    pulls in and a stronger one pushes out, the value oscillates by one step.
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
