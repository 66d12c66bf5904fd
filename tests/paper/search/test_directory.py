"""`augnet paper search`: a directory per method and fold, and the page that compares them."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from augnet.__main__ import app
from augnet.paper.config import ConfigError, read, resolve
from augnet.paper.report.figures.searches import Curve, at, improvement
from augnet.paper.report.searches import helps, load, race, reach
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


def test_the_page_compares_methods_and_says_which_data(tmp_path):
    config = resolve("sleep", read("sleep"), "augnet", protocol="small").model_dump(mode="json")
    for method, rows in {
        "adda": [(112, 0.5, 0.6), (200, 0.6, 0.7)], "none": [(16, 0.4, 0.5)],
        "augnet": [(16, 0.4, 0.5), (160, 0.7, 0.8)],
    }.items():  # fmt: skip
        for seed in range(2):
            folder = tmp_path / method / f"seed-{seed}"
            folder.mkdir(parents=True)
            made = {"method": method, "seed": seed, "config": config, "data": "nights of nobody"}
            (folder / "search.json").write_text(json.dumps(made))
            lines = [{"passes": p, "seconds": p / 9, "valid": v, "test": t} for p, v, t in rows]
            (folder / "points.jsonl").write_text("\n".join(map(json.dumps, lines)))
    code, said = augnet("paper", "report", tmp_path, "--out", tmp_path / "report")
    assert code == 0, said
    page = (tmp_path / "report" / "sleep-small-search.html").read_text()
    assert "nights of nobody" in page
    assert page.count("<svg") == 3
    assert page.count("over none in 2 of 2") == 2
    ours = "augnet has its final score after 160 passes (median over folds)"
    assert f"{ours}; adda in half of the folds or more never." in page
    kept = json.loads((tmp_path / "report" / "sleep-small-search.json").read_text())
    assert kept["budget"] == 112
    again = load(tmp_path / "report" / "sleep-small-search.json")
    tests = {method: at(seeds[0], kept["budget"]) for method, seeds in again.curves.items()}
    assert tests == pytest.approx({"adda": 0.6, "augnet": 0.7, "none": 0.5}, abs=0.001)
    assert again.commands[0] == "augnet paper search adda sleep --protocol small --seeds 2"
    assert reach(again.curves["adda"][0], 0.65) == 200
    assert reach(again.curves["none"][0], 0.65) == float("inf")
    (tmp_path / "cut.json").write_text("{}")
    with pytest.raises(ConfigError, match="no summary of searches"):
        load(tmp_path / "cut.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["addo", "sleep"], "unknown search 'addo': did you mean 'adda'"),
        (["adda", "slep"], "unknown experiment"),
        (["adda", "sleep", "--set", "search.options.adda.epoch=1"], "did you mean 'epochs'"),
        (["adda", "sleep", "--set", "search.options.adda.epochs='x'"], "a whole number from 1"),
        (["adda", "sleep", "--set", "search.options.adda.pause=0"], "a whole number from 1"),
        (["none", "sleep", "--set", "data.windows=0"], "asked for 0"),
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
        (["paper", "run", "sleep"], "goes on from the last epoch"),
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


def curve(*points):
    return Curve.of([{"passes": p, "seconds": p, "valid": v, "test": t} for p, v, t in points])


def test_curves_keep_what_validates_best_and_interpolate():
    mine = curve((10, 0.5, 0.6), (20, 0.4, 0.9), (30, 0.7, 0.8))
    assert mine.test.tolist() == [0.6, 0.6, 0.8]
    assert at(mine, 25) == pytest.approx(0.7)
    assert at(mine, 5) != at(mine, 5)  # nothing yet


def test_a_race_that_half_of_the_folds_never_end_is_said_to_be_so():
    end = curve((10, 1, 0.8))
    curves = {"augnet": {0: end, 1: end}, "adda": {0: curve((20, 1, 0.9)), 1: curve((20, 1, 0.7))}}
    assert race(curves, "augnet").endswith("adda in half of the folds or more never.")


def test_improvement_is_paired_by_fold():
    curves = {"adda": {0: curve((10, 1, 0.5)), 1: curve((10, 1, 0.9))},
              "augnet": {0: curve((10, 1, 0.6)), 1: curve((10, 1, 0.95)), 2: curve((10, 1, 1))},
              "alone": {5: curve((10, 1, 1))}}  # fmt: skip
    (axis,) = improvement(curves, "adda", 10, "accuracy").axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["augnet"]
    assert axis.lines[1].get_xdata() == pytest.approx([0.1, 0.05])
    assert improvement({"augnet": curves["augnet"]}, "adda", 10, "accuracy") is None


def test_a_method_helps_on_the_folds_that_it_shares_with_none():
    def curve(score):
        return Curve(np.array([1.0]), np.array([1.0]), np.array([score]))

    curves = {"none": {0: curve(0.5), 1: curve(0.9)}, "good": {0: curve(0.6)},
              "bad": {0: curve(0.7), 1: curve(0.6)}, "elsewhere": {2: curve(0.1)}}  # fmt: skip
    helping = [method for method in curves if helps(curves, method)]
    assert helping == ["none", "good", "elsewhere"]
