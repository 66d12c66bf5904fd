"""What benchmarks/recovery.py compares: each takes a task and a seed, gives rows and a score.

A row has a transform's name, verdict, strength and, where there is one, an interval. Methods that choose
one transform give one row. The score is the accuracy on clean test data, or the part of variance
explained for values.
"""

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import torch
import torch.nn.functional as F
from recovery_tasks import LIMIT, Task
from torch import Generator, Tensor, nn

from augnet import (
    Augerino,
    AugmentationLayer,
    AugNet,
    MagnitudeNorm,
    WeightedNorm,
    identity,
    learn,
)
from augnet.layers import Policy, Step
from augnet.learn import Found, inputs
from augnet.transforms import Bernoulli, Transform

Rows = list[dict[str, object]]
Outcome = tuple[Rows, float | None]
STEPS = 1260
"""As many as learn takes."""
DATA = inputs.data


@torch.no_grad()
def score(net: nn.Module, task: Task, seed: int) -> float:
    """Predict clean test data."""
    x, y = task.test(seed)
    dice = Generator().manual_seed(seed)
    net.eval()
    output = torch.cat([net(part, dice) for part in x.split(100)])
    if y.is_floating_point():
        return 1 - float((output.flatten() - y).square().mean() / y.var())
    return float((output.argmax(1) == y).double().mean())


def rows_of(found: Found) -> Rows:
    """Give what was found as plain values."""
    return [
        {
            "transform": row.transform.name,
            "verdict": row.verdict,
            "strength": row.strength,
            "interval": row.interval,
        }
        for row in found.invariances
    ]


def profile(task: Task, seed: int) -> Outcome:
    """Ours: `learn` with its defaults."""
    found = learn(*task.train(seed), task.transforms, seed=seed)
    return rows_of(found), score(found.net, task, seed)


def without(constants: Mapping[str, Any]) -> Callable[[Task, int], Outcome]:
    """Ours, less an ingredient: with other constants in the rooms of `augnet.learn`."""

    def ablated(task: Task, seed: int) -> Outcome:
        with ExitStack() as stack:
            for name, value in constants.items():
                stack.enter_context(patch(f"augnet.learn.{name}", value))
            return profile(task, seed)

    return ablated


def nothing_held_out(*given: Any) -> inputs.Data:
    """Measure on the samples that are fitted."""
    data = DATA(*given)
    return replace(data, held_out=data.fitted)


def layers(task: Task, seed: int) -> Outcome:
    """Ours: one selective layer, transforms competing in data space."""
    found = learn(*task.train(seed), layers=[task.transforms], seed=seed)
    return rows_of(found), score(found.net, task, seed)


def train(
    task: Task,
    seed: int,
    augment: Callable[[Tensor, Generator | None], Tensor],
    penalty: Callable[[nn.Module], Tensor] | None = None,
    lr: float = 3e-3,
    copies: int = 1,
    steps: int = STEPS,
    weight_decay: float = 0.0,
    tail: Callable[[nn.Module], Tensor] | None = None,
) -> tuple[AugNet, Tensor | None]:
    """Train the default trunk behind an augment; average what `tail` reads over the last fifth."""
    torch.manual_seed(seed)
    generator = Generator().manual_seed(seed)
    samples = inputs.data(*task.train(seed), generator)
    trunk = inputs.trunk(None, samples)
    aggregate = "logits" if samples.classes else "values"
    net = AugNet(augment, trunk, aggregate, copies=max(copies, 1), train_copies=copies)
    adam = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=weight_decay)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    learned, done = [], 0
    while done < steps:
        net.train()
        for rows in torch.randperm(len(samples.x), generator=generator).split(64):
            output, y = net(samples.x[rows], generator), samples.y[rows]
            if samples.classes:
                loss = F.cross_entropy(output, y)
            else:
                loss = ((output - y) / samples.scale).square().mean()
            if penalty is not None:
                loss = loss + penalty(net.augment)
            adam.zero_grad()
            loss.backward()
            adam.step()
            if penalty is None:
                cosine.step()
            done += 1
            if tail is not None and done > 0.8 * steps:
                learned.append(tail(net.augment).detach())
            if done >= steps:
                break
    return net, torch.stack(learned).mean(0) if learned else None


def none(task: Task, seed: int) -> Outcome:
    """No augmentation."""
    net, _ = train(task, seed, identity)
    return [], score(net, task, seed)


def oracle(task: Task, seed: int) -> Outcome:
    """Give each sample one transform that preserves its label, as far as it may: a fixed policy."""
    true = [
        [Step(transform, 1.0, magnitude(transform, truth))]
        for transform, truth in zip(task.transforms, task.truths, strict=True)
        if truth
    ]
    net, _ = train(task, seed, Policy(true) if true else identity)
    return [], score(net, task, seed)


