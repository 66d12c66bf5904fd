"""Fast AutoAugment (Lim et al. 2019): find policies whose views a trained trunk still gets right.

This is density matching: a trunk is trained without augmentation on one part of the training set,
and a policy is good if the trunk is right on views of the other part. No trunk is trained for a
policy.
"""

from collections.abc import Iterator
from functools import partial
from itertools import product

import torch
from optuna import Study
from optuna.trial import Trial
from torch import Generator, Tensor

from augnet.layers import Policy
from augnet.net import AugNet
from augnet.paper.config import Config
from augnet.paper.datasets import Samples, Splits
from augnet.paper.search.task import FORWARD, Task
from augnet.paper.search.trials import (
    add_cost_of_others,
    best_trials,
    finished_trials,
    next_counts,
    open_study,
    run_trial,
    suggest_policy,
)

ROUND = 1_000_003  # between the seeds of two rounds


def fast_autoaugment(
    task: Task,
    *,
    trials: int = 200,
    pause: int = 5,
    folds: int = 5,
    rounds: int = 2,
    held_out: float = 0.4,
    views: int = 5,
    top: int = 10,
    storage: str | None = None,
    study: str = "fast-autoaugment",
    settings: Config | None = None,
    points: int | None = None,
) -> Iterator[Policy]:
    """Search each of some folds by rounds of trials, and join the sub-policies of the best trials.

    Rounds are independent of each other. `trials` are per fold and round; a tenth of them is kept,
    at most `top`. The value of a policy is the share of held-out samples for which the trunk is
    right on at least one of `views` views. `points` is None if others use the studies.
    """
    parts = [_split(task, held_out, fold) for fold in range(folds)]
    nets = [task.train(splits=part, seed=task.seed + fold).net for fold, part in enumerate(parts)]
    searched = list(product(range(folds), range(rounds)))
    seeds = [task.seed + fold + ROUND * number for fold, number in searched]
    studies = [
        open_study(storage, f"{study}-{fold}-{number}", seed, settings, points)
        for (fold, number), seed in zip(searched, seeds, strict=True)
    ]
    counted: list[set[int]] = [set() for _ in studies]
    for each, numbers in zip(studies, counted, strict=True):
        add_cost_of_others(each, task, numbers)
    for due in next_counts(lambda: _finished(studies), trials, pause, points):
        for (fold, _), seed, each, numbers in zip(searched, seeds, studies, counted, strict=True):
            value = partial(_value, task, nets[fold], parts[fold].valid, views)
            while len(finished_trials(each)) < due:
                run_trial(each, task, value, numbers, None if points is None else seed)
        yield _join(task, studies, top)


def _finished(studies: list[Study]) -> int:
    """Return how many trials are finished in every fold and round."""
    return min(len(finished_trials(each)) for each in studies)


def _join(task: Task, studies: list[Study], top: int) -> Policy:
    """Join the sub-policies of the best trials of all folds and rounds."""
    kept = max(1, min(top, _finished(studies) // 10))
    return Policy([
        steps
        for each in studies
        for trial in best_trials(each, kept)
        for steps in suggest_policy(trial, task.all_transforms).subpolicies
    ])  # fmt: skip


def _value(task: Task, net: AugNet, samples: Samples, views: int, trial: Trial) -> float:
    policy = suggest_policy(trial, task.all_transforms)
    return share_matched(task, net, policy, samples, views)


@torch.no_grad()
def share_matched(task: Task, net: AugNet, policy: Policy, samples: Samples, views: int) -> float:
    """Return the share of samples with a correctly classified view, averaged over classes."""
    generator = Generator(device=samples.x.device).manual_seed(task.seed)
    correct = torch.zeros_like(samples.y, dtype=torch.bool)
    for _ in range(views):
        predictions = [_predict(net, policy(x, generator)) for x in samples.x.split(256)]
        correct |= torch.cat(predictions) == samples.y
        task.passes += FORWARD * len(samples.y)
    per_class = [correct[samples.y == label].double().mean() for label in samples.y.unique()]
    return float(torch.stack(per_class).mean())


def _predict(net: AugNet, x: Tensor) -> Tensor:
    return net.eval().trunk(x).argmax(1)


def _split(task: Task, held_out: float, fold: int) -> Splits:
    """Hold out a share of every class of the training set as validation set."""
    x, y = task.splits.train
    generator = Generator().manual_seed(1000 * task.seed + fold)
    order = torch.randperm(len(y), generator=generator).to(y.device)
    held = torch.cat([
        of_class[: max(1, round(held_out * len(of_class)))]
        for of_class in (order[y[order] == label] for label in y.unique())
    ])  # fmt: skip
    kept = torch.ones_like(y, dtype=torch.bool)
    kept[held] = False
    held_samples = Samples(x[held], y[held])
    return Splits(Samples(x[kept], y[kept]), held_samples, held_samples)
