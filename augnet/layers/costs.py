"""What samples at the edges of ranges cost: sums over a batch, for a `RangeTuner`."""

from collections.abc import Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from augnet.layers.edges import Choice, has_range
from augnet.layers.layer import AugmentationLayer

LARGEST = 1e15
"""Larger losses are left out, like those that are not finite: their squares may be infinite."""


def edge_sums(
    layers: Sequence[AugmentationLayer],
    choices: Sequence[Choice],
    losses: Tensor,
    together: bool,
) -> Tensor:
    """Return number, sum and sum of squares of losses, and how far samples moved, (4, Q + 2).

    The first column is of untransformed samples, the last counts those that are left out, and
    the others are of samples at the edge of a transform that is measured: alone, or `together` with
    what the layers before do.
    """
    usable = losses.abs() <= LARGEST  # NaN is not
    losses = losses.where(usable, torch.zeros_like(losses))
    changed = torch.stack(
        [
            (choice.transform < len(layer.transforms)) & any(map(has_range, layer.transforms))
            for layer, choice in zip(layers, choices, strict=True)
        ]
    ).sum(0)
    alone = (changed == 1) | together
    untransformed, columns, moves = (changed == 0) & usable, [], []
    for layer, choice in zip(layers, choices, strict=True):
        indices = torch.arange(len(layer.transforms), device=losses.device)
        counted = choice.measured & alone & usable
        at_edge = (choice.transform[:, None] == indices) & counted[:, None]
        columns.append(at_edge)
        moved = torch.zeros_like(losses) if layer.moved is None else layer.moved.nan_to_num()
        moves.append((moved[:, None] * at_edge).sum(0))
    masks = torch.cat((untransformed[:, None], *columns, ~usable[:, None]), dim=1)
    values = torch.stack((torch.ones_like(losses), losses, losses.square()))
    moved = F.pad(torch.cat(moves), (1, 1))
    return torch.cat(((values[:, :, None] * masks).sum(1), moved[None]))


def over_processes(sums: Tensor) -> Tensor:
    """Sum over all processes of a distributed training."""
    if dist.is_available() and dist.is_initialized():
        dist.all_reduce(sums)
    return sums