def magnitude(transform: Transform, truth: float | str) -> float:
    """Give a strength as a magnitude."""
    if truth == LIMIT:
        return 1.0
    if transform.unit == "times":
        return math.log(float(truth)) / math.log(transform.limit)
    return float(truth) / transform.limit


def verdict(value: float) -> str:
    """Read a magnitude as in the findings."""
    return "none" if value < 0.05 else "at least" if value > 0.9 else "within"


def paper(task: Task, seed: int) -> Outcome:
    """One layer with the paper's penalty at the paper's settings for the sinusoids."""
    layer = AugmentationLayer(*task.transforms, magnitude=0.0, temperature=0.01)
    net, learned = train(
        task, seed, layer, lambda augment: 0.2 * WeightedNorm()(augment), lr=1e-2, copies=4,
        steps=STEPS // 2, weight_decay=1e-4,
        tail=lambda augment: torch.stack((augment.weights, augment.magnitudes)),
    )  # fmt: skip
    net.copies = 10
    index = int(learned[0].argmax())
    transform, value = task.transforms[index], float(learned[1, index])
    row = {
        "name": transform.name,
        "verdict": verdict(value),
        "strength": float(transform.strength(value)),
    }
    return [row], score(net, task, seed)


def augerino(task: Task, seed: int) -> Outcome:
    """Augerino with its penalty, read for the transforms that are its generators."""
    x, _ = task.train(seed)
    if x.dim() != 4:
        return [], None
    augment = Augerino()
    net, widths = train(
        task, seed, augment, lambda augment: 0.05 * MagnitudeNorm()(augment), lr=1e-2,
        tail=lambda augment: augment.widths,
    )  # fmt: skip
    net.copies = 10
    rows = []
    for transform in task.transforms:
        if transform.name in ("rotate", "translate_x", "translate_y", "scale"):
            half = float(widths[Augerino.names.index(transform.name)]) / 2
            value = {"rotate": math.degrees(half), "scale": math.exp(half)}.get(
                transform.name, half * 0.1 / 2
            )
            part = magnitude(transform, min(value, transform.limit))
            rows.append({"name": transform.name, "verdict": verdict(part), "strength": value})
    return rows, score(net, task, seed)


def grid(task: Task, seed: int) -> Outcome:
    """Train once per transform and magnitude; keep the largest with an error near the least.

    The costly reference: ten trainings per ranged transform.
    """
    x, y = task.train(seed)
    cut = len(x) * 3 // 4
    rows: Rows = []
    for transform in task.transforms:
        values = [0.0, 1.0] if isinstance(transform, Bernoulli) else [i / 10 for i in range(11)]
        errors = [_validated(task, seed, x, y, cut, transform, value) for value in values]
        near = [
            value
            for value, error in zip(values, errors, strict=True)
            if error <= min(errors) + 0.02
        ]
        best = max(near)
        rows.append(
            {
                "name": transform.name,
                "verdict": verdict(best),
                "strength": float(transform.strength(best)),
            }
        )
    return rows, None


def _validated(
    task: Task, seed: int, x: Tensor, y: Tensor, cut: int, transform: Transform, value: float
) -> float:
    """Train with one transform at one magnitude; give the error on views of other samples."""
    part = Task("part", lambda generator, size: (x[:cut], y[:cut]), (transform,), (LIMIT,))
    layer = AugmentationLayer(transform, magnitude=value)
    layer.requires_grad_(False)
    net, _ = train(part, seed, layer, steps=STEPS // 3)
    net.eval()
    with torch.no_grad():
        net.copies = 1
        output = net(x[cut:].repeat(4, *(1,) * (x.dim() - 1)), Generator().manual_seed(seed))
    truth = y[cut:].repeat(4)
    if y.is_floating_point():
        return float((output.flatten() - truth).square().mean() / y.var())
    return float((output.argmax(1) != truth).double().mean())


METHODS: dict[str, Callable[[Task, int], Outcome]] = {
    "profile": profile,
    "none": none,
    "oracle": oracle,
    "layers": layers,
    "paper": paper,
    "augerino": augerino,
    "grid": grid,
    "whole doses": without({"profile.START": 1.0}),
    "no borders": without({"profile.INSIDE": 1.15}),
    "borders unseen": without({"measure.NEARER": math.inf}),
    "no doubts": without({"profile.DOUBTS": 10**6}),
    "none held out": without({"inputs.data": nothing_held_out}),
}
"""Ours, what it is compared with, and ours less one ingredient each."""
