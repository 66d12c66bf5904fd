"""A running average of the weights of a network."""

import copy

import torch
from torch import Tensor, nn


class WeightAverage:
    """Keep an exponential average of the parameters and buffers of a network, in `network`.

    It changes less from step to step than the network itself, so that it can be evaluated at any
    time, without a schedule of the learning rate. The first updates have more weight.
    """

    def __init__(self, network: nn.Module, factor: float) -> None:
        self.network = copy.deepcopy(network).eval().requires_grad_(False)
        self.factor, self.updates = factor, 0
        self._averaged, self._copied = _tensors(self.network)
        self._followed: nn.Module | None = None

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Move the average towards the network."""
        if network is not self._followed:  # to list tensors takes longer than to average them
            self._followed, self._sources = network, _tensors(network)
        self.updates += 1
        weight = 1 - min(self.factor, self.updates / (self.updates + 10))
        averaged, copied = self._sources
        torch._foreach_lerp_(self._averaged, averaged, weight)
        for buffer, new in zip(self._copied, copied, strict=True):
            buffer.copy_(new)


def _tensors(network: nn.Module) -> tuple[list[Tensor], list[Tensor]]:
    """List the tensors of a network that can be averaged, and the counts, which cannot."""
    every: list[Tensor] = [*network.parameters(), *network.buffers()]
    return (
        [each for each in every if each.is_floating_point()],
        [each for each in every if not each.is_floating_point()],
    )
