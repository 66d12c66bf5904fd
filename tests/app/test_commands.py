"""From data to a directory, predictions and snippets, on the command line."""

import csv
import io
import json
import os
import signal

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from augnet.__main__ import app
from augnet.app import wording
from augnet.app.examine import examine, score
from augnet.app.job import Job
from augnet.app.settings import Settings, layers_of
from augnet.data import DataError, split
from augnet.data import read as read_data
from augnet.learn.result import Invariance
from augnet.model import load
from augnet.transforms import AmplitudeScale, ChannelDropout, Rotate, SignFlip


def augnet(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


def images(root, count=20):
    """Write bright and dark squares."""
    dice = np.random.default_rng(0)
    for name, level in (("bright", 220), ("dark", 40)):
        (root / name).mkdir(parents=True)
        for number in range(count):
            pixels = np.zeros((12, 12), dtype=np.uint8)
            row, column = dice.integers(1, 6, 2)
            pixels[row : row + 5, column : column + 5] = level + dice.integers(-9, 9)
            Image.fromarray(pixels).save(root / name / f"{number}.png")
    return root


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    root = tmp_path_factory.mktemp("own")
    data, out = images(root / "squares"), root / "out"
    arguments = ("--transforms", "horizontal_flip,rotate,invert", "--budget", 30, "--out", out)
    done = augnet("learn", data, *arguments)
    assert done.exit_code == 0, done.output
    return data, out, done


def test_a_folder_becomes_a_directory(learned):
    _, out, done = learned
    names = sorted(file.name for file in out.iterdir())
    assert names == [
        "history.jsonl", "index.html", "invariances.json", "model.safetensors", "settings.json",
    ]  # fmt: skip
    found = json.loads((out / "invariances.json").read_text())
    assert [row["name"] for row in found["invariances"]] == ["horizontal_flip", "rotate", "invert"]
    assert found["schema"] == 1
    assert found["measured"]["samples"] == 8
    assert "horizontal_flip" in done.stdout
    assert "accuracy" in done.stdout
    page = (out / "index.html").read_text()
    for part in ("<svg", "What was found", "confusion", "How it was learned", "augnet learn"):
        assert part in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")


def test_what_is_finished_is_shown_again_and_other_settings_are_refused(learned):
    data, out, _ = learned
    before = (out / "model.safetensors").read_bytes()
    arguments = ("--transforms", "horizontal_flip,rotate,invert", "--budget", 30, "--out", out)
    assert augnet("learn", data, *arguments).exit_code == 0
    assert (out / "model.safetensors").read_bytes() == before
    refused = augnet("learn", data, "--seed", 1, "--out", out)
    assert refused.exit_code == 2
    assert "choose another --out" in refused.output
    refused = augnet("learn", data, "--out", data)
    assert "choose another --out" in refused.output


def test_a_model_predicts(learned, tmp_path):
    data, out, _ = learned
    told = augnet("predict", out, data)
    assert told.exit_code == 0, told.output
    rows = list(csv.DictReader(io.StringIO(told.stdout)))
    assert len(rows) == 40
    assert set(rows[0]) == {"sample", "predicted", "p(bright)", "p(dark)"}
    assert sum(row["sample"].startswith(row["predicted"]) for row in rows) > 30
    assert all(abs(float(r["p(bright)"]) + float(r["p(dark)"]) - 1) < 1e-4 for r in rows)
    assert augnet("predict", out, data).stdout == told.stdout
    arrow = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "p.parquet"
    assert augnet("predict", out, data, "--out", file, "--copies", 2).exit_code == 0
    assert arrow.read_table(file).num_rows == 40
    settled = augnet("predict", out, data, "--tolerance", 0.3)
    assert settled.exit_code == 0, settled.output
    copies = [int(row["copies"]) for row in csv.DictReader(io.StringIO(settled.stdout))]
    assert min(copies) < load(out).net.copies


@pytest.mark.parametrize(
    ("out", "said"), [("p.xlsx", ".csv or .parquet"), ("no/p.csv", "make it first")]
)
def test_predictions_that_cannot_be_written_are_not_made(out, said, tmp_path):
    refused = augnet("predict", "no-model", "no-data", "--out", tmp_path / out)
    assert refused.exit_code == 2
    assert said in refused.output  # before anybody asks for the model


def test_a_model_is_inspected_and_exported(learned, tmp_path):
    _, out, _ = learned
    said = augnet("inspect", out)
    assert said.exit_code == 0, said.output
    for part in ("bright, dark", "small", "horizontal_flip", "images (1, 12, 12)"):
        assert part in said.output
    made = augnet("export", out, "--to", "kornia")
    assert made.exit_code == 0, made.output
    assert "K." in made.stdout
    assert augnet("export", out, "--to", "policy", "--out", tmp_path / "p.json").exit_code == 0
    assert json.loads((tmp_path / "p.json").read_text())["schema"] == 1
    assert augnet("export", out, "--to", "nothing").exit_code == 2


def vectors(path, values=False, size=60):
    dice = np.random.default_rng(0)
    x = dice.normal(size=(size, 3))
    y = x[:, 0] ** 2 + 0.01 if values else (np.abs(x[:, 0]) > 0.7).astype(int)
    np.savez(path, x=x, y=y)
    return path


def test_values_are_learned(tmp_path):
    data = vectors(tmp_path / "d.npz", values=True)
    done = augnet(
        "learn", data, "--transforms", "sign_flip", "--budget", 4, "--out", tmp_path / "o"
    )
    assert done.exit_code == 0, done.output
    assert "variance explained" in done.stdout
    rows = list(csv.DictReader(io.StringIO(augnet("predict", tmp_path / "o", data).stdout)))
    assert set(rows[0]) == {"sample", "value"}


def test_signals_layers_and_a_trunk_of_ones_own(tmp_path, monkeypatch):
    dice = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=dice.normal(size=(40, 2, 64)), y=np.arange(40) % 2)
    (tmp_path / "layers.toml").write_text(
        'layers = [["time_reverse", {name = "frequency_shift", limit = 2}]]'
    )
    (tmp_path / "mine.py").write_text(
        "from torch import nn\n"
        "def net(shape, outputs):\n"
        "    return nn.Sequential(nn.Flatten(), nn.Linear(shape[0] * shape[1], outputs))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    done = augnet(
        "learn", tmp_path / "d.npz", "--layers", tmp_path / "layers.toml", "--sfreq", 100,
        "--trunk", "mine:net", "--budget", 2, "--out", tmp_path / "o",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert augnet("inspect", tmp_path / "o").exit_code == 0
    refused = augnet("predict", tmp_path / "o", tmp_path / "d.npz")
    assert "--trunk on the command line" in refused.output
    told = augnet("predict", tmp_path / "o", tmp_path / "d.npz", "--trunk", "mine:net")
    assert told.exit_code == 0, told.output


def job(tmp_path, out="o", seeds=1):
    transforms = ("sign_flip", "gaussian_noise")
    settings = Settings(
        data=str(tmp_path / "d.npz"), transforms=transforms, budget="5", seeds=seeds
    )
    return Job(settings, tmp_path / out)


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_job_that_is_left_goes_on_to_the_same_end(tmp_path, seeds):
    vectors(tmp_path / "d.npz")
    whole = job(tmp_path, "whole", seeds)
    rows = list(whole)
    whole.finish()
    first = job(tmp_path, seeds=seeds)
    taken = iter(first)
    left = len(rows)
    for row in taken:
        left -= 1
        if row["epoch"] == 3 and row.get("seed", 0) == seeds - 1:
            taken.close()
            break
    assert (tmp_path / "o" / "state.pt").exists()
    second = job(tmp_path, seeds=seeds)
    second.read()
    assert len(list(second)) == left
    second.finish()
    assert not (tmp_path / "o" / "state.pt").exists()
    for name in ("invariances.json", "history.jsonl"):
        assert (tmp_path / "o" / name).read_text() == (tmp_path / "whole" / name).read_text()
    (tmp_path / "o" / "state.pt").write_bytes(b"nonsense")
    (tmp_path / "o" / "index.html").unlink()
    with pytest.raises(DataError, match="remove it to begin anew"):
        job(tmp_path, seeds=seeds).begin()


def test_ctrl_c_keeps_what_there_is_and_says_how_to_go_on(tmp_path, monkeypatch):
    data, out = vectors(tmp_path / "d.npz"), tmp_path / "o"
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.default_int_handler)
    save = Job.__iter__

    def interrupted(self):
        for row in (rows := save(self)):
            if row["epoch"] == 2:
                os.kill(os.getpid(), signal.SIGINT)
            try:
                yield row
            except GeneratorExit:
                rows.close()
                raise

    monkeypatch.setattr(Job, "__iter__", interrupted)
    arguments = ("learn", data, "--transforms", "sign_flip", "--budget", 5, "--out", out)
    left = augnet(*arguments)
    assert left.exit_code == 130, left.output
    assert "the same command goes on from there" in left.output
    assert (out / "state.pt").exists()
    monkeypatch.setattr(Job, "__iter__", save)
    done = augnet(*arguments)
    assert done.exit_code == 0, done.output
    assert "Going on from" in done.output


