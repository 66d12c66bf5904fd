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

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Move the average towards the network."""
        self.updates += 1
        weight = 1 - min(self.factor, self.updates / (self.updates + 10))
        own: list[Tensor] = list(self.network.parameters())
        other: list[Tensor] = list(network.parameters())
        torch._foreach_lerp_(own, other, weight)
        for buffer, new in zip(self.network.buffers(), network.buffers(), strict=True):
            if buffer.is_floating_point():
                buffer.lerp_(new, weight)
            else:
                buffer.copy_(new)
