"""From data to a directory, predictions and snippets, on the command line."""

import csv
import io
import json
import os
import shlex
import signal
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from typer.main import get_command
from typer.testing import CliRunner

from augnet import AugNet, identity
from augnet.__main__ import app
from augnet.app import wording
from augnet.app.evaluate import evaluate, score
from augnet.app.job import Job
from augnet.app.predict import as_csv
from augnet.app.settings import ARGUMENTS, FIELDS, Settings, read_layers
from augnet.data import DataError, split
from augnet.data import read as read_data
from augnet.learn.config import LearnConfig
from augnet.learn.result import Invariance
from augnet.model import Model, load
from augnet.model.header import Measurement
from augnet.training import DirectoryError
from augnet.transforms import AmplitudeScale, ChannelDropout, Rotate, SignFlip


def augnet(*arguments):
    return CliRunner(env={"COLUMNS": "200"}).invoke(app, list(map(str, arguments)))


def images(root, count=20):
    """Write bright and dark squares."""
    generator = np.random.default_rng(0)
    for name, level in (("bright", 220), ("dark", 40)):
        (root / name).mkdir(parents=True)
        for number in range(count):
            pixels = np.zeros((12, 12), dtype=np.uint8)
            row, column = generator.integers(1, 6, 2)
            pixels[row : row + 5, column : column + 5] = level + generator.integers(-9, 9)
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
    names = sorted(file.name for file in out.iterdir() if not file.name.startswith(".lock"))
    assert names == [
        "history.jsonl", "index.html", "invariances.json", "manifest.json", "model.safetensors",
    ]  # fmt: skip
    found = json.loads((out / "invariances.json").read_text())
    assert [row["name"] for row in found["invariances"]] == ["horizontal_flip", "rotate", "invert"]
    assert found["schema"] == 3
    assert found["evaluation"]["samples"] == 8
    assert "horizontal_flip" in done.stdout
    assert "accuracy" in done.stdout
    page = (out / "index.html").read_text()
    for part in ("<svg", "Answers, by use", "confusion", "Training", "augnet learn"):
        assert part in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace(
        "http://purl.org", ""
    ).replace("http://creativecommons.org", "")


def test_digits_come_with_augnet(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ("--max-samples", 200, "--budget", 2)
    done = augnet("learn", "digits", "--transforms", "horizontal_flip", *few)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "learned" / "index.html").read_text()
    assert "Invariances of digits" in page
    for text in (done.stderr, page):
        assert "E. Alpaydin and C. Kaynak" in text
        assert "CC BY 4.0" in text
    lines = [line.strip() for line in done.stderr.splitlines() if "%" in line]
    assert "% reference: loss" in lines[0]
    assert lines[-1].startswith("100% net: loss")
    assert "The page is learned/index.html" in done.stdout


def test_what_is_finished_is_shown_again_and_other_settings_are_refused(learned):
    data, out, _ = learned
    before = (out / "model.safetensors").read_bytes()
    arguments = ("--transforms", "horizontal_flip,rotate,invert", "--budget", 30, "--out", out)
    assert augnet("learn", data, *arguments).exit_code == 0
    assert (out / "model.safetensors").read_bytes() == before
    refused = augnet("learn", data, "--seed", 1, "--out", out)
    assert refused.exit_code == 2
    assert "seed (0 there, 1 now)" in refused.output
    assert "Choose another --out" in refused.output
    refused = augnet("learn", data, "--out", data)
    assert "Choose another --out" in refused.output


def test_a_model_predicts(learned, tmp_path):
    data, out, _ = learned
    predicted = augnet("predict", out, data)
    assert predicted.exit_code == 0, predicted.output
    rows = list(csv.DictReader(io.StringIO(predicted.stdout)))
    assert len(rows) == 40
    assert set(rows[0]) == {"sample", "copies", "predicted", "p(bright)", "p(dark)"}
    assert sum(row["sample"].startswith(row["predicted"]) for row in rows) > 30
    assert all(abs(float(r["p(bright)"]) + float(r["p(dark)"]) - 1) < 1e-4 for r in rows)
    assert augnet("predict", out, data).stdout == predicted.stdout
    arrow = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "p.parquet"
    assert augnet("predict", out, data, "--out", file, "--copies", 2).exit_code == 0
    assert arrow.read_table(file).num_rows == 40
    assert min(int(row["copies"]) for row in rows) < load(out).net.copies
    everything = augnet("predict", out, data, "--tolerance", 0)
    assert everything.exit_code == 0, everything.output
    copies = {int(row["copies"]) for row in csv.DictReader(io.StringIO(everything.stdout))}
    assert copies == {load(out).net.copies}


