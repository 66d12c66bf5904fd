"""Trials: a killed search goes on, many processes share a study, and some trials fail."""

import multiprocessing

import optuna
import pytest
from planted import task

from augnet.paper.config import ConfigError, parse_change, read, resolve
from augnet.paper.search import with_cost
from augnet.paper.search.autoaugment import autoaugment
from augnet.paper.search.fast import fast_autoaugment
from augnet.paper.search.task import Task
from augnet.paper.search.trials import (
    MAX_FAILURES,
    SearchError,
    best_trials,
    check_storage,
    finished_trials,
    open_study,
    run_trial,
    run_trials,
    suggest_policy,
)
from augnet.transforms import GaussianNoise, SignFlip


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path / 'study.db'}"


def study(storage, name="autoaugment"):
    return optuna.load_study(study_name=name, storage=storage)


def test_a_killed_search_goes_on_and_what_it_cost_is_remembered(storage):
    def search(**options):
        given = task(epochs=1)
        return with_cost(autoaugment(given, trials=4, storage=storage, **options), given)

    killed = search(pause=2)
    next(killed)
    killed.close()  # after two trials
    found = list(search(pause=2))
    assert len(finished_trials(study(storage))) == 4
    assert found[-1].passes == 4 * 64
    again = list(search())
    assert len(again) == 1
    assert len(study(storage).trials) == 4
    assert again[0].passes == 4 * 64
    assert again[0].policy.subpolicies == found[-1].policy.subpolicies


def test_a_trial_that_fails_is_noted_and_failure_upon_failure_is_an_error(storage, monkeypatch):
    train, calls = Task.train, []

    def sometimes(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 1:
            raise RuntimeError("out of memory")
        return train(self, *args, **kwargs)

    monkeypatch.setattr(Task, "train", sometimes)
    assert list(autoaugment(task(epochs=1), trials=2, pause=1, storage=storage))
    states = [trial.state.name for trial in study(storage).trials]
    assert states == ["FAIL", "COMPLETE", "COMPLETE"]

    def never(self, *args, **kwargs):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Task, "train", never)
    with pytest.raises(SearchError, match=f"{MAX_FAILURES} trials in a row failed"):
        list(autoaugment(task(epochs=1), trials=2, storage=storage, study="other"))


def test_pruned_trials_are_over_and_never_best_trials(monkeypatch):
    monkeypatch.setattr(optuna.pruners.MedianPruner, "prune", lambda self, study, trial: (
        trial.number % 2 == 1))  # fmt: skip
    opened = []
    make = optuna.create_study
    monkeypatch.setattr(optuna, "create_study", lambda **kw: opened.append(make(**kw)) or opened[0])
    policies = list(autoaugment(task(epochs=2), trials=4, pause=4))
    states = [trial.state.name for trial in opened[0].trials]
    assert states == ["COMPLETE", "PRUNED", "COMPLETE", "PRUNED"]
    assert best_trials(opened[0])[0].number in (0, 2)
    assert len(policies) == 1


def work(storage):
    list(autoaugment(task(epochs=1), trials=6, storage=storage))


def test_two_processes_share_a_study(storage):
    optuna.create_study(study_name="autoaugment", storage=storage, direction="maximize")
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=work, args=(storage,)) for _ in range(2)]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert [each.exitcode for each in both] == [0, 0]
    done = finished_trials(study(storage))
    assert 6 <= len(done) <= 7  # the last one may have been begun twice
    assert len({str(trial.params) for trial in done}) == len(done)


def test_what_others_spend_meanwhile_and_on_failures_is_counted_once(storage):
    given, other = task(), task()
    mine, theirs = (open_study(storage, "shared", 0) for _ in range(2))

    def spends(task, passes, fails=False):
        def value(trial):
            task.passes += passes
            if fails:
                raise RuntimeError("out of memory")
            return 0.5

        return value

    run_trial(theirs, other, spends(other, 1, fails=True), set())
    rounds = run_trials(mine, given, spends(given, 10), trials=4, pause=1)
    next(rounds)
    assert given.passes == 1 + 10
    run_trial(theirs, other, spends(other, 100), set())
    run_trial(theirs, other, spends(other, 1000, fails=True), set())
    next(rounds)
    assert given.passes == 1 + 10 + 100 + 1000 + 10
    later = task()
    list(run_trials(open_study(storage, "shared", 0), later, spends(later, 10), trials=3, pause=1))
    assert later.passes == given.passes
    spent = [trial.user_attrs["seconds"] for trial in mine.trials]
    assert later.other_seconds == pytest.approx(sum(spent))


def test_a_transform_with_two_limits_is_two_choices():
    transforms = [SignFlip(), GaussianNoise(limit=0.1), GaussianNoise(limit=3.0)]
    study = optuna.create_study()
    policies = [suggest_policy(study.ask(), transforms) for _ in range(5)]
    drawn = {
        step.transform for policy in policies for steps in policy.subpolicies for step in steps
    }
    assert drawn == set(transforms)
    choices = study.trials[0].distributions["0.0.transform"].choices
    assert choices[0] == "sign_flip"  # as in studies that were begun before


def settings(*changes):
    changes = dict(map(parse_change, changes))
    return resolve("sleep", read("sleep"), "augnet", protocol="small", changes=changes)


def test_a_study_is_of_one_config(storage):
    open_study(storage, "mine", 0, settings())
    opened = open_study(storage, "mine", 0, settings("data.root='/elsewhere'"))  # another machine
    assert opened.user_attrs["settings"]["experiment"] == "sleep"
    other = settings("train.epochs=99", "data.windows=9")
    for refuse in (lambda: open_study(storage, "mine", 0, other),
                   lambda: check_storage(storage, "mine", other)):  # fmt: skip
        with pytest.raises(ConfigError, match=r"other settings \(data.windows, train.epochs\)"):
            refuse()
    open_study(storage, "mine-1", 0, other)  # of the fold of another
    with pytest.raises(ConfigError, match="'mine-1' has trials of other settings"):
        check_storage(storage, "mine", settings())
    check_storage(storage, "min", other)


def test_a_study_of_settings_that_nobody_kept_goes_on(storage):
    old = optuna.create_study(study_name="old", storage=storage, direction="maximize")
    old.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    for each in (settings(), settings("train.epochs=99")):
        check_storage(storage, "old", each)
        assert len(finished_trials(open_study(storage, "old", 0, each))) == 1


def test_fast_autoaugment_goes_on_too(storage):
    options = {"trials": 2, "pause": 1, "folds": 2, "views": 1, "storage": storage}
    first = fast_autoaugment(task(epochs=1), **options)
    assert len(next(first).subpolicies) == 2 * 2 * 5  # folds, rounds
    first.close()
    assert len(list(fast_autoaugment(task(epochs=1), **options))) == 1  # not the first again
    rounds = [study(storage, f"fast-autoaugment-0-{number}") for number in range(2)]
    assert [len(finished_trials(each)) for each in rounds] == [2, 2]
    assert rounds[0].trials[0].params != rounds[1].trials[0].params


@pytest.mark.parametrize("address", ["sqlite:///", "sqlite://", "postgresql://u:p@ss:w@h/x", "x"])
def test_storages_that_cannot_be_opened_are_refused_without_the_password(address):
    with pytest.raises(ConfigError, match="--storage") as refused:
        open_study(address, "study", 0)
    assert "ss:w" not in str(refused.value)
    assert "w@h" not in str(refused.value)
    assert "\n" not in str(refused.value)
