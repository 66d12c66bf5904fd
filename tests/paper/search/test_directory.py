"""`augnet paper search`: a directory per method and fold, and the page that compares them."""

import json

import pytest
from typer.testing import CliRunner

from augnet.__main__ import app
from augnet.paper.search import Task

TINY = ["data.nights=[2,2,1]", "data.windows=8", "train.epochs=1", "net.copies=1",
        "search.options.adda.epochs=1", "search.options.autoaugment.trials=1"]  # fmt: skip


def augnet(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    return result.exit_code, result.output


def search(method, out, *more, seeds=1):
    changes = [part for change in TINY for part in ("--set", change)]
    where = ("--protocol", "small", "--out", out, "--seeds", seeds)
    return augnet("paper", "search", method, "sleep", *where, *changes, *more)


def test_methods_are_searched_and_not_searched_again(tmp_path):
    out = tmp_path / "searches"
    for method in ("adda", "none", "autoaugment"):
        code, said = search(method, out)
        assert code == 0, said
        assert f"{method}, seed 0" in said.replace("\n", " ")
    folder = out / "sleep" / "small"
    row = json.loads((folder / "adda" / "seed-0" / "points.jsonl").read_text())
    assert len(row["policy"]) == 5
    assert {"transform", "probability", "magnitude", "strength"} == set(row["policy"][0][0])
    assert row["passes"] == 16 + 5 * 16 + 16  # pretraining, search, retraining
    assert (folder / "autoaugment" / "seed-0" / "study.db").exists()
    assert search("adda", out) == (0, "")  # it is over
    code, said = search("adda", out, "--set", "train.epochs=2")
    assert code == 2
    assert "not this search's" in said
    assert "config.train.epochs (1 there, 2 now)" in said.replace("\n", " ")


def test_a_shared_storage_keeps_searches_with_other_settings_apart(tmp_path):
    shared = ("--storage", f"sqlite:///{tmp_path / 'shared.db'}")
    code, said = search("autoaugment", tmp_path / "one", *shared)
    assert code == 0, said
    code, said = search("autoaugment", tmp_path / "two", *shared, "--set", "train.epochs=2")
    assert code == 2
    assert "trials of other settings (train.epochs)" in said.replace("\n", " ")
    assert not (tmp_path / "two").exists()


@pytest.mark.usefixtures("made_up_cifar")
def test_images_are_searched_too(tmp_path):
    changes = ("data.sizes=[48,16,16]", "train.epochs=1", "trunk.width=2",
               "search.options.dada.epochs=1")  # fmt: skip
    options = [part for change in changes for part in ("--set", change)]
    where = ("--protocol", "fair+small", "--out", tmp_path)
    for method in ("dada", "augnet"):
        code, said = augnet("paper", "search", method, "cifar10", *where, *options)
        assert code == 0, said
        assert f"{method}, seed 0" in said.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["addo", "sleep"], "unknown search 'addo': did you mean 'adda'"),
        (["adda", "slep"], "unknown experiment"),
        (["adda", "sleep", "--set", "search.options.adda.epoch=1"], "did you mean 'epochs'"),
        (["adda", "sleep", "--set", "search.options.adda.epochs='x'"], "a whole number from 1"),
        (["adda", "sleep", "--set", "search.options.adda.pause=0"], "a whole number from 1"),
        (
            ["adda", "sleep", "--set", "search.options.adds.epochs=1"],
            "unknown key 'search.options.adds'",
        ),
        (["adda", "sinusoids", "--set", "search.more=['rotate']"], "rotate takes images"),
        (["none", "sleep", "--set", "data.windows=0"], "got windows=0"),
        (["adda", "sleep", "--storage", "sqlite:///x.db"], "--storage is for searches by trials"),
        (["autoaugment", "sleep", "--storage", "nonsense://me:secret@x"], "me:***@x' cannot be op"),
        (["fast-autoaugment", "sleep", "--storage", "x"], "such as sqlite:///trials.db"),
        (
            ["faster-autoaugment", "sleep", "--protocol", "small", "--set", "train.batch_size=1"],
            "train.batch_size takes a whole number from 2",
        ),
        (["adda", "sleep", "--variant", "none", "--protocol", "small"], "transforms of layers"),
        (
            ["randaugment", "sleep", "--protocol", "small", "--set", "search.more=['sign_flop']"],
            "search.more: unknown transform 'sign_flop': did you mean 'sign_flip'",
        ),
    ],
)
def test_mistakes_are_explained(arguments, message, tmp_path):
    code, said = augnet("paper", "search", *arguments, "--out", tmp_path)
    assert code == 2
    assert message in said.replace("\n", " ")
    assert len(said.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())  # nothing is in the way of the command without the mistake


def test_trials_that_all_fail_are_one_clear_line(tmp_path, monkeypatch):
    def fails(self, *args, **kwargs):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Task, "train", fails)
    code, said = search("autoaugment", tmp_path)
    assert code == 2
    assert said.startswith("augnet: 5 trials in a row failed in study")


def test_a_disk_that_is_full_leaves_no_drafts(tmp_path, monkeypatch):
    def full(number):
        raise OSError("no space left on device")

    monkeypatch.setattr("os.fsync", full)
    code, said = search("adda", tmp_path)
    assert code == 2
    assert "no space left" in said
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} <= {".lock"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["paper", "search", "adda", "sleep"], "resumes after the last point"),
        (["paper", "search", "faster-autoaugment", "sleep"], "resumes after the last point"),
        (["paper", "search", "none", "sleep"], "resumes after the last point"),  # a variant
        (["paper", "search", "autoaugment", "sleep"], "resumes after the last trial"),
        (["paper", "search", "fast-autoaugment", "sleep"], "resumes after the last trial"),
        (["paper", "run", "sleep"], "resumes after the last epoch"),
    ],
)
def test_ctrl_c_says_what_the_same_command_will_do(arguments, said, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("augnet.paper.config.read", interrupted)
    assert augnet(*arguments, "--out", tmp_path) == (
        130,
        f"Interrupted. The same command {said}.\n",
    )