@pytest.mark.parametrize(
    ("out", "message"), [("p.xlsx", ".csv or .parquet"), ("no/p.csv", "create it")]
)
def test_predictions_that_cannot_be_written_are_not_made(out, message, tmp_path):
    refused = augnet("predict", "no-model", "no-data", "--out", tmp_path / out)
    assert refused.exit_code == 2
    assert message in refused.output  # before anybody asks for the model


def test_a_model_is_inspected_and_exported(learned, tmp_path):
    _, out, _ = learned
    shown = augnet("inspect", out)
    assert shown.exit_code == 0, shown.output
    for part in ("bright, dark", "medium", "horizontal_flip", "images (1, 12, 12)"):
        assert part in shown.output
    made = augnet("export", out, "--to", "kornia")
    assert made.exit_code == 0, made.output
    assert "import kornia.augmentation as K" in made.stdout
    assert augnet("export", out, "--to", "policy", "--out", tmp_path / "p.json").exit_code == 0
    assert json.loads((tmp_path / "p.json").read_text())["schema"] == 4
    assert augnet("export", out, "--to", "nothing").exit_code == 2


def vectors(path, values=False, size=60):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(size, 3))
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
    assert set(rows[0]) == {"sample", "copies", "value"}


def test_signals_layers_and_a_trunk_of_ones_own(tmp_path, monkeypatch):
    generator = np.random.default_rng(0)
    np.savez(tmp_path / "d.npz", x=generator.normal(size=(40, 2, 64)), y=np.arange(40) % 2)
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
    predicted = augnet("predict", tmp_path / "o", tmp_path / "d.npz", "--trunk", "mine:net")
    assert predicted.exit_code == 0, predicted.output


def job(tmp_path, out="o", seeds=1):
    transforms = ("sign_flip", "gaussian_noise")
    settings = Settings.of(str(tmp_path / "d.npz"), transforms=transforms, budget="5", seeds=seeds)
    made = Job(settings, tmp_path / out)
    made.read()
    return made


def test_groups_are_kept_whole_and_counted(tmp_path):
    vectors(tmp_path / "d.npz", size=80)
    with np.load(tmp_path / "d.npz") as file:
        np.savez(tmp_path / "d.npz", x=file["x"], y=file["y"], subject=np.arange(80) // 8)
    arguments = (tmp_path / "d.npz", "--transforms", "sign_flip", "--budget", 1)
    done = augnet("learn", *arguments, "--groups", "subject", "--out", tmp_path / "o")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "o" / "index.html").read_text()
    for text in (done.output, page, (tmp_path / "o" / "invariances.json").read_text()):
        assert "training and test samples come from different groups (subject): 8 and 2" in text
        assert "of the training groups (subject), 4 are fitted and 4 held out" in text
    assert "--groups subject" in page
    refused = augnet("learn", *arguments, "--groups", "speaker", "--out", tmp_path / "p")
    assert refused.exit_code == 2
    assert "no array speaker" in refused.output


