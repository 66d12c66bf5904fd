"""Layers that select one transform each, on ranges that were measured."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import AugmentationLayer, AugmentationModule
from augnet.layers.selection import displacement, weigh
from augnet.layers.state import transform_states
from augnet.learn.config import LearnConfig
from augnet.learn.inputs import LearnData
from augnet.learn.net import NetTraining
from augnet.learn.result import Invariance
from augnet.net import AugNet
from augnet.transforms import Transform

SAMPLES = 256
"""How many samples tell how far transforms move the data."""


class SelectiveLayers(NetTraining):
    """Train the trunk with one transform per layer: the one that moves the data farthest.

    Magnitudes are fixed at the measured ranges. A transform that does not preserve the label has
    magnitude 0 and is not selected. One that a layer before has selected is not selected again:
    twice its range would be more than the label survives. A layer that has no other is the
    identity.
    """

    phase = "layers"

    def __init__(
        self,
        data: LearnData,
        transforms: Sequence[Sequence[Transform]],
        rows: Sequence[Invariance],
        trunk: nn.Module,
        generator: Generator,
        config: LearnConfig,
        steps: int,
    ) -> None:
        self.measured = [
            [next(row for row in rows if row.transform == transform) for transform in some]
            for some in transforms
        ]
        layers = [AugmentationLayer(*some, mixing="drawn") for some in transforms]
        self.augment = AugmentationModule(*layers).to(data.x.device, data.x.dtype)
        self.augment.requires_grad_(False)
        self._select(data.x[:SAMPLES], generator)
        net = AugNet(self.augment, trunk, data.aggregate, copies=config.copies)
        super().__init__(data, net, generator, config, steps)

    @torch.no_grad()
    def _select(self, x: Tensor, generator: Generator) -> None:
        """Set ranges, and the weights that follow from them."""
        taken: list[Transform] = []
        for layer, mine in zip(self.augment, self.measured, strict=True):
            usable = [row.kept and row.transform not in taken for row in mine]
            magnitudes = [row.magnitude * use for row, use in zip(mine, usable, strict=True)]
            layer.raw_magnitudes.copy_(torch.tensor(magnitudes))
            kept = torch.tensor(usable, device=x.device)
            weigh(layer, kept, displacement(layer, x, generator), select="one")
            taken.append(layer.transforms[int(layer.weights.argmax())])

    def _states(self) -> list[dict[str, Any]]:
        return [asdict(state) for state in transform_states(self.augment)]

    def selected(self) -> list[Invariance]:
        """Return the invariance of the transform that each layer selected.

        The weight is 0 in a layer that is the identity.
        """
        best = [int(layer.weights.argmax()) for layer in self.augment]
        return [
            replace(mine[index], weight=float(layer.magnitudes[index] > 0))
            for layer, mine, index in zip(self.augment, self.measured, best, strict=True)
        ]
