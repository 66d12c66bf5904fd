"""Fold: the average over copies, distilled into one forward pass of the trunk."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet import validation

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
    """Train a copy of the trunk to answer at once what the net answers on average over copies.

    No labels are needed. The net is asked about each sample of `x` once; then the copy learns to
    give the same answer to fresh views of it, which is what makes it invariant, in turns with the
    sample itself. Scores of classes are compared by the Kullback-Leibler divergence of their
    probabilities, other values by their squared distance. The net is left as it is. A trunk that
    is too small for one pass to be invariant stays so: `into` another module, then.
    """
    validation.batch(x, "fold")
    epochs, batch = validation.count(epochs, "epochs"), validation.count(batch, "batch")
    if not lr > 0:
        raise ValueError(f"lr must be positive; got {lr}")
    trunk = copy.deepcopy(net.trunk) if into is None else into
    trunk.requires_grad_(True).train()
    optimizer = torch.optim.Adam(trunk.parameters(), lr=lr)
    with _evaluating(net), torch.no_grad():
        answers = torch.cat([net(part, generator) for part in x.split(batch)])
    for epoch in range(epochs):
        order = torch.randperm(len(x), generator=generator, device=x.device)
        for rows in order.split(batch):
            with _evaluating(net), torch.no_grad():
                seen = net.augment(x[rows], generator) if epoch % 2 == 0 else x[rows]
            with torch.enable_grad():
                loss = _distance(trunk(seen), answers[rows], net.meaning != "values")
                optimizer.zero_grad()
                loss.backward()
            optimizer.step()
    return trunk.eval()


def _distance(output: Tensor, answer: Tensor, classes: bool) -> Tensor:
    if not classes:
        return F.mse_loss(output, answer)
    logs = output.log_softmax(1), answer.log_softmax(1)
    return F.kl_div(*logs, reduction="none", log_target=True).sum(1).mean()


@contextmanager
def _evaluating(net: nn.Module) -> Iterator[None]:
    """Put all of a net into eval mode, and back into what each part was in."""
    before = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
