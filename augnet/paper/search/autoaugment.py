"""AutoAugment (Cubuk et al. 2019), with trials instead of a controller, as in the paper."""

import math
from collections.abc import Iterator

import optuna

from augnet.layers import Policy
from augnet.paper.config import Config
from augnet.paper.search.task import Task
from augnet.paper.search.trials import best_trials, open_study, run_trials, suggest_policy


def autoaugment(
    task: Task,
    *,
    trials: int = 100,
    pause: int = 5,
    storage: str | None = None,
    study: str = "autoaugment",
    settings: Config | None = None,
    points: int | None = None,
) -> Iterator[Policy]:
    """Train from scratch with each suggested policy; its value is the validation score.

    A trial that is worse at some epoch than most trials were is pruned. Yields the best policy so
    far after every `pause` trials. All trials of a study have the same `settings`; `points` is None
    if others use the study.
    """
    opened = open_study(storage, study, task.seed, settings, points)

    def value(trial: optuna.trial.Trial) -> float:
        def report(epoch: int, score: float) -> None:
            if not math.isfinite(score):
                raise ArithmeticError(f"the validation score of epoch {epoch} is {score}")
            trial.report(score, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned

        return task.train(suggest_policy(trial, task.all_transforms), on_epoch=report).valid

    for _ in run_trials(opened, task, value, trials, pause, points):
        yield suggest_policy(best_trials(opened)[0], task.all_transforms)
