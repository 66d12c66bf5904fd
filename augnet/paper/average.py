"""The parameters of an augmentation, averaged over the last quarter of a training."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

LAST = 4
"""The average is over the last of so many parts of the epochs."""


class TailAverage:
    """Average what gradients learn about transforms over the steps of the last quarter.

    Magnitudes and weights keep moving, so the last values are a matter of chance. The average is
    what a run saves, and what is reported.
    """

    def __init__(self, net: nn.Module, epochs: int) -> None:
        augment = getattr(net, "augment", None)
        own = augment.named_parameters() if isinstance(augment, nn.Module) else ()
        self.parameters = {f"augment.{name}": value for name, value in own}
        self.first = epochs - max(1, epochs // LAST)
        self.count = 0
        self.means: dict[str, Tensor] = {}

    @torch.no_grad()
    def update(self, epoch: int) -> None:
        """Take the parameters after a step of an epoch, counted from 0."""
        if epoch < self.first:
            return
        self.count += 1
        for name, value in self.parameters.items():
            mean = self.means.get(name, torch.zeros_like(value))
            self.means[name] = mean + (value.detach() - mean) / self.count

    def state_dict(self) -> dict[str, Any]:
        """Return what `load_state_dict` takes."""
        return {"count": self.count, "means": dict(self.means)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.count = state["count"]
        self.means = {name: mean.to(self.parameters[name]) for name, mean in state["means"].items()}
