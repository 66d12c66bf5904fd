"""A running average of the weights of a network."""

import copy
from typing import Any

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
        self._own, self._other = _places(self.network), _places(network)
        self._followed = network

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Move the average towards the network."""
        if network is not self._followed:
            self._followed, self._other = network, _places(network)
        self.updates += 1
        weight = 1 - min(self.factor, self.updates / (self.updates + 10))
        averaged, sources = [], []
        for (owner, name), (other, same) in zip(self._own, self._other, strict=True):
            own, new = owner[name], other[same]
            if own is None or new is None:
                continue
            if own.is_floating_point() or own.is_complex():
                averaged.append(own)
                sources.append(new)
            else:
                own.copy_(new)
        if averaged:
            torch._foreach_lerp_(averaged, sources, weight)


def _places(network: nn.Module) -> list[tuple[dict[str, Tensor | None], str]]:
    """List where a network keeps its parameters and buffers, each one once.

    To list them takes longer than to average them. The tensors themselves may be replaced: a module
    may assign a buffer in each step, and `to` replaces all.
    """
    found: list[tuple[dict[str, Tensor | None], str]] = []
    seen: set[int] = set()
    for module in network.modules():
        owners: tuple[Any, ...] = (module._parameters, module._buffers)
        for owner in owners:
            for name, tensor in owner.items():
                if tensor is not None and id(tensor) not in seen:
                    seen.add(id(tensor))
                    found.append((owner, name))
    return found
