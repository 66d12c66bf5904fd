"""Trials: a tree of Parzen estimators (Optuna) suggests policies, one process or many at a time.

A study lives in a storage: a SQLite file, or a database that many machines share. What a killed
search has tried is not tried again; what a trial cost is kept beside its value. The settings of
who began a study are kept with it: a storage may be shared, trials of other settings may not.
"""

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import optuna
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from augnet.layers import Policy, Step
from augnet.paper.config import Config, ConfigError
from augnet.paper.search.space import STEPS, SUBPOLICIES
from augnet.paper.search.task import Task
from augnet.transforms import Transform

OVER = (TrialState.COMPLETE, TrialState.PRUNED)
SPENT = (*OVER, TrialState.FAIL)  # on which something was spent, whatever came of it
FAILURES = 5  # in a row are not bad luck any more
SETTINGS = "settings"  # the user attribute of a study that has them
MACHINES = {"root", "cache", "trials"}  # where data is, and when who is there has done enough
HEARTBEAT = 60  # seconds: who is silent for longer is gone, and its trial with it
SURVIVABLE = (RuntimeError, ValueError, ArithmeticError)


class SearchError(RuntimeError):
    """A search that cannot go on."""


def suggest(trial: Trial | FrozenTrial, transforms: list[Transform]) -> Policy:
    """Ask for a policy: in each step a transform, its probability and its magnitude."""
    by_name = _labeled(transforms)

    def step(place: str) -> Step:
        name = trial.suggest_categorical(f"{place}.transform", list(by_name))
        probability = trial.suggest_float(f"{place}.probability", 0.0, 1.0)
        magnitude = trial.suggest_float(f"{place}.magnitude", 0.0, 1.0)
        return Step(by_name[name], probability, magnitude)

    return Policy([[step(f"{s}.{k}") for k in range(STEPS)] for s in range(SUBPOLICIES)])


def _labeled(transforms: list[Transform]) -> dict[str, Transform]:
    """Name transforms for a study: a transform that is there with several limits is spelled out."""
    times = Counter(transform.name for transform in transforms)
    return {
        transform.name if times[transform.name] == 1 else repr(transform): transform
        for transform in transforms
    }


def open_study(
    storage: str | None, name: str, seed: int, settings: Config | None = None
) -> optuna.Study:
    """Open a study, or begin it; only who began it has the seed's dice: others try other things.

    What it is begun with is kept. Trials that were made before that was so are nobody's.
    """
    study = _create(storage, name, seed)
    if settings is None:
        return study
    if SETTINGS not in study.user_attrs and not study.get_trials(deepcopy=False):
        study.set_user_attr(SETTINGS, settings.model_dump(mode="json"))
    _insist(name, study.user_attrs.get(SETTINGS), settings)
    return study


def refuse_others(storage: str, name: str, settings: Config) -> None:
    """Refuse a storage in which the study of this name, or a part of it, has other settings."""
    for kept in optuna.get_all_study_summaries(_opened(storage), include_best_trial=False):
        if kept.study_name == name or kept.study_name.startswith(f"{name}-"):
            _insist(kept.study_name, kept.user_attrs.get(SETTINGS), settings)


def _opened(storage: str) -> RDBStorage:
    """Open a storage, or say what is wrong with its address; passwords are not repeated."""
    try:
        with warnings.catch_warnings():
            # Heartbeats may change in Optuna; what they do here is tested.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return RDBStorage(storage, heartbeat_interval=HEARTBEAT)
    except (SQLAlchemyError, ImportError) as error:
        raise ConfigError(
            f"--storage {re.sub(r':[^:@/]*@', ':***@', storage)!r} cannot be opened "
            f"({str(error).splitlines()[0]}): it takes the address of a database, such as "
            "sqlite:///trials.db or postgresql://user@host/name"
        ) from None


def _insist(name: str, kept: dict[str, Any] | None, settings: Config) -> None:
    """Refuse settings that are not those a study was begun with, if these are known."""
    if kept is None:
        return
    if keys := ", ".join(_differences(kept, settings.model_dump(mode="json"))):
        raise ConfigError(
            f"study {name!r} has trials of other settings ({keys}): choose another --storage, or "
            "the settings that it was begun with"
        )


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Name the keys that differ, within tables too, but for those that each machine may have."""
    for key in sorted({*one, *other} - MACHINES):
        mine, theirs = one.get(key), other.get(key)
        if isinstance(mine, Mapping) and isinstance(theirs, Mapping):
            yield from (f"{key}.{inner}" for inner in _differences(mine, theirs))
        elif mine != theirs:
            yield key


def _create(storage: str | None, name: str, seed: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    settings: dict[str, Any] = {
        "study_name": name,
        "direction": "maximize",
        "pruner": optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=3),
    }
    with warnings.catch_warnings():
        # Lies to other processes may change in Optuna; what they do here is tested.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        if storage is not None:
            settings["storage"] = _opened(storage)
        try:
            sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=True)
            return optuna.create_study(**settings, sampler=sampler)
        except optuna.exceptions.DuplicatedStudyError:
            sampler = optuna.samplers.TPESampler(constant_liar=True)
            return optuna.create_study(**settings, sampler=sampler, load_if_exists=True)


def over(study: optuna.Study) -> list[FrozenTrial]:
    """Give the trials that are over, whoever made them."""
    return study.get_trials(deepcopy=False, states=OVER)


def best(study: optuna.Study, count: int = 1) -> list[FrozenTrial]:
    """Give the best trials, best first; those that were pruned or failed are none."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return sorted(done, key=lambda trial: -float(trial.value or 0.0))[:count]


def attempt(
    study: optuna.Study, task: Task, value: Callable[[Trial], float], counted: set[int]
) -> None:
    """Make one trial; what fails is noted as failed, and only failure upon failure is an error.

    The meter runs along; what others spent meanwhile is put on it afterwards.
    """

    def objective(trial: Trial) -> float:
        counted.add(trial.number)
        began, before = time.perf_counter(), task.passes
        try:
            return value(trial)
        finally:
            trial.set_user_attr("seconds", time.perf_counter() - began)
            trial.set_user_attr("passes", task.passes - before)

    study.optimize(objective, n_trials=1, catch=SURVIVABLE)
    account(study, task, counted)
    last = study.get_trials(deepcopy=False)[-FAILURES:]
    if len(last) == FAILURES and all(trial.state == TrialState.FAIL for trial in last):
        raise SearchError(
            f"{FAILURES} trials in a row failed in study {study.study_name!r}: see the messages "
            "above, or begin another study by --storage or --out"
        )


def account(study: optuna.Study, task: Task, counted: set[int]) -> None:
    """Put on the meter what was spent on a study elsewhere: on all trials that are not counted."""
    for trial in study.get_trials(deepcopy=False, states=SPENT):
        if trial.number in counted:
            continue
        counted.add(trial.number)
        task.elsewhere += trial.user_attrs.get("seconds", 0.0)
        task.passes += trial.user_attrs.get("passes", 0.0)


def every(study: optuna.Study, task: Task, value: Callable[[Trial], float], trials: int,
          pause: int) -> Iterator[int]:  # fmt: skip
    """Make trials until so many are over, pausing after every few with the number so far."""
    counted: set[int] = set()
    account(study, task, counted)
    count = len(over(study))
    if count >= trials:
        yield count
    while count < trials:
        told = count // pause
        attempt(study, task, value, counted)
        count = len(over(study))
        if (count // pause > told or count >= trials) and best(study):
            yield count
