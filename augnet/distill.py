"""Distill the average over copies into one forward pass of the trunk."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.training import Loop, descend

if TYPE_CHECKING:
    from augnet.net import AugNet


def distill(
    net: AugNet,
    x: Tensor,
    epochs: int = 20,
    lr: float = 1e-3,
    batch: int = 64,
    into: nn.Module | None = None,
    generator: Generator | None = None,
) -> nn.Module:
    """Train a copy of the trunk to predict at once what the net predicts on average over copies.

    No labels are needed. The net predicts each sample of `x` once. Then the copy is trained to
    predict the same for fresh views of the sample, which makes it invariant, and for the sample
    itself, in turns. Logits are compared by the Kullback-Leibler divergence of their probabilities,
    other values by their squared distance. The net does not change. A trunk that is too small to be
    invariant in one pass stays so: train another module by `into`.
    """
    validation.batch(x, "distill")
    epochs, batch = validation.count(epochs, "epochs"), validation.count(batch, "batch")
    if not lr > 0:
        raise ValueError(f"lr must be positive; got {lr}")
    trunk = copy.deepcopy(net.trunk) if into is None else into
    trunk.requires_grad_(True).train()
    optimizer = torch.optim.Adam(trunk.parameters(), lr=lr)
    with _evaluating(net), torch.no_grad():
        targets = torch.cat([net(chunk, generator) for chunk in x.split(batch)])

    def batches() -> Sequence[Tensor]:
        return _split(torch.randperm(len(x), generator=generator, device=x.device), batch)

    def step(rows: Tensor) -> dict[str, Tensor]:
        with _evaluating(net), torch.no_grad():
            views = net.augment(x[rows], generator) if loop.epoch % 2 else x[rows]
        with torch.enable_grad():
            loss = _distance(trunk(views), targets[rows], net.meaning != "values")
            descend(optimizer, loss)
        return {"loss": loss.detach()}

    loop = Loop(batches, step, epochs=epochs)
    for _ in loop:
        pass
    return trunk.eval()


def _split(rows: Tensor, batch: int) -> list[Tensor]:
    """Split rows into batches; a single one that is left joins the batch before, for batch norm."""
    batches = list(rows.split(batch))
    if batch > 1 and len(batches) > 1 and len(batches[-1]) == 1:
        batches[-2:] = [torch.cat(batches[-2:])]
    return batches


def _distance(output: Tensor, target: Tensor, classes: bool) -> Tensor:
    if not classes:
        return F.mse_loss(output, target)
    logs = output.log_softmax(1), target.log_softmax(1)
    return F.kl_div(*logs, reduction="none", log_target=True).sum(1).mean()


@contextmanager
def _evaluating(net: nn.Module) -> Iterator[None]:
    """Put a net into eval mode, and restore the mode of each module."""
    before = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