def test_other_groups_are_other_data(tmp_path):
    vectors(tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz") as file:
        x, y = file["x"], file["y"]
    found = []
    for groups in (np.arange(60) // 6, np.arange(60) % 10):
        np.savez(tmp_path / "d.npz", x=x, y=y, groups=groups)
        found.append(job(tmp_path).fingerprint)
    assert found[0] != found[1]


def test_a_job_is_resumed_with_another_number_of_threads(tmp_path):
    vectors(tmp_path / "d.npz")
    settings = [Settings.of(str(tmp_path / "d.npz"), threads=count) for count in (None, 1, 3)]
    assert settings[0].values == settings[1].values == settings[2].values
    assert "threads" not in settings[0].values
    assert settings[2].command.endswith("--threads 3")
    arguments = (tmp_path / "d.npz", "--transforms", "sign_flip", "--budget", 1)
    for count in (1, 2):
        done = augnet("learn", *arguments, "--threads", count, "--out", tmp_path / "o")
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize("seeds", [1, 2])
def test_a_job_that_is_left_goes_on_to_the_same_end(tmp_path, seeds):
    vectors(tmp_path / "d.npz")
    with job(tmp_path, "whole", seeds).open() as whole:
        rows = list(whole)
        whole.finish()
    left = len(rows)
    with job(tmp_path, seeds=seeds).open() as first:
        taken = iter(first)
        for row in taken:
            left -= 1
            if row["epoch"] == 3 and row.get("seed", 0) == seeds - 1:
                taken.close()
                break
    state = tmp_path / "o" / "state.pt"
    saved = state.read_bytes()
    state.write_bytes(b"nonsense")
    with (
        pytest.raises(DirectoryError, match=r"state\.pt is damaged"),
        job(tmp_path, seeds=seeds).open(),
    ):
        pass
    state.write_bytes(saved)
    with job(tmp_path, seeds=seeds).open() as second:
        assert len(list(second)) == left
        second.finish()
    assert not state.exists()
    for name in ("invariances.json", "history.jsonl"):
        assert (tmp_path / "o" / name).read_text() == (tmp_path / "whole" / name).read_text()


def test_an_error_in_the_page_does_not_lose_the_model(tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("a figure")

    vectors(tmp_path / "d.npz")
    with monkeypatch.context() as patch, job(tmp_path).open() as made:
        patch.setattr("augnet.app.job.page", fail)
        list(made)
        with pytest.raises(RuntimeError, match="a figure"):
            made.finish()
    assert load(tmp_path / "o").header.classes
    with job(tmp_path).open() as again:
        assert not again.finished
        assert list(again) == []  # nothing is learned again
        again.finish()
    assert (tmp_path / "o" / "index.html").exists()
    with job(tmp_path).open() as again:
        assert again.finished


def finished_job(tmp_path):
    vectors(tmp_path / "d.npz")
    with job(tmp_path).open() as made:
        list(made)
        made.finish()
    return tmp_path / "o"


def test_a_finished_directory_is_refused_if_the_data_changed(tmp_path):
    out = finished_job(tmp_path)
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    arguments = (tmp_path / "d.npz", "--transforms", "sign_flip,gaussian_noise", "--budget", 5)
    assert augnet("learn", *arguments, "--out", out).exit_code == 0
    vectors(tmp_path / "d.npz", size=61)
    refused = augnet("learn", *arguments, "--out", out)
    assert refused.exit_code == 2
    assert "samples (60 there, 61 now)" in refused.output
    assert "the data changed" in refused.output
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before


@pytest.mark.parametrize("name", ["samples", "labels", "groups"])
def test_what_changed_in_the_data_is_named(tmp_path, name):
    vectors(tmp_path / "d.npz")
    with np.load(tmp_path / "d.npz") as file:
        data = {"samples": file["x"], "labels": file["y"], "groups": np.arange(60) // 6}
    for change in (False, True):
        if change:
            data[name] = data[name][::-1]
        np.savez(tmp_path / "d.npz", x=data["samples"], y=data["labels"], groups=data["groups"])
        again = job(tmp_path)
        if not change:
            with again.open():
                pass
    with pytest.raises(DirectoryError, match=rf"was begun: other {name}\. Choose"):
        again.open().__enter__()


def test_other_names_of_classes_are_other_data(tmp_path):
    images(tmp_path / "d", 15)
    job = Job(Settings.of(str(tmp_path / "d")), tmp_path / "o")
    job.read()
    (tmp_path / "d" / "dark").rename(tmp_path / "d" / "dim")
    renamed = Job(Settings.of(str(tmp_path / "d")), tmp_path / "o")
    assert renamed.read().train.y.equal(job.split.train.y)
    assert renamed.fingerprint != job.fingerprint


@pytest.mark.parametrize("name", ["model.safetensors", "index.html", "history.jsonl"])
def test_damaged_files_of_a_finished_directory_are_refused_by_name(tmp_path, name):
    file = finished_job(tmp_path) / name
    file.write_bytes(file.read_bytes()[:-1])
    with job(tmp_path).open() as again, pytest.raises(DirectoryError, match=f"{name} is damaged"):
        assert again.finished
    file.unlink()  # as the message says
    with job(tmp_path).open() as again:
        assert not again.finished
        list(again)
        again.finish()
        assert again.finished


def test_a_directory_of_an_older_version_is_refused_by_name(tmp_path):
    vectors(tmp_path / "d.npz")
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "settings.json").write_text("{}")
    refused = augnet("learn", tmp_path / "d.npz", "--out", tmp_path / "o")
    assert refused.exit_code == 2
    assert "an older version of augnet made it (it has settings.json" in refused.output


def test_a_directory_that_another_process_writes_is_refused(tmp_path):
    vectors(tmp_path / "d.npz")
    with job(tmp_path).open(), pytest.raises(DirectoryError, match="in use"), job(tmp_path).open():
        pass


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
    assert "the same command resumes it" in left.output
    assert (out / "state.pt").exists()
    monkeypatch.setattr(Job, "__iter__", save)
    done = augnet(*arguments)
    assert done.exit_code == 0, done.output
    assert "Resuming at" in done.output


def test_seeds_are_joined_and_shown(tmp_path):
    data, out = vectors(tmp_path / "d.npz"), tmp_path / "o"
    transforms = ("--transforms", "sign_flip,gaussian_noise", "--budget", 3)
    done = augnet("learn", data, *transforms, "--seeds", 3, "--out", out)
    assert done.exit_code == 0, done.output
    assert "agree" in done.stdout
    found = json.loads((out / "invariances.json").read_text())["invariances"]
    assert {row["seeds_agreeing"][1] for row in found} == {3}
    page = (out / "index.html").read_text()
    assert "3 seeds" in page
    assert "--seeds 3" in page
    assert [record.seeds_agreeing for record in load(out).header.invariances] == [
        tuple(row["seeds_agreeing"]) for row in found
    ]
    assert "agree" in augnet("inspect", out).output


def test_random_labels_end_in_a_model_without_augmentation(tmp_path, monkeypatch):
    vectors(tmp_path / "d.npz")
    with job(tmp_path).open() as made:
        list(made)
        found, reason = made.learner.result, "the network is not better than chance"
        rows = [replace(row, status="unclear", reason=reason) for row in found.invariances]
        net = AugNet(identity, found.net.trunk).eval()
        result = replace(found, invariances=tuple(rows), net=net, score=0.5, chance=0.5)
        monkeypatch.setattr(type(made.learner), "result", result)
        made.finish()
    out = tmp_path / "o"
    summary = json.loads((out / "invariances.json").read_text())
    assert {row["status"] for row in summary["invariances"]} == {"unclear"}
    assert {row["strength"] for row in summary["invariances"]} == {None}
    assert (summary["layers"], summary["measurement"]["score"]) == ([], 0.5)
    shown = augnet("inspect", out)
    assert shown.exit_code == 0, shown.output
    assert f"Nothing can be concluded about any of 2 transforms: {reason}" in shown.stdout
    assert load(out).net.augment is identity
    assert json.loads(augnet("export", out, "--to", "policy").stdout)["layers"] == []
    for to in ("kornia", "braindecode"):
        refused = augnet("export", out, "--to", to)
        assert refused.exit_code == 2
        assert "this model is for vectors of shape (3,): export it to policy" in refused.output


def test_what_pip_is_to_install_is_not_taken_for_markup(tmp_path, monkeypatch):
    vectors(tmp_path / "d.npz")
    monkeypatch.setattr("augnet.app.job.read", lambda *_, **__: (_ for _ in ()).throw(
        DataError("pip install 'augnet[own]'")))  # fmt: skip
    refused = augnet("learn", tmp_path / "d.npz", "--out", tmp_path / "o")
    assert "pip install 'augnet[own]'" in refused.output


@pytest.mark.parametrize(
    ("arguments", "message"),
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
        (["d.npz", "--layers", "bad.toml"], "has no layers"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line_and_leaves_nothing(
    tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    vectors(tmp_path / "d.npz")
    (tmp_path / "bad.toml").write_text("transforms = 3")
    refused = augnet("learn", *arguments)
    assert refused.exit_code == 2, refused.output
    assert message in refused.output
    assert not (tmp_path / "learned").exists()


def test_layers_are_read(tmp_path):
    (tmp_path / "l.toml").write_text('layers = ["rotate"]')
    with pytest.raises(DataError, match="list of lists"):
        read_layers(tmp_path / "l.toml")


def test_invariances_are_written_with_status_and_units():
    turn = Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0))
    loud = Invariance(AmplitudeScale(4.0), "reached_limit", 4.0, (3.5, 4.0))
    flip = Invariance(SignFlip(), "not_invariant", 0.0, (0.0, 0.0))
    assert (wording.status(turn), wording.strength(turn)) == ("bounded", "±27°")
    assert wording.interval(turn) == "25 to 29°"
    some = Invariance(ChannelDropout(), "bounded", 0.17, (0.1, 0.25))
    assert wording.strength(some) == "probability 0.17"
    assert wording.interval(some) == "0.1 to 0.25 probability"
    assert str(some) == "channel_dropout: bounded, probability 0.17 (0.1 to 0.25)"
    assert (wording.status(loud), wording.strength(loud)) == (
        "reached limit",
        "a factor of 4 up or down",
    )
    assert (wording.status(flip), wording.strength(flip)) == ("not invariant", "–")


def test_scores_are_what_they_say(learned):
    data, out, _ = learned
    model = load(out)
    _, test = split(read_data(data))
    evaluation = evaluate(model, test.x, test.y)
    assert evaluation.values == model.header.evaluation
    assert int(evaluation.confusion.sum()) == evaluation.count == 8
    assert evaluation.confusion.diag().sum().item() / 8 == evaluation.score
    y = torch.tensor([1.0, 2.0, 3.0])
    assert score(y, y) == 1
    assert score(torch.full((3,), 2.0), y) == pytest.approx(0, abs=1e-6)


def test_values_without_variance_have_a_score_that_json_knows():
    alike = torch.full((3, 1), 0.1)
    assert score(alike.clone(), alike) == 1
    assert score(torch.tensor([0.1, 0.2, 0.1]), alike) == 0


def test_the_command_can_be_pasted():
    command = Settings.of("my photos", column="the label", channels=("C3", "EEG Fpz")).command
    assert command == "augnet learn 'my photos' --column 'the label' --channels 'C3,EEG Fpz'"


def parsed(command):
    """Return the settings that the command line makes of a command."""
    learn = get_command(app).commands["learn"]
    options = learn.make_context("learn", shlex.split(command)[2:]).params
    del options["out"]
    data = options.pop("data")
    values = {
        name: ARGUMENTS[name].parse(value) if name in ARGUMENTS else value
        for name, value in options.items()
    }
    return Settings.of(str(data), **values)


OTHER_VALUES = {
    "transforms": ("rotate", "shear_x"), "layers": (("rotate",),), "trunk": "mine:net",
    "budget": "90s", "seed": 3, "seeds": 2, "copies": 4, "lr": 0.001, "threads": 2,
    "tolerance": 0.02, "jobs": 2, "by_class": True,
    "max_samples": 99, "size": 32, "kind": "images", "follow_links": True,
    "task": "regression", "column": "the label", "groups": "the subject", "sfreq": 0.5,
    "channels": ("C3", "EEG Fpz"), "window": 2.0,
}  # fmt: skip


@pytest.mark.parametrize("name", FIELDS)
def test_every_option_has_its_default_and_goes_to_the_command_and_back(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "LAYERS.toml").write_text('layers = [["rotate"]]')
    assert parsed("augnet learn d.npz") == Settings("d.npz")
    settings = Settings.of("d.npz", **{name: OTHER_VALUES[name]})
    assert settings != Settings("d.npz")
    assert parsed(settings.command) == settings


def test_constants_that_were_changed_are_settings():
    constant = next(each for each in fields(LearnConfig) if each.name not in FIELDS)
    changed = LearnConfig(**{constant.name: constant.default * 2})
    assert constant.name not in Settings("d.npz").values
    assert Settings("d.npz", changed).values[constant.name] == constant.default * 2


def test_help_is_that_of_the_options():
    shown = " ".join(augnet("learn", "--help").output.replace("│", " ").split())
    for field in FIELDS.values():
        assert f"--{field.name.replace('_', '-')} " in shown
        assert field.metadata["help"] in shown


def test_the_commands_are_those_of_the_library_and_the_paper():
    names = list(get_command(app).commands)
    assert names == ["learn", "audit", "predict", "inspect", "export", "transforms", "paper"]
    assert "horizontal_flip" in augnet("transforms").output


def test_the_state_is_kept_until_the_evaluation_is_done(tmp_path):
    vectors(tmp_path / "d.npz")
    with job(tmp_path).open() as first:  # which is left before it has finished
        rows = list(first)
    with job(tmp_path).open() as again:
        assert again.learner.history == rows
        assert list(again) == []
        again.finish()
    assert not (tmp_path / "o" / "state.pt").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="names are UTF-8 elsewhere")
def test_names_that_are_not_utf8_reach_the_end(tmp_path):
    data, out = tmp_path / "d\udcff", tmp_path / "o\udcfe"
    images(data, 12)
    (data / "dark").rename(data / "da\udcff\x1b[31mrk")
    (data / "bright" / "0.png").rename(data / "bright" / "=cmd|'calc'!A1.png")
    done = augnet("learn", data, "--transforms", "invert", "--budget", 1, "--out", out)
    assert done.exit_code == 0, done.output
    names = [path.name for path in (data / "bright").iterdir()]
    assert "=cmd|'calc'!A1.png" in names
    predicted = augnet("predict", out, data / "bright")
    for result in (done, augnet("inspect", out), predicted):
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
    assert "'=cmd|" in predicted.stdout
    assert r"p(da\xff\x1b[31mrk)" in predicted.stdout
    assert r"d\xff" in (out / "index.html").read_text(encoding="utf-8")


def test_formulas_are_text_and_numbers_stay_numbers():
    columns = {"sample": ["=1+1", "@a", "-x", "+49", "-1", "a"], "p": [0.5, -0.5, 1.0, 0.0, 0.1, 1]}
    rows = list(csv.reader(io.StringIO(as_csv(columns))))
    assert [row[0] for row in rows] == ["sample", "'=1+1", "'@a", "'-x", "+49", "-1", "a"]
    assert rows[2][1] == "-0.5"


def test_names_with_markup_are_shown_as_they_are(tmp_path):
    images(tmp_path / "d", 12)
    (tmp_path / "d" / "dark").rename(tmp_path / "d" / "[red]dark")
    options = ("--transforms", "invert", "--budget", 1, "--out", tmp_path / "o")
    assert augnet("learn", tmp_path / "d", *options).exit_code == 0
    assert "[red]dark" in augnet("inspect", tmp_path / "o").output
    for name, arguments in (
        ("[b]p.csv", ("predict", tmp_path / "o", tmp_path / "d")),
        ("[b]p.pt2", ("export", tmp_path / "o", "--to", "pt2")),
    ):
        assert name in augnet(*arguments, "--out", tmp_path / name).stderr


def test_reasons_and_warnings_of_a_file_change_no_terminal(tmp_path):
    rows = (Invariance(SignFlip(), "unclear", 0.0, (0.0, 0.0), reason="HERE"),)
    net = AugNet(identity, torch.nn.Linear(2, 2), copies=1)
    model = Model.of(
        net, (2,), classes=("a", "b"), invariances=rows, measurement=Measurement(warnings=["HERE"])
    )
    text = model.header.model_dump_json().replace("HERE", r"\u001b[31m\n\ud800[/b]")
    save_file(net.state_dict(), tmp_path / "m", {"augnet": text})
    shown = augnet("inspect", tmp_path / "m")
    assert shown.exit_code == 0, shown.output
    assert "\x1b" not in shown.output
    assert r"\x1b[31m\n\ud800[/b]" in shown.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--trunk", "sys:exit"), "'sys:exit' ends the program, and builds no nn.Module"),
        (("--layers", "deep.toml"), "deep.toml has no layers"),
        (("--layers", "."), "is not a file"),
        (("--sfreq", "nan"), "--sfreq takes a positive number; got nan"),
        (("--trunk", ":"), "trunk ':' cannot be imported (Empty module name)"),
        (("--trunk", "torch.nn:Linear"), "trunk 'torch.nn:Linear' is called with (shape, outputs)"),
        (("--trunk", "this:s"), "trunk 'this:s' is called with (shape, outputs)"),
        (("--copies", "1000000000"), "less than or equal to 10000"),
        (("--threads", "1000000000"), "less than or equal to 1024"),
        (("--seeds", "1000000000"), "less than or equal to 100"),
        (("--seed", "99999999999999999999"), "less than or equal to 4294967295"),
        (("--tolerance", "inf"), "tolerance takes a positive number; got inf"),
    ],
)
def test_mistakes_are_explained_in_one_line(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep.toml").write_text(f"layers = {'[' * 5000}{']' * 5000}")
    vectors(tmp_path / "d.npz")
    refused = augnet("learn", "d.npz", *options, "--out", "o")
    assert refused.exit_code == 2
    assert isinstance(refused.exception, SystemExit)
    assert message in refused.output
    assert not (tmp_path / "o").exists()
