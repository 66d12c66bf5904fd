"""Search by trials: Optuna's tree of Parzen estimators suggests policies.

A study is kept in a storage: a SQLite file, or a database that several machines share. A search
that was killed resumes from the trials of its study; the cost of a trial is kept beside its value.
If no other process uses the study, it resumes exactly: a trial is drawn by the seed and the number
of trials before it, and what the kill interrupted is drawn again. `points` is then the number of
policies that the search has yielded, and None if the study is shared.
A study keeps the settings it was begun with: several studies may share a storage, but trials with
other settings never share a study.
"""

import re
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy import URL
from sqlalchemy.exc import SQLAlchemyError

from augnet.layers import Policy, Step
from augnet.paper.config import Config, ConfigError
from augnet.paper.search.space import STEPS, SUBPOLICIES
from augnet.paper.search.task import Task
from augnet.transforms import Transform

FINISHED = (TrialState.COMPLETE, TrialState.PRUNED)
ENDED = (*FINISHED, TrialState.FAIL)  # failed trials cost time, too
MAX_FAILURES = 5  # in a row
SETTINGS, INTERRUPTED = "settings", "interrupted"  # user attributes of a study
FREE_SETTINGS = {"root", "cache", "trials"}  # may differ between machines that share a study
HEARTBEAT = 60  # seconds; the trial of a process that is silent for longer has failed
SURVIVABLE = (RuntimeError, ValueError, ArithmeticError)


class SearchError(RuntimeError):
    """A search cannot continue."""


def suggest_policy(trial: Trial | FrozenTrial, transforms: list[Transform]) -> Policy:
    """Suggest a policy: in each step a transform, its probability and its magnitude."""
    by_name = _by_label(transforms)

    def step(place: str) -> Step:
        name = trial.suggest_categorical(f"{place}.transform", list(by_name))
        probability = trial.suggest_float(f"{place}.probability", 0.0, 1.0)
        magnitude = trial.suggest_float(f"{place}.magnitude", 0.0, 1.0)
        return Step(by_name[name], probability, magnitude)

    return Policy([[step(f"{s}.{k}") for k in range(STEPS)] for s in range(SUBPOLICIES)])


def _by_label(transforms: list[Transform]) -> dict[str, Transform]:
    """Label transforms for a study: by name, or in full if several have the same name."""
    counts = Counter(transform.name for transform in transforms)
    return {
        transform.name if counts[transform.name] == 1 else repr(transform): transform
        for transform in transforms
    }


def open_study(
    storage: str | None,
    name: str,
    seed: int,
    settings: Config | None = None,
    points: int | None = None,
) -> optuna.Study:
    """Open a study, or begin it; raise ConfigError if it was begun with other settings.

    Only the process that begins it uses the seed, so that others suggest other policies. A study
    with trials but without settings is accepted. If the study is not shared, trials that still run
    were interrupted by a kill.
    """
    study = _create(storage, name, seed)
    if points is not None:
        _end_interrupted(study)
    if settings is None:
        return study
    if SETTINGS not in study.user_attrs and not study.get_trials(deepcopy=False):
        study.set_user_attr(SETTINGS, settings.model_dump(mode="json"))
    _refuse_other_settings(name, study.user_attrs.get(SETTINGS), settings)
    return study


def check_storage(storage: str, name: str, settings: Config) -> None:
    """Raise ConfigError if the study of this name, or one of its folds, has other settings."""
    for kept in optuna.get_all_study_summaries(_open_storage(storage), include_best_trial=False):
        if kept.study_name == name or kept.study_name.startswith(f"{name}-"):
            _refuse_other_settings(kept.study_name, kept.user_attrs.get(SETTINGS), settings)


def local_storage(path: Path) -> str:
    """Return the address of a SQLite file, whose name may have any character."""
    try:
        return URL.create("sqlite", database=str(path)).render_as_string()
    except UnicodeEncodeError:
        raise ConfigError(f"{path} is no UTF-8, which SQLite needs: choose another --out") from None


def _open_storage(storage: str) -> RDBStorage:
    """Open a storage; raise ConfigError, without the password, if its address is wrong."""
    if re.fullmatch(r"sqlite[^:]*:/*(:memory:)?", storage):
        raise ConfigError(f"--storage {storage!r} has no file: sqlite:///trials.db has one")
    try:
        with warnings.catch_warnings():
            # Heartbeats may change in Optuna; tests cover how they are used here.
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            return RDBStorage(storage, heartbeat_interval=HEARTBEAT)
    except (SQLAlchemyError, ImportError, OSError, ValueError, AssertionError) as error:
        reason = _without_password(str(error)).splitlines()[0]
        if isinstance(error, ValueError):  # about the port, with a part of the password
            reason = "its port is no number, or its password has an @, which is written %40"
        raise ConfigError(
            f"--storage {_without_password(storage)!r} cannot be opened ({reason}): it takes the "
            "address of a database, such as sqlite:///trials.db or postgresql://user@host/name"
        ) from None


def _without_password(text: str) -> str:
    """Hide what stands between `//user:` and the last `@`."""
    return re.sub(r"(//[^:/\s]*):\S*@", r"\1:***@", text)