def test_seeds_are_joined_and_said(tmp_path):
    data, out = vectors(tmp_path / "d.npz"), tmp_path / "o"
    transforms = ("--transforms", "sign_flip,gaussian_noise", "--budget", 3)
    done = augnet("learn", data, *transforms, "--seeds", 3, "--out", out)
    assert done.exit_code == 0, done.output
    assert "agree" in done.stdout
    found = json.loads((out / "invariances.json").read_text())["invariances"]
    assert {row["agree"][1] for row in found} == {3}
    page = (out / "index.html").read_text()
    assert "3 seeds" in page
    assert "--seeds 3" in page
    assert [answer.agree for answer in load(out).header.answers] == [
        tuple(r["agree"]) for r in found
    ]
    assert "agree" in augnet("inspect", out).output


def test_what_pip_is_to_install_is_not_taken_for_markup(tmp_path, monkeypatch):
    vectors(tmp_path / "d.npz")
    monkeypatch.setattr("augnet.app.job.read", lambda *_, **__: (_ for _ in ()).throw(
        DataError("pip install 'augnet[own]'")))  # fmt: skip
    refused = augnet("learn", tmp_path / "d.npz", "--out", tmp_path / "o")
    assert "pip install 'augnet[own]'" in refused.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "does not exist"),
        (["d.npz", "--budget", "soon"], "a time, such as '90s'"),
        (["d.npz", "--task", "guess"], "--task is one of"),
        (["d.npz", "--transforms", "rotated"], "did you mean 'rotate'"),
        (["d.npz", "--transforms", "rotate"], "rotate takes images"),
        (["d.npz", "--trunk", "tiny"], "unknown trunk 'tiny'"),
        (["d.npz", "--trunk", "no_such:Net"], "cannot be imported"),
        (["d.npz", "--trunk", "resnet18"], "resnet18 takes images"),
        (["d.npz", "--size", "32"], "--size is not for"),
        (["d.npz", "--layers", "bad.toml"], "no file of layers"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line_and_leaves_nothing(
    tmp_path, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    vectors(tmp_path / "d.npz")
    (tmp_path / "bad.toml").write_text("transforms = 3")
    refused = augnet("learn", *arguments)
    assert refused.exit_code == 2, refused.output
    assert said in refused.output
    assert not (tmp_path / "learned").exists()


def test_layers_are_read(tmp_path):
    (tmp_path / "l.toml").write_text('layers = ["rotate"]')
    with pytest.raises(DataError, match="list of lists"):
        layers_of(tmp_path / "l.toml")


def test_findings_are_said_in_transforms_and_units():
    turn = Invariance(Rotate(90.0), "within", 27.0, (25.0, 29.0))
    loud = Invariance(AmplitudeScale(4.0), "at least", 4.0, (3.5, 4.0))
    flip = Invariance(SignFlip(), "none", 0.0, (0.0, 0.0))
    assert wording.found(turn) == "leaves the label alone within ±27°"
    assert wording.sure(turn) == "25 to 29°"
    some = Invariance(ChannelDropout(), "within", 0.17, (0.1, 0.25))
    assert wording.found(some) == "leaves the label alone up to a probability of 0.17"
    assert wording.sure(some) == "0.1 to 0.25 probability"
    assert str(some) == "channel_dropout: within probability 0.17 (0.1 to 0.25)"
    assert "at least a factor of 4 up or down, where the search ended" in wording.found(loud)
    assert wording.found(flip) == "changes the label"
    assert wording.headline((turn, loud, flip)).endswith(
        "each within its range; sign_flip does not."
    )


def test_scores_are_what_they_say(learned):
    data, out, _ = learned
    model = load(out)
    _, tested = split(read_data(data))
    examined = examine(model, tested.x, tested.y)
    assert examined.table == model.header.measured
    assert int(examined.confusion.sum()) == examined.count == 8
    assert examined.confusion.diag().sum().item() / 8 == examined.score
    y = torch.tensor([1.0, 2.0, 3.0])
    assert score(y, y) == 1
    assert score(torch.full((3,), 2.0), y) == pytest.approx(0, abs=1e-6)


def test_values_without_variance_have_a_score_that_json_knows():
    alike = torch.full((3, 1), 0.1)
    assert score(alike.clone(), alike) == 1
    assert score(torch.tensor([0.1, 0.2, 0.1]), alike) == 0


def test_the_command_can_be_pasted():
    said = Settings(data="my photos", column="the label", channels=("C3", "EEG Fpz")).command
    assert said == "augnet learn 'my photos' --column 'the label' --channels 'C3,EEG Fpz'"


def test_what_was_learned_is_kept_while_it_is_examined(tmp_path):
    vectors(tmp_path / "d.npz")
    rows = list(job(tmp_path))
    again = job(tmp_path)  # the other was left before it had finished
    assert again.begin().history == rows
    assert list(again) == []
    again.finish()
    assert not (again.out / "state.pt").exists()
