"""AutoAugment (Cubuk et al. 2019), with trials in the place of a controller, as in the paper."""

import math
from collections.abc import Iterator

import optuna

from augnet.layers import Policy
from augnet.paper.config import Config
from augnet.paper.search.task import Task
from augnet.paper.search.trials import best, every, open_study, suggest


def autoaugment(
    task: Task,
    *,
    trials: int = 100,
    pause: int = 5,
    storage: str | None = None,
    study: str = "autoaugment",
    settings: Config | None = None,
) -> Iterator[Policy]:
    """Train from scratch with each policy that is suggested; its worth is the validation score.

    A trial that at some epoch is worse than most were is pruned. Gives the best policy so far after
    every few trials (`pause`). A study in a `storage` is of one config, the `settings`.
    """
    opened = open_study(storage, study, task.seed, settings)

    def value(trial: optuna.trial.Trial) -> float:
        def watch(epoch: int, score: float) -> None:
            if not math.isfinite(score):
                raise ArithmeticError(f"the validation score of epoch {epoch} is {score}")
            trial.report(score, epoch)
            if trial.should_prune():
                raise optuna.TrialPruned

        return task.train(suggest(trial, task.all_transforms), watch=watch).valid

    for _ in every(opened, task, value, trials, pause):
        yield suggest(best(opened)[0], task.all_transforms)
