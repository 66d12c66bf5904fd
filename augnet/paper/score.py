"""Score a net: accuracy with some views of each sample, time over copies, and invariance."""

import statistics
import time
from collections.abc import Sequence

import torch
from torch import Generator, Tensor

from augnet.invariance import cosine_distance, invariance, summary
from augnet.layers import active_in_eval, identity
from augnet.net import AugNet
from augnet.paper.datasets import Samples
from augnet.transforms import Transform

BATCH = 256  # samples times copies: activations should fit into the cache
ROUNDS, TIMED = 5, 128  # repeated measurements of time, and the samples in each


def with_views(net: AugNet, views: str) -> AugNet:
    """Return a net whose trunk gets other views than those that the net makes in eval.

    `net`: no change. `plain`: every sample as it is. `own`: those of its augmentation, also of a
    policy, which is otherwise for training only.
    """
    if views == "net":
        return net
    augment, copies = (
        (identity, 1) if views == "plain" else (active_in_eval(net.augment), net.copies)
    )
    return AugNet(
        augment,
        net.trunk,
        net.aggregate,
        copies,
        max_batch=net.max_batch,
        sampling=net.sampling,
    )


@torch.no_grad()
def accuracy(net: AugNet, samples: Samples, generator: Generator) -> dict[str, float]:
    """Return accuracy and balanced accuracy."""
    batches = samples.x.split(max(1, BATCH // net.copies))
    right = (torch.cat([net(x, generator).argmax(1) for x in batches]) == samples.y).double()
    per_class = [right[samples.y == label].mean() for label in samples.y.unique()]
    return {
        "accuracy": right.mean().item(),
        "balanced_accuracy": torch.stack(per_class).mean().item(),
    }


@torch.no_grad()
def accuracy_by_copies(
    net: AugNet, samples: Samples, copies: Sequence[int], generator: Generator
) -> dict[int, float]:
    """Return the accuracy for several numbers of copies, each using the first of the same views."""
    right: dict[int, list[Tensor]] = {count: [] for count in copies}
    size = max(1, BATCH // max(copies))
    for x, y in zip(samples.x.split(size), samples.y.split(size), strict=True):
        outputs = net.outputs(x, generator, max(copies))
        for count in copies:
            right[count].append(net.aggregate(outputs[:count]).argmax(1) == y)
    return {count: torch.cat(each).double().mean().item() for count, each in right.items()}


@torch.no_grad()
def time_by_copies(
    net: AugNet, x: Tensor, copies: Sequence[int], generator: Generator
) -> dict[int, float]:
    """Return the time of a forward pass for several numbers of copies; that of the trunk is 1.

    The values are medians of several rounds. The trunk and all numbers of copies take turns, so
    that a machine that is busy for a while slows down all of them.
    """
    x = x[:TIMED]
    rounds: list[list[float]] = []
    for _ in range(1 + ROUNDS):
        rounds.append([])
        for count in (0, *copies):
            start = time.perf_counter()
            net(x, generator, count) if count else net.trunk(x)
            if x.device.type != "cpu":
                torch.accelerator.synchronize()
            rounds[-1].append(time.perf_counter() - start)
    trunk, *rest = map(statistics.median, zip(*rounds[1:], strict=True))  # the first warms up
    return {count: seconds / trunk for count, seconds in zip(copies, rest, strict=True)}


@torch.no_grad()
def authors_invariance(
    net: AugNet, transform: Transform, x: Tensor, generator: Generator
) -> Tensor:
    """Score each sample by eq. 4 as the authors' code does.

    Samples are paired at random, also with themselves. Where the distance to the other sample is 0,
    the score is 0; ours is 1 if the transform changed nothing.
    """
    here, there = net(x, generator), net(transform(x, generator=generator), generator)
    others = here[torch.randperm(len(x), generator=generator, device=generator.device)]
    baseline, moved = cosine_distance(here, others), cosine_distance(here, there)
    return torch.where(baseline == 0, 0.0, (baseline - moved) / baseline)


def invariances(
    net: AugNet, transforms: Sequence[Transform], x: Tensor, generator: Generator
) -> dict[str, float]:
    """Return the median invariance to each transform at its limit (eq. 4), by name."""
    return {
        transform.name: summary(invariance(net, transform, x, generator)).median
        for transform in transforms
    }
