"""The methods of benchmarks/recovery.py: each takes a task and a seed, returns rows and a score.

A row has a transform's name, status, strength and, where there is one, an interval. Methods that
choose one transform return one row. The score is the accuracy on clean test data, or the fraction
of variance explained for values.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

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
from augnet.learn import Invariance, LearnConfig, Learner, inputs
from augnet.training import Loop, descend
from augnet.transforms import Bernoulli, Transform

Rows = list[dict[str, object]]
Outcome = tuple[Rows, float | None]
STEPS = 1260
"""As many as learn takes."""


@torch.no_grad()
def score(net: nn.Module, task: Task, seed: int) -> float:
    """Predict clean test data."""
    x, y = task.test(seed)
    generator = Generator().manual_seed(seed)
    net.eval()
    output = torch.cat([net(chunk, generator) for chunk in x.split(100)])
    if y.is_floating_point():
        return 1 - float((output.flatten() - y).square().mean() / y.var())
    return float((output.argmax(1) == y).double().mean())


def rows_of(invariances: Sequence[Invariance]) -> Rows:
    """Return answers as plain values."""
    return [
        {
            "transform": row.transform.name,
            "status": row.status,
            "strength": row.strength,
            "interval": row.interval,
            "cost": row.cost,
            "reason": row.reason,
        }
        for row in invariances
    ]


def learn_with(config: LearnConfig) -> Callable[[Task, int], Outcome]:
    """Ours: `learn` with its defaults, or with other constants."""

    def run(task: Task, seed: int) -> Outcome:
        result = learn(*task.train(seed), task.transforms, config=config, seed=seed)
        return rows_of(result.invariances), score(result.net, task, seed)

    return run


def answers(x: Tensor, y: Tensor, transforms: Sequence[Transform], **options: Any) -> Learner:
    """Measure all transforms as `learn` does, and leave out its net. The answers are the same."""
    learner = Learner(x, y, transforms, **options)
    for _ in learner:
        if learner.search.finished:
            break
    return learner


def learn_without_net(task: Task, seed: int) -> Outcome:
    """Ours: the answers of `learn` with its defaults, and no score."""
    return rows_of(answers(*task.train(seed), task.transforms, seed=seed).invariances), None


def layers(task: Task, seed: int) -> Outcome:
    """Ours: one layer that selects the transform that moves the data farthest at its range."""
    result = learn(*task.train(seed), layers=[task.transforms], seed=seed)
    return rows_of(result.invariances), score(result.net, task, seed)


def train(
    task: Task,
    seed: int,
    augment: Callable[[Tensor, Generator | None], Tensor],
    regularizer: Callable[[nn.Module], Tensor] | None = None,
    lr: float = 3e-3,
    copies: int = 1,
    steps: int = STEPS,
    weight_decay: float = 0.0,
    tail: Callable[[nn.Module], Tensor] | None = None,
) -> tuple[AugNet, Tensor | None]:
    """Train the default trunk behind an augment; average `tail` over the last fifth."""
    torch.manual_seed(seed)
    generator = Generator().manual_seed(seed)
    samples = inputs.prepare_data(*task.train(seed), generator)
    trunk = inputs.prepare_trunk("small", samples)
    net = AugNet(augment, trunk, samples.aggregate, copies=max(copies, 1), train_copies=copies)
    adam = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=weight_decay)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
    learned = []

    def batches() -> tuple[Tensor, ...]:
        net.train()
        return torch.randperm(len(samples.x), generator=generator).split(64)

    def step(rows: Tensor) -> dict[str, Tensor]:
        output, y = net(samples.x[rows], generator), samples.y[rows]
        if samples.classes:
            loss = F.cross_entropy(output, y)
        else:
            loss = ((output - y) / samples.scale).square().mean()
        if regularizer is not None:
            loss = loss + regularizer(net.augment)
        descend(adam, loss)
        if regularizer is None:
            cosine.step()
        if tail is not None and loop.done + 1 > 0.8 * steps:
            learned.append(tail(net.augment).detach())
        return {"loss": loss.detach()}

    loop = Loop(batches, step, steps=steps)
    for _ in loop:
        pass
    return net, torch.stack(learned).mean(0) if learned else None


def none(task: Task, seed: int) -> Outcome:
    """No augmentation."""
    net, _ = train(task, seed, identity)
    return [], score(net, task, seed)


def oracle(task: Task, seed: int) -> Outcome:
    """Apply one label-preserving transform per sample, up to its true range: a fixed policy."""
    true = [
        [Step(transform, 1.0, magnitude(transform, truth))]
        for transform, truth in zip(task.transforms, task.truths, strict=True)
        if truth
    ]
    net, _ = train(task, seed, Policy(true) if true else identity)
    return [], score(net, task, seed)


def magnitude(transform: Transform, truth: float | str) -> float:
    """Return a strength as a magnitude."""
    if truth == LIMIT:
        return 1.0
    if transform.unit == "times":
        return math.log(float(truth)) / math.log(transform.limit)
    return float(truth) / transform.limit


def status(value: float) -> str:
    """Return the status of a magnitude."""
    return "not_invariant" if value < 0.05 else "reached_limit" if value > 0.9 else "bounded"


def paper(task: Task, seed: int) -> Outcome:
    """One layer with the paper's regularizer at the paper's settings for the sinusoids."""
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
        "transform": transform.name,
        "status": status(value),
        "strength": float(transform.strength(value)),
    }
    return [row], score(net, task, seed)


def augerino(task: Task, seed: int) -> Outcome:
    """Augerino with its regularizer, for the transforms that are its generators."""
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
            found = status(magnitude(transform, min(value, transform.limit)))
            rows.append({"transform": transform.name, "status": found, "strength": value})
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
                "transform": transform.name,
                "status": status(best),
                "strength": float(transform.strength(best)),
            }
        )
    return rows, None


def _validated(
    task: Task, seed: int, x: Tensor, y: Tensor, cut: int, transform: Transform, value: float
) -> float:
    """Train with one transform at one magnitude; return the error on views of other samples."""
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
    "learn": learn_with(LearnConfig()),
    "none": none,
    "oracle": oracle,
    "layers": layers,
    "paper": paper,
    "augerino": augerino,
    "grid": grid,
    "full start": learn_with(LearnConfig(start=1.0)),
    "no early stopping": learn_with(LearnConfig(patience=10.0, min_improvement=1e-9)),
}
"""Ours, what it is compared with, and ours less one ingredient each."""
