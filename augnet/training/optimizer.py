"""The optimizer of `learn`: AdamW."""

from collections.abc import Iterable

import torch
from torch import nn


def adamw(
    parameters: Iterable[nn.Parameter], lr: float, weight_decay: float
) -> torch.optim.Optimizer:
    """Build AdamW, as one kernel for all parameters on the CPU.

    A small network has many small parameters, and torch spends four times as long on a step in
    python (torch 2.13, CPU, networks of 40 000 and 90 000 weights). The kernel ignores strides, so
    it is used for contiguous parameters only.
    """
    every = list(parameters)
    fits = all(
        p.is_floating_point() and p.device.type == "cpu" and p.is_contiguous() for p in every
    )
    fused = True if fits else None  # None: torch chooses
    return torch.optim.AdamW(every, lr=lr, weight_decay=weight_decay, fused=fused)
