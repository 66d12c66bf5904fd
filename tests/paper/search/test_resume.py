"""A search directory that was left after any point goes on to exactly the same points."""

import itertools
import json
import random
from contextlib import suppress

import optuna
import pytest

from augnet.paper.config import ConfigError, parse_change, read, resolve
from augnet.paper.search import fast, trials
from augnet.paper.search.directory import SearchDirectory
from augnet.paper.search.task import Task
from augnet.paper.search.trials import next_counts
from augnet.training import DirectoryError, ResumableDirectory

TINY = ["data.nights=[2,2,1]", "data.windows=8", "train.epochs=3", "train.patience=3",
        "net.copies=1", "search.options.adda.epochs=2", "search.options.adda.pause=1",
        "search.options.dada.epochs=2", "search.options.dada.pause=1"]  # fmt: skip
TRIALS = ["data.sizes=[16,8,8]", "trunk.kernel=20", "net.copies=1", "train.epochs=1",
          "search.options.autoaugment.trials=3",
          "search.options.autoaugment.pause=2", "search.options.fast-autoaugment.trials=2",
          "search.options.fast-autoaugment.pause=1", "search.options.fast-autoaugment.folds=2",
          "search.options.fast-autoaugment.views=1"]  # fmt: skip
METHODS = ["adda", "dada", "augnet"]  # two searches, and a variant that is trained end to end


def directory(path, method, *changes):
    changed = dict(map(parse_change, [*TINY, *changes]))
    config = resolve("sleep", read("sleep"), "augnet", protocol="small", changes=changed)
    return SearchDirectory(path, method, config, 0)


def by_trials(path, method):
    changes = dict(map(parse_change, TRIALS))
    config = resolve("sinusoids", read("sinusoids"), "one-layer", changes=changes)
    return SearchDirectory(path, method, config, 0)


def without_seconds(path):
    rows = [json.loads(line) for line in (path / "points.jsonl").read_text().splitlines()]
    assert [row.pop("seconds") > 0 for row in rows] == [True] * len(rows)
    return rows


def leave_after_first_point(path, method):
    search = directory(path, method).run()
    next(search)
    search.close()


@pytest.mark.parametrize("method", METHODS)
def test_a_search_that_was_left_resumes_to_the_same_points(method, tmp_path):
    whole, left = tmp_path / "whole", tmp_path / "left"
    count = len(list(directory(whole, method).run()))
    leave_after_first_point(left, method)
    assert (left / "state.pt").exists()
    assert not directory(left, method).finished
    assert len(list(directory(left, method).run())) == count - 1
    assert without_seconds(left) == without_seconds(whole)
    assert not (left / "state.pt").exists()
    assert directory(left, method).finished
    assert list(directory(left, method).run()) == []


@pytest.mark.parametrize("method", ["dada", "augnet"])
@pytest.mark.parametrize("name", ["state.pt", "points.jsonl"])
def test_a_kill_between_two_files_loses_and_repeats_no_point(method, name, tmp_path, monkeypatch):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    list(directory(whole, method).run())
    leave_after_first_point(killed, method)
    write = ResumableDirectory.write

    def kill(self, files):
        if name in files:
            raise KeyboardInterrupt
        write(self, files)

    monkeypatch.setattr(ResumableDirectory, "write", kill)
    with pytest.raises(KeyboardInterrupt):
        list(directory(killed, method).run())
    monkeypatch.undo()
    list(directory(killed, method).run())
    assert without_seconds(killed) == without_seconds(whole)


class KilledError(BaseException):
    """What nothing catches, as nothing catches a kill."""


def interrupted(monkeypatch, error, calls):
    """Raise an error at one of the next calls of what searches do and write."""
    counted = itertools.count(1)

    def wrap(function):
        def wrapped(*args, **kwargs):
            if next(counted) == calls:
                raise error
            return function(*args, **kwargs)

        return wrapped

    for owner, name in (
        (Task, "train"), (fast, "share_matched"), (optuna.Study, "tell"),
        (ResumableDirectory, "write"), (ResumableDirectory, "finish"),
    ):  # fmt: skip
        monkeypatch.setattr(owner, name, wrap(getattr(owner, name)))


