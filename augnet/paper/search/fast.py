"""Fast AutoAugment (Lim et al. 2019): policies whose views a trained trunk still gets right.

Density matching: a trunk is trained without augmentation on a part of the training set; a policy is
good if the trunk is right on views of the other part. No trunk is trained for a policy.
"""

from collections.abc import Iterator
from functools import partial

import torch
from optuna import Study
from optuna.trial import Trial
from torch import Generator, Tensor

from augnet.layers import Policy
from augnet.net import AugNet
from augnet.paper.config import Config
from augnet.paper.datasets import Samples, Splits
from augnet.paper.search.task import FORWARD, Task
from augnet.paper.search.trials import account, attempt, best, open_study, over, suggest


def fast_autoaugment(
    task: Task,
    *,
    trials: int = 200,
    pause: int = 5,
    folds: int = 5,
    held_out: float = 0.4,
    views: int = 5,
    top: int = 10,
    storage: str | None = None,
    study: str = "fast-autoaugment",
    settings: Config | None = None,
) -> Iterator[Policy]:
    """Search each of some folds by trials; the sub-policies of the best are put together.

    `trials` are per fold; at most one in ten of them, and `top` at most, are kept. The worth of a
    policy is the share of held-out samples of which at least one of some `views` is got right.
    """
    parts = [_part(task, held_out, fold) for fold in range(folds)]
    nets = [task.train(splits=part, seed=task.seed + fold).net for fold, part in enumerate(parts)]
    studies = [
        open_study(storage, f"{study}-{fold}", task.seed + fold, settings) for fold in range(folds)
    ]
    counted: list[set[int]] = [set() for _ in studies]
    for each, numbers in zip(studies, counted, strict=True):
        account(each, task, numbers)
    while (done := _done(studies)) < trials:
        for each, net, part, numbers in zip(studies, nets, parts, counted, strict=True):
            value = partial(_value, task, net, part.valid, views)
            for _ in range(min(pause, trials - len(over(each)))):
                attempt(each, task, value, numbers)
        if done < _done(studies) < trials:  # what was there before was given before
            yield _joined(task, studies, top)
    yield _joined(task, studies, top)


def _done(studies: list[Study]) -> int:
    """Say how many trials are over in every fold."""
    return min(len(over(each)) for each in studies)


def _joined(task: Task, studies: list[Study], top: int) -> Policy:
    """Put together the sub-policies of the best trials of all folds."""
    kept = max(1, min(top, _done(studies) // 10))
    return Policy([
        steps
        for each in studies
        for trial in best(each, kept)
        for steps in suggest(trial, task.all_transforms).subpolicies
    ])  # fmt: skip


def _value(task: Task, net: AugNet, samples: Samples, views: int, trial: Trial) -> float:
    return matched(task, net, suggest(trial, task.all_transforms), samples, views)


@torch.no_grad()
def matched(task: Task, net: AugNet, policy: Policy, samples: Samples, views: int) -> float:
    """Give the share of samples of which some view is got right, all classes weighing alike."""
    dice = Generator(device=samples.x.device).manual_seed(task.seed)
    right = torch.zeros_like(samples.y, dtype=torch.bool)
    for _ in range(views):
        answers = [_answers(net, policy(x, dice)) for x in samples.x.split(256)]
        right |= torch.cat(answers) == samples.y
        task.passes += FORWARD * len(samples.y)
    per_class = [right[samples.y == label].double().mean() for label in samples.y.unique()]
    return float(torch.stack(per_class).mean())


def _answers(net: AugNet, x: Tensor) -> Tensor:
    return net.eval().trunk(x).argmax(1)


def _part(task: Task, held_out: float, fold: int) -> Splits:
    """Hold out a share of every class of the training set, to stand for the validation set."""
    x, y = task.splits.train
    dice = Generator().manual_seed(1000 * task.seed + fold)
    order = torch.randperm(len(y), generator=dice).to(y.device)
    held = torch.cat(
        [
            mine[: max(1, round(held_out * len(mine)))]
            for mine in (order[y[order] == label] for label in y.unique())
        ]
    )
    kept = torch.ones_like(y, dtype=torch.bool)
    kept[held] = False
    held_samples = Samples(x[held], y[held])
    return Splits(Samples(x[kept], y[kept]), held_samples, held_samples)
