"""The command line: what it shows, and how it refuses."""

import json
import re

import pytest
from typer.testing import CliRunner

from augnet import TRANSFORMS, __version__
from augnet.__main__ import app
from augnet.paper.cli import threads

SMALL = ["--set", "train.epochs=2", "--set", "data.sizes=[32, 8, 8]", "--set", "net.copies=1"]


def augnet(*arguments: str):
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, list(arguments))


def test_threads_are_those_of_the_environment(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads(1) == threads(100) == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "many")
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert threads(2) == 4
    assert threads(100) == 1


def test_it_lists_experiments_and_transforms():
    listed = augnet("paper", "list")
    assert listed.exit_code == 0
    assert all(
        name in listed.stdout for name in ("sinusoids", "mario-iggy", "capacity", "physionet")
    )
    said = augnet("transforms").stdout
    assert all(name in said for name in TRANSFORMS)
    assert augnet("--version").stdout.strip() == __version__


def test_it_runs_variants_and_seeds_and_sums_up(tmp_path):
    arguments = (
        "paper",
        "run",
        "sinusoids",
        "--variant",
        "one-layer",
        "--variant",
        "none",
        "--seeds",
        "2",
    )
    done = augnet(*arguments, *SMALL, "--jobs", "2", "--out", str(tmp_path / "runs"))
    assert done.exit_code == 0, done.output
    assert len(re.findall("one-layer", done.stdout)) == 2
    assert "frequency_shift" in done.stdout
    runs = sorted(tmp_path.glob("runs/sinusoids/ours/*/*"))
    assert [f"{run.parent.name}/{run.name}" for run in runs] == [
        "none/seed-0", "none/seed-1", "one-layer/seed-0", "one-layer/seed-1",
    ]  # fmt: skip

    told = augnet("paper", "report", str(tmp_path / "runs"), "--out", str(tmp_path / "report"))
    assert told.exit_code == 0, told.output
    page = (tmp_path / "report" / "sinusoids" / "index.html").read_text()
    assert "<svg" in page
    assert "one-layer" in page
    assert "http://www.w3.org" in page  # only names of standards:
    assert not re.search(r"(src|href)=\"(https?:)?//", page)  # nothing is loaded from elsewhere
    table = (tmp_path / "report" / "sinusoids" / "summary.md").read_text()
    assert "| one-layer | 2 |" in table
    for name in ("learned", "accuracy", "loss", "transforms-one-layer"):
        picture = tmp_path / "report" / "sinusoids" / f"{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")


ONE_LAYER = ("sinusoids", "--variant", "one-layer")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sinusoid"], "unknown experiment 'sinusoid': did you mean 'sinusoids'?"),
        (["sinusoids", "--variant", "two"], "has no variant 'two'"),
        (["sinusoids", "--protocol", "mine"], "has no protocol 'mine'"),
        (["sinusoids", "--set", "train.epochs"], "--set takes key=value"),
        (["sinusoids", "--set", "train.epochz=1"], "did you mean 'epochs'?"),
        (["sinusoids", "--set", "variant=none"], "unknown key 'variant'"),
        (["sinusoids", "--set", "regularizer.weight=[[1, 0.5]]"], "that start at 0"),
        (
            ["sinusoids", "--variant", "one-layer", "--set", "augment.name=none"],
            "tuner.select=one needs augment.name=layers; got none (tuner.select=none)",
        ),
        (
            [*ONE_LAYER, "--protocol", "paper", "--set", "augment.name=none"],
            "weighted_norm reads AugmentationLayer; identity has none: use no regularizer",
        ),
        ([*ONE_LAYER, "--set", "net.train_copies=4"], "needs the loss of each view; got"),
        (
            [*ONE_LAYER, "--set", "regularizer.name=weighted_norm"],
            "leaves nothing to a regularizer; got regularizer.name=weighted_norm",
        ),
        ([*ONE_LAYER, "--set", "data.phase=mine"], "phase knows paper, authors; got 'mine'"),
        (["sinusoids", "--sweep", "train.lr"], "--sweep takes key=a,b,c"),
        (["sinusoids", "--sweep", "train.lrr=1,2"], "did you mean 'lr'?"),
        (["sinusoids", "--devices", "512"], "--devices 512: this machine has"),
        (["sinusoids", "--precision", "bf16-mixd"], "did you mean 'bf16-mixed'?"),
        (["sinusoids", "--ray", "local", "--jobs", "2"], "leave out --devices and --jobs"),
        (["sinusoids", "--ray", "127.0.0.1:1"], "no Ray cluster at '127.0.0.1:1'"),
        (
            ["mario-iggy", "--set", "data.images=/nowhere.npz"],
            "is not a readable .npz file",
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_code_two(arguments, message, tmp_path):
    done = augnet("paper", "run", *arguments, "--out", str(tmp_path / "runs"))
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "runs").exists()


def test_a_sweep_runs_a_grid_with_a_directory_for_each_point(tmp_path):
    sweep = ("--sweep", "regularizer.weight=0,0.5", "--sweep", "train.optimizer=adam,sgd")
    command = ("paper", "run", "sinusoids", "--variant", "one-layer", *SMALL, *sweep)
    done = augnet(*command, "--jobs", "2", "--out", str(tmp_path))
    assert done.exit_code == 0, done.output
    points = sorted(path.name for path in (tmp_path / "sinusoids" / "ours").iterdir())
    assert points == [
        f"one-layer,regularizer.weight={weight},train.optimizer={optimizer}"
        for weight in ("0", "0.5")
        for optimizer in ("adam", "sgd")
    ]
    assert "regularizer.weight=0.5" in done.stdout
    made = json.loads(
        (tmp_path / "sinusoids" / "ours" / points[3] / "seed-0" / "manifest.json").read_text()
    )
    assert made["settings"]["config"]["sweep"] == {
        "regularizer.weight": 0.5,
        "train.optimizer": "sgd",
    }
    assert made["settings"]["config"]["train"]["optimizer"] == "sgd"


def test_an_unwritable_directory_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    done = augnet("paper", "run", "sinusoids", *SMALL, "--out", str(tmp_path / "file"))
    assert done.exit_code == 2
    assert len(done.stderr.strip().splitlines()) == 1
