"""How good a net is: with which views of a sample, over how many copies, and how invariant."""

import statistics
import time
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Generator, Tensor

from augnet.invariance import invariance, summary
from augnet.layers import active_in_eval, identity
from augnet.net import AugNet
from augnet.paper.datasets import Samples
from augnet.transforms import Transform

Row: TypeAlias = dict[str, float]
AT_ONCE = 256  # samples, copies and all: they should fit into the cache
ROUNDS, TIMED = 5, 128  # of a stopwatch, and the samples of each


def as_seen(net: AugNet, views: str) -> AugNet:
    """Give the net that shows its trunk other views than the net itself does in eval.

    `net`: its own. `plain`: every sample as it is. `own`: those of its augmentation, even of a
    policy, which is otherwise for training alone.
    """
    if views == "net":
        return net
    if views == "plain":
        return AugNet(identity, net.trunk, net.aggregate, copies=1)
    return AugNet(active_in_eval(net.augment), net.trunk, net.aggregate, net.copies)


@torch.no_grad()
def accuracy(net: AugNet, samples: Samples, dice: Generator) -> Row:
    """Give accuracy and balanced accuracy."""
    batches = samples.x.split(max(1, AT_ONCE // net.copies))
    right = (torch.cat([net(x, dice).argmax(1) for x in batches]) == samples.y).double()
    per_class = [right[samples.y == label].mean() for label in samples.y.unique()]
    return {
        "accuracy": right.mean().item(),
        "balanced_accuracy": torch.stack(per_class).mean().item(),
    }


@torch.no_grad()
def accuracy_by_copies(
    net: AugNet, samples: Samples, copies: Sequence[int], dice: Generator
) -> dict[int, float]:
    """Give the accuracy for several numbers of copies; the fewer are the first of the more."""
    usual, net.copies = net.copies, max(copies)
    right: dict[int, list[Tensor]] = {count: [] for count in copies}
    size = max(1, AT_ONCE // net.copies)
    for x, y in zip(samples.x.split(size), samples.y.split(size), strict=True):
        outputs = net.outputs(x, dice)
        for count in copies:
            right[count].append(net.aggregate(outputs[:count]).argmax(1) == y)
    net.copies = usual
    return {count: torch.cat(found).double().mean().item() for count, found in right.items()}


@torch.no_grad()
def time_by_copies(
    net: AugNet, x: Tensor, copies: Sequence[int], dice: Generator
) -> dict[int, float]:
    """Give the time of a forward pass for several numbers of copies, the trunk's own being 1.

    Medians of some rounds; the trunk and all numbers of copies take turns, so that a machine that
    is busy for a while is so for all of them.
    """
    usual, x = net.copies, x[:TIMED]
    rounds: list[list[float]] = []
    for _ in range(1 + ROUNDS):
        rounds.append([])
        for count in (0, *copies):
            net.copies = count or usual
            start = time.perf_counter()
            net(x, dice) if count else net.trunk(x)
            if x.device.type != "cpu":
                torch.accelerator.synchronize()
            rounds[-1].append(time.perf_counter() - start)
    net.copies = usual
    trunk, *rest = map(statistics.median, zip(*rounds[1:], strict=True))  # the first warms up
    return {count: seconds / trunk for count, seconds in zip(copies, rest, strict=True)}


def invariances(net: AugNet, transforms: Sequence[Transform], x: Tensor, dice: Generator) -> Row:
    """Give the median invariance to each transform at its limit (eq. 4), as flat values."""
    medians: dict[str, Any] = {
        f"invariance.{transform.name}": summary(invariance(net, transform, x, dice)).median
        for transform in transforms
    }
    return medians