@pytest.mark.parametrize(
    ("method", "points", "error"),
    [
        ("autoaugment", 2, KilledError),
        ("autoaugment", 2, KeyboardInterrupt),
        ("fast-autoaugment", 2, KilledError),
    ],
)
def test_a_search_by_trials_that_is_killed_again_and_again_ends_the_same(
    method, points, error, tmp_path, monkeypatch
):
    monkeypatch.setattr(trials, "SUBPOLICIES", 1)  # a trial is written much faster
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert len(list(by_trials(whole, method).run())) == points
    calls, kills = random.Random(0), 0
    while not (killed.exists() and by_trials(killed, method).finished):
        with monkeypatch.context() as patch, suppress(error):
            interrupted(patch, error, calls.randint(1, 6))
            list(by_trials(killed, method).run())
            kills -= 1  # not this time
        kills += 1
    assert kills > 1
    assert without_seconds(killed) == without_seconds(whole)


@pytest.mark.parametrize(
    ("finished", "points", "counts"),
    [
        (0, 0, [2, 4, 5]),
        (2, 0, [2, 4, 5]),  # killed before the first policy was written
        (3, 1, [4, 5]),
        (5, 2, [5]),
        (5, 3, []),  # killed before the search was marked as finished
        (3, None, [4, 5]),
        (5, None, [5]),
    ],
)
def test_policies_are_due_after_every_pause(finished, points, counts):
    assert list(next_counts(lambda: finished, 5, 2, points)) == counts


def test_a_search_without_its_state_begins_again(tmp_path):
    leave_after_first_point(tmp_path, "adda")
    (tmp_path / "state.pt").unlink()
    assert len(list(directory(tmp_path, "adda").run())) == 2
    assert len(without_seconds(tmp_path)) == 2


def test_a_state_that_does_not_fit_is_refused(tmp_path):
    leave_after_first_point(tmp_path, "adda")
    search = directory(tmp_path, "adda")
    with search.directory.open():
        search.directory.save_state({"points": [], "curve": {}})
    with pytest.raises(DirectoryError, match=r"does not fit .* remove it to begin again"):
        next(search.run())


def test_other_settings_and_other_data_are_refused(tmp_path, monkeypatch):
    target = "augnet.paper.search.directory.file_fingerprint"
    monkeypatch.setattr(target, lambda *_: "this")
    leave_after_first_point(tmp_path, "adda")
    with pytest.raises(DirectoryError, match=r"config.train.epochs \(3 there, 4 now\)"):
        next(directory(tmp_path, "adda", "train.epochs=4").run())
    with pytest.raises(DirectoryError, match="method"):
        next(directory(tmp_path, "dada").run())
    monkeypatch.setattr(target, lambda *_: "other")
    with pytest.raises(DirectoryError, match="the data changed"):
        next(directory(tmp_path, "adda").run())


def test_a_directory_is_of_one_process_at_a_time(tmp_path):
    search = directory(tmp_path, "adda").run()
    next(search)
    with pytest.raises(DirectoryError, match="in use by process"):
        next(directory(tmp_path, "adda").run())
    search.close()
    next(directory(tmp_path, "adda").run())


def test_the_manifest_says_what_was_searched(tmp_path):
    leave_after_first_point(tmp_path, "adda")
    found = ResumableDirectory.existing(tmp_path, "search")
    assert {key: found.settings[key] for key in ("method", "seed")} == {"method": "adda", "seed": 0}
    assert found.settings["config"]["experiment"] == "sleep"
    assert {"dataset", "augnet", "commit"} <= set(found.about)


def test_the_study_is_in_its_directory_whatever_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(trials, "SUBPOLICIES", 1)
    path = tmp_path / "a?b#c%d é"
    next(by_trials(path, "autoaugment").run())
    assert (path / "study.db").is_file()
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ConfigError, match="is no UTF-8"):
        next(by_trials(tmp_path / "a\udcff", "autoaugment").run())
