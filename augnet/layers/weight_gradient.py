"""A gradient for the weights of a layer that draws one transform per sample."""

from typing import Any

import torch
from torch import Tensor

from augnet.transforms import spread


def with_weight_gradient(view: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Add a gradient for the weights (B,) of the drawn transforms to their views of `x`.

    The choice is not differentiable. Its gradient is that of the step from the sample to its
    view times the relative weight, whose value is 1:
    T_q(x) + (w_q / stop(w_q) − 1) stop(T_q(x) − x), see `plain_weight_gradient`. In expectation it
    is Σ_q ⟨∇L(T_q(x)), T_q(x) − x⟩ ∇w_q. This is the gradient of the expected loss,
    Σ_q w_q L(T_q(x)), if the loss is linear between a sample and its views; if it is convex
    there, the cost of transforms is overestimated. A score-function estimator would need the
    loss of each sample, which a layer does not have.

    The value is the view, so only the backward pass computes anything.
    """
    return _Weighted.apply(view, x.detach(), weight / weight.detach())  # type: ignore[no-untyped-call]


def plain_weight_gradient(view: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Add a gradient for the weights: the definition of `with_weight_gradient`."""
    return view + spread(weight / weight.detach() - 1, x) * (view - x).detach()


class _Weighted(torch.autograd.Function):
    @staticmethod
    def forward(view: Tensor, x: Tensor, relative: Tensor) -> Tensor:
        return view.clone()  # a trunk may change its input in place

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
        view, x, _ = inputs
        ctx.save_for_backward(view, x)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, Tensor | None]:
        view, x = ctx.saved_tensors
        if not ctx.needs_input_grad[2]:
            return gradient, None, None
        step = view.detach() - x
        return gradient, None, (gradient * step).flatten(1).sum(1)
