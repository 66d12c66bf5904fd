"""Differentiate the validation loss after one step of training, for the bilevel searches.

The policy α changes the step of training, and thereby the validation loss after it. The second
derivative that this takes is a finite difference of two first ones (Liu et al. 2019):
−ξ (∇α L(θ + εv) − ∇α L(θ − εv)) / 2ε, where v = ∇ L_valid(θ′) and θ′ = θ − ξ ∇ L(θ).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import torch
from torch import Tensor, nn

Loss: TypeAlias = Callable[[], Tensor]
RADIUS = 0.01  # of the finite difference, in the norm of the parameters


class Unrolled:
    """Move the parameters of a trunk along directions, and restore them.

    `step` is the largest length ξ of the step of training.
    """

    def __init__(self, trunk: nn.Module, step: float) -> None:
        self.parameters = [p for p in trunk.parameters() if p.requires_grad]
        self.step = self.last_step = step

    def gradient(self, loss: Tensor) -> list[Tensor]:
        """Return the gradient in the parameters of the trunk."""
        return list(torch.autograd.grad(loss, self.parameters))

    @contextmanager
    def moved(self, directions: Sequence[Tensor], by: float) -> Iterator[None]:
        """Move along directions within the block, and restore the parameters exactly."""
        before = [p.detach().clone() for p in self.parameters]
        try:
            with torch.no_grad():
                for parameter, direction in zip(self.parameters, directions, strict=True):
                    parameter.add_(direction, alpha=by)
            yield
        finally:
            with torch.no_grad():
                for parameter, old in zip(self.parameters, before, strict=True):
                    parameter.copy_(old)

    def after(self, train: Loss, valid: Loss) -> tuple[float, list[Tensor]]:
        """Return the validation loss after a step of training, and its gradient there."""
        gradient = self.gradient(train())
        # The gradient says little about what is farther away than a usual step.
        self.last_step = self.step / max(1.0, _norm(gradient))
        with self.moved(gradient, -self.last_step):
            loss = valid()
            return loss.item(), self.gradient(loss)

    def hypergradient(
        self, train: Loss, direction: Sequence[Tensor], policy: Sequence[Tensor]
    ) -> list[Tensor]:
        """Return the gradient, in the policy, of the validation loss after the last step.

        `train` must draw the same random numbers each time that it is called.
        """
        radius = RADIUS / max(_norm(direction), 1e-12)
        sides = []
        for sign in (1.0, -1.0):
            with self.moved(direction, sign * radius):
                sides.append(torch.autograd.grad(train(), policy, allow_unused=True))
        return [
            torch.zeros_like(each)
            if up is None or down is None
            else -self.last_step * (up - down) / (2 * radius)
            for each, up, down in zip(policy, *sides, strict=True)
        ]


def _norm(tensors: Sequence[Tensor]) -> float:
    return torch.stack([tensor.norm() for tensor in tensors]).norm().item()
