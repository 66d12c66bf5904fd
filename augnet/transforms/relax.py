"""Gradients where there are none: straight-through values, coins, windows, the unit interval."""

from typing import Any

import torch
from torch import Tensor


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


def coin(u: Tensor, probability: Tensor) -> Tensor:
    """Toss with `u` uniform on [0, 1): 1 with the given probability, else 0.

    The expectation of a toss is its probability, whose derivative is 1 everywhere; so that is the
    toss's gradient. It is exact for losses that are linear between the two outcomes and, unlike a
    relaxed coin's, it neither vanishes nor explodes as the probability goes to 0 or 1.
    """
    return straight_through((u < probability).to(u.dtype), probability)


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