def _refuse_other_settings(name: str, kept: dict[str, Any] | None, settings: Config) -> None:
    """Raise ConfigError if a study was begun with other settings, if these are known."""
    if kept is None:
        return
    if keys := ", ".join(_differences(kept, settings.model_dump(mode="json"))):
        raise ConfigError(
            f"study {name!r} has trials of other settings ({keys}): choose another --storage, or "
            "the settings that it was begun with"
        )


def _differences(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that differ, also within tables, apart from FREE_SETTINGS."""
    for key in sorted({*one, *other} - FREE_SETTINGS):
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
    if storage is not None:
        settings["storage"] = _open_storage(storage)
    try:
        return optuna.create_study(**settings, sampler=_sampler(seed))
    except optuna.exceptions.DuplicatedStudyError:
        return optuna.create_study(**settings, sampler=_sampler(None), load_if_exists=True)


def _sampler(seed: int | None) -> optuna.samplers.TPESampler:
    with warnings.catch_warnings():
        # The constant liar may change in Optuna; tests cover how it is used here.
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.TPESampler(seed=seed, constant_liar=True)


def _end_interrupted(study: optuna.Study) -> None:
    """Let trials fail that a kill has interrupted; note them first, as they cost nothing."""
    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    _note_interrupted(study, *(trial.number for trial in running))
    for trial in running:
        study.tell(trial.number, state=TrialState.FAIL)


def _note_interrupted(study: optuna.Study, *numbers: int) -> None:
    if numbers:
        study.set_user_attr(INTERRUPTED, sorted({*_interrupted(study), *numbers}))


def _interrupted(study: optuna.Study) -> set[int]:
    """Return the numbers of the trials that were interrupted, by a kill or by Ctrl-C."""
    return set(study.user_attrs.get(INTERRUPTED, ()))


def _ended(study: optuna.Study) -> list[FrozenTrial]:
    """Return the trials that have ended by themselves."""
    interrupted = _interrupted(study)
    ended = study.get_trials(deepcopy=False, states=ENDED)
    return [trial for trial in ended if trial.number not in interrupted]


def finished_trials(study: optuna.Study) -> list[FrozenTrial]:
    """Return the trials that are complete or pruned, of all processes."""
    return study.get_trials(deepcopy=False, states=FINISHED)


def best_trials(study: optuna.Study, count: int = 1) -> list[FrozenTrial]:
    """Return the best complete trials, best first."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return sorted(done, key=lambda trial: -float(trial.value or 0.0))[:count]


def run_trial(
    study: optuna.Study,
    task: Task,
    value: Callable[[Trial], float],
    counted: set[int],
    seed: int | None = None,
) -> None:
    """Run one trial and keep its cost; raise SearchError after several failures in a row.

    A single failure is recorded as a failed trial. `counted` are the numbers of the trials whose
    cost the task includes; the cost of other processes is added after the trial. `seed` is that of
    a study that is not shared.
    """
    if seed is not None:
        both = np.random.SeedSequence([seed, len(_ended(study))])
        study.sampler = _sampler(int(both.generate_state(1)[0]))

    def objective(trial: Trial) -> float:
        counted.add(trial.number)
        began, before = time.perf_counter(), task.passes
        try:
            return value(trial)
        except KeyboardInterrupt:
            _note_interrupted(study, trial.number)
            raise
        finally:
            trial.set_user_attr("seconds", time.perf_counter() - began)
            trial.set_user_attr("passes", task.passes - before)

    study.optimize(objective, n_trials=1, catch=SURVIVABLE)
    add_cost_of_others(study, task, counted)
    interrupted = _interrupted(study)
    trials = study.get_trials(deepcopy=False)
    last = [trial for trial in trials if trial.number not in interrupted][-MAX_FAILURES:]
    if len(last) == MAX_FAILURES and all(trial.state == TrialState.FAIL for trial in last):
        raise SearchError(
            f"{MAX_FAILURES} trials in a row failed in study {study.study_name!r}: see the "
            "messages above, or begin another study by --storage or --out"
        )


def add_cost_of_others(study: optuna.Study, task: Task, counted: set[int]) -> None:
    """Add to the task the cost of all trials that are not counted yet."""
    for trial in _ended(study):
        if trial.number in counted:
            continue
        counted.add(trial.number)
        task.other_seconds += trial.user_attrs.get("seconds", 0.0)
        task.passes += trial.user_attrs.get("passes", 0.0)


def run_trials(
    study: optuna.Study,
    task: Task,
    value: Callable[[Trial], float],
    trials: int,
    pause: int,
    points: int | None = None,
) -> Iterator[int]:
    """Run trials until so many are finished; yield their number after every `pause` trials."""
    counted: set[int] = set()
    add_cost_of_others(study, task, counted)
    seed = None if points is None else task.seed
    for due in next_counts(lambda: len(finished_trials(study)), trials, pause, points):
        while len(finished_trials(study)) < due:
            run_trial(study, task, value, counted, seed)
        if best_trials(study):
            yield len(finished_trials(study))


def next_counts(
    finished: Callable[[], int], trials: int, pause: int, points: int | None
) -> Iterator[int]:
    """Yield how many trials have to be finished before each of the next policies.

    After a kill the trials of a policy may be finished, and the policy may not be yielded yet.
    """
    rounds = finished() // pause if points is None else points
    if points is not None and points * pause >= trials:
        return
    while True:
        due = min(trials, (rounds + 1) * pause)
        yield due
        if due == trials:
            return
        rounds = max(rounds + 1, finished() // pause) if points is None else rounds + 1
