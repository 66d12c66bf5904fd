"""Laws about the gradients of transforms."""

from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from augnet.testing.base import expect, law, many, params_of, seeded
from augnet.transforms import Transform

LARGE_JACOBIAN = 1500
"""Inputs with more values are checked along random directions only."""


@law
def exact_gradient(transform: Transform, x: Tensor) -> None:
    """Check that the gradient in the input and in the magnitude is that of the function."""
    x = x[:3].double()
    if "H" in transform.domain.axes:
        x = 0.2 + 0.6 * x  # away from the kinks of clamps
    params = params_of(transform, x, 2)
    magnitude = x.new_tensor([0.31, 0.57, 0.83])
    torch.autograd.gradcheck(
        lambda x, magnitude: transform.apply(x, magnitude, params),
        (x.requires_grad_(), magnitude.requires_grad_()),
        eps=1e-7,
        atol=1e-5,
        fast_mode=x.numel() > LARGE_JACOBIAN,
    )


@law
def expected_gradient(transform: Transform, x: Tensor) -> None:
    """Check that the gradient in the magnitude is that of the mean over params."""
    size = min(len(x), 16)
    x = many(x[:size].double(), 1600 // size * size)
    params = params_of(transform, x, 2)

    def moved(magnitude: Any) -> Tensor:
        return (transform.apply(x, magnitude, params) - x).unflatten(0, (-1, size))

    far = moved(0.8).mean(0)
    magnitude = x.new_tensor(0.4).requires_grad_()
    (gradient,) = torch.autograd.grad((moved(magnitude) * far).mean(), magnitude)
    difference = ((moved(0.5) - moved(0.3)) * far).mean() / 0.2
    ratio = (gradient / difference).item()
    expect(difference > 0, "views do not move farther at a larger magnitude")
    expect(0.85 < ratio < 1.15, f"the gradient is {ratio:.3g} times the finite difference")


@law
def gradient_in_input(transform: Transform, x: Tensor) -> None:
    """Check that at least half of the samples get a gradient, and it is finite."""
    view = transform.apply(x.requires_grad_(), 0.5, params_of(transform, x))
    (gradient,) = torch.autograd.grad(view, x, torch.ones_like(view))
    expect(gradient.isfinite().all(), "gradients are not finite")
    reached = int(gradient.flatten(1).norm(dim=1).gt(0).sum())
    expect(reached >= len(x) / 2, f"{reached} of {len(x)} samples get a gradient")


@law
def identity_jacobian(transform: Transform, x: Tensor) -> None:
    """Check that the gradient in the input is the identity at magnitude 0, for all values."""
    if "H" in transform.domain.axes:
        x[:, :, :4], x[:, :, 4:8] = 0, 1
    cotangent = torch.rand(x.shape, generator=seeded(x, 0), dtype=x.dtype, device=x.device)
    view = transform.apply(x.requires_grad_(), 0.0, params_of(transform, x))
    (gradient,) = torch.autograd.grad((view * cotangent).sum(), x)
    assert_close(gradient, cotangent, atol=1e-4, rtol=1e-4)


@law
def finite_gradient(transform: Transform, x: Tensor) -> None:
    """Check that gradients are finite at magnitudes 0 and 1."""
    params = params_of(transform, x)
    x.requires_grad_()
    for end in (0.0, 1.0):
        magnitude = x.new_tensor(end).requires_grad_()
        view = transform.apply(x, magnitude, params)
        for gradient in torch.autograd.grad(view.square().sum(), (x, magnitude)):
            expect(gradient.isfinite().all(), f"gradients at magnitude {end:g} are not finite")
