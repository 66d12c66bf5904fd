"""Run directories: killed at any moment, they go on and end the same."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from augnet.paper import config
from augnet.paper import run as runs
from augnet.paper.run import RunDirectory
from augnet.training import DirectoryError, NonFiniteError

CHANGES = {"train.epochs": 4, "data.sizes": [64, 16, 16], "trunk.kernel": 20, "net.copies": 2}


def directory(path: Path, seed: int = 0, **changes) -> RunDirectory:
    settings = config.resolve(
        "sinusoids", config.read("sinusoids"), "one-layer", changes=CHANGES | changes
    )
    return RunDirectory(path, settings, seed)


def content(path: Path):
    return (path / "rows.jsonl").read_text(), load_file(path / "model.safetensors")


def assert_same(first: Path, second: Path) -> None:
    (rows, weights), (other_rows, other_weights) = content(first), content(second)
    assert rows == other_rows
    torch.testing.assert_close(weights, other_weights, rtol=0, atol=0)


def visible(path: Path) -> dict[str, bytes]:
    """Read all files but those of the lock."""
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name[0] != "."}


def test_a_run_leaves_its_rows_its_model_and_how_it_was_made(tmp_path):
    run = directory(tmp_path / "run")
    rows = list(run.run())
    assert run.finished
    assert run.rows() == rows
    assert visible(run.path).keys() == {
        "manifest.json", "rows.jsonl", "model.safetensors", "result.json",
    }  # fmt: skip
    made = json.loads((run.path / "manifest.json").read_text())
    assert made["kind"] == "run"
    assert made["settings"]["config"]["train"]["epochs"] == 4
    assert made["settings"]["seed"] == 0
    assert made["about"]["torch"] == torch.__version__
    assert made["data"] is None  # settings and seed decide it
    result = json.loads((run.path / "result.json").read_text())
    assert result.keys() == {"epochs", "kept"}
    assert result["kept"]["task"] == rows[-1]["task"]
    saved = load_file(run.path / "model.safetensors")["augment.layers.0.raw_magnitudes"]
    reported = [state["magnitude"] for state in result["kept"]["transforms"]]
    assert reported == saved.tolist()


def test_invariance_is_measured_at_the_end_where_it_is_asked_for(tmp_path):
    settings = config.resolve(
        "capacity",
        config.read("capacity"),
        "augnet-1x1",
        changes={"train.epochs": 1, "data.sizes": [64, 16, 16]},
    )
    run = RunDirectory(tmp_path, settings, 0)
    list(run.run())
    measured = json.loads((tmp_path / "result.json").read_text())["measured"]
    assert [row["copies"] for row in measured] == [1, 4, 10]
    assert all(row["low"] <= row["invariance"] <= row["high"] <= 1 for row in measured)
    assert all(row["authors_invariance"] <= 1 for row in measured)


def test_layers_start_with_the_logits_that_are_asked_for():
    for logit in (0.0, 1.0):
        module = runs.layers([["rotate", "shear_x"], ["hue"]], logit=logit)
        assert [layer.logits.tolist() for layer in module] == [[logit] * 2, [logit]]
        assert module[0].weights.tolist() == [0.5, 0.5]


def test_trunks_of_images_have_their_channels_last_and_keep_their_predictions():
    changes = {"data.sizes": [8, 4, 4], "trunk.width": 8}
    settings = config.resolve("mario-iggy", config.read("mario-iggy"), "augnet", changes=changes)
    net, splits = runs.build(settings, seed=0)
    kernels = [value for value in net.trunk.parameters() if value.dim() == 4]
    assert kernels[1].is_contiguous(memory_format=torch.channels_last)
    assert not kernels[1].is_contiguous()
    net.trunk.eval()
    fast = net.trunk(splits.test.x)
    slow = net.trunk.to(memory_format=torch.contiguous_format)(splits.test.x)
    assert torch.allclose(fast, slow, atol=1e-6)


def test_narrow_trunks_keep_their_memory_format():
    """With 3 to 6 filters, torch wrote beyond its memory in the backward pass."""
    changes = {"data.sizes": [8, 4, 4], "trunk.width": 6}
    settings = config.resolve("mario-iggy", config.read("mario-iggy"), "augnet", changes=changes)
    net, _ = runs.build(settings, seed=0)
    assert all(value.is_contiguous() for value in net.trunk.parameters())


def test_a_finished_run_is_not_run_again(tmp_path):
    list(directory(tmp_path).run())
    before = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    assert list(directory(tmp_path).run()) == []
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize("epochs", [1, 3])
def test_an_interrupted_run_ends_like_one_that_was_not(tmp_path, epochs):
    list(directory(tmp_path / "whole").run())
    steps = directory(tmp_path / "broken").run()
    for _ in range(epochs):
        next(steps)
    steps.close()
    assert len(list(directory(tmp_path / "broken").run())) == 4 - epochs
    assert_same(tmp_path / "broken", tmp_path / "whole")


def test_a_run_killed_between_its_last_epoch_and_its_end_is_ended(tmp_path):
    list(directory(tmp_path / "whole").run())
    run = directory(tmp_path / "broken")
    steps = run.run()
    for _ in range(4):
        next(steps)
    steps.close()
    (run.path / "rows.jsonl").unlink()
    assert list(directory(run.path).run()) == []
    assert_same(run.path, tmp_path / "whole")


def workers(pid: int) -> list[int]:
    """Find the children of a process that train, through /proc."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    named = {int(child): Path(f"/proc/{child}/cmdline").read_bytes() for child in children}
    return [child for child, command in named.items() if b"spawn_main" in command]


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# For the worker of a command: after its first epoch, kill the command, and wait for what follows.
KILL = """
import os, signal, sys
if "spawn_main" in " ".join(sys.orig_argv):
    from augnet.training import ResumableDirectory
    write = ResumableDirectory.write
    def kill(self, files):
        write(self, files)
        if "rows.jsonl" in files:
            with open(os.environ["WORKER"], "w") as file:
                file.write(str(os.getpid()))
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
    ResumableDirectory.write = kill
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="workers are found through /proc")
def test_a_run_survives_being_killed(tmp_path):
    options = [f"--set={key}={json.dumps(value)}" for key, value in CHANGES.items()]
    command = [sys.executable, "-m", "augnet", "paper", "run", "sinusoids", "--variant=one-layer"]
    (tmp_path / "sitecustomize.py").write_text(KILL)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    killing = {**os.environ, "PYTHONPATH": path, "WORKER": str(tmp_path / "worker")}

    def out(name):
        return tmp_path / name / "sinusoids" / "ours" / "one-layer" / "seed-0"

    def run(name, environment=None):
        said = [*command, *options, f"--out={tmp_path / name}"]
        return subprocess.run(said, stdout=subprocess.DEVNULL, env=environment).returncode

    assert run("whole") == 0
    assert run("killed", killing) == -signal.SIGKILL
    while alive(int((tmp_path / "worker").read_text())):  # it ends with its parent
        time.sleep(0.01)
    assert len((out("killed") / "rows.jsonl").read_text().splitlines()) == 1
    assert not (out("killed") / "result.json").exists()
    assert run("killed") == 0
    assert_same(out("killed"), out("whole"))


@pytest.mark.skipif(not Path("/proc").exists(), reason="workers are found through /proc")
def test_a_killed_worker_is_one_clear_line(tmp_path):
    command = [sys.executable, "-m", "augnet", "paper", "run", "sinusoids", "--variant=one-layer"]
    process = subprocess.Popen(
        [*command, f"--out={tmp_path}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(tmp_path.rglob("rows.jsonl")):
        assert process.poll() is None
        time.sleep(0.01)
    (worker,) = workers(process.pid)
    os.kill(worker, signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == 2, said
    assert "a worker was killed" in said
    assert len(said.strip().splitlines()) == 1


def test_a_run_that_is_interrupted_says_how_to_go_on(tmp_path):
    command = [sys.executable, "-m", "augnet", "paper", "run", "sinusoids", "--variant=one-layer"]
    process = subprocess.Popen(
        [*command, "--seeds=3", f"--out={tmp_path}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # even in a nohup shell
    )
    while not list(tmp_path.rglob("rows.jsonl")):
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    try:
        _, said = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert said.strip() == "Interrupted. The same command resumes after the last epoch."
    assert len(list(tmp_path.rglob("manifest.json"))) == 1  # no other seed was begun


def test_foreign_and_damaged_directories_are_refused_and_left_alone(tmp_path):
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("years of work")
    with pytest.raises(DirectoryError, match=r"foreign is not empty.*no manifest\.json"):
        directory(foreign).check()
    assert [file.name for file in foreign.iterdir()] == ["thesis.txt"]

    run = directory(tmp_path / "run")
    assert not run.path.exists()  # not before there is something to write
    next(run.run())
    with pytest.raises(DirectoryError, match=r"other settings: seed \(0 there, 1 now\)"):
        directory(run.path, seed=1).check()
    with pytest.raises(DirectoryError, match=r"other settings: config\.train\.lr \(.*0\.5 now\)"):
        directory(run.path, **{"train.lr": 0.5}).check()
    description = (run.path / "manifest.json").read_text()
    (run.path / "manifest.json").write_text(description.replace('"schema": 2', '"schema": 99'))
    with pytest.raises(DirectoryError, match="its schema is 99, and this version reads 2"):
        directory(run.path).check()
    (run.path / "manifest.json").write_text("{")
    with pytest.raises(DirectoryError, match=r"its manifest\.json cannot be read"):
        directory(run.path).check()
    file = tmp_path / "file"
    file.write_text("not a directory")
    with pytest.raises(DirectoryError, match="is not empty"):
        next(directory(file).run())


def test_damaged_states_and_rows_are_named(tmp_path):
    steps = directory(tmp_path).run()
    next(steps)
    steps.close()
    (tmp_path / "state.pt").write_bytes(b"garbage")
    with pytest.raises(DirectoryError, match=r"state\.pt is damaged"):
        list(directory(tmp_path).run())
    (tmp_path / "rows.jsonl").write_text("{")
    with pytest.raises(DirectoryError, match=r"rows\.jsonl is damaged"):
        directory(tmp_path).rows()


def test_a_full_disk_leaves_no_half_written_file(tmp_path, monkeypatch):
    run = directory(tmp_path)
    steps = run.run()
    next(steps)
    before = visible(tmp_path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DirectoryError, match=r"state\.pt .*No space left.*disk has space"):
        next(steps)
    assert visible(tmp_path) == before


def test_a_run_does_not_go_on_with_other_data(tmp_path, monkeypatch):
    monkeypatch.setattr("augnet.paper.run.file_fingerprint", lambda *_: "0" * 64)
    steps = directory(tmp_path).run()
    next(steps)
    steps.close()
    monkeypatch.setattr("augnet.paper.run.file_fingerprint", lambda *_: "1" * 64)
    with pytest.raises(DirectoryError, match="the data changed since"):
        next(directory(tmp_path).run())


def test_a_run_that_another_process_finished_meanwhile_is_not_trained_again(tmp_path, monkeypatch):
    build = runs.build

    def late(config, seed):
        monkeypatch.setattr(runs, "build", build)
        assert len(list(directory(tmp_path).run())) == 4
        return build(config, seed)

    monkeypatch.setattr(runs, "build", late)
    assert list(directory(tmp_path).run()) == []


def test_a_state_that_does_not_fit_is_named(tmp_path):
    run = directory(tmp_path)
    steps = run.run()
    next(steps)
    steps.close()
    state = run.directory.load_state()
    del state["order"]
    with run.directory.open():
        run.directory.save_state(state)
    with pytest.raises(DirectoryError, match=r"state\.pt does not fit \(KeyError.*begin again"):
        next(directory(tmp_path).run())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trunk.width": -5}, "trunk.sinusoid_cnn: Trying to create tensor with negative"),
        ({"trunk.kernel": 100_000}, r"samples of shape \(1, 1000\) do not fit: .*[Kk]ernel size"),
        ({"augment.layers": [["rotate"]]}, r"do not fit: rotate takes images"),
        ({"scores.invariance": ["nope"]}, "do not fit: unknown transform 'nope'"),
        ({"augment.layers": [["sign_flip"]], "tuner.select": "one"}, "tuner: .* no range to tune"),
        ({"trunk.classes": 2}, "trunk has 2 outputs; the data has 4 classes"),
    ],
)
def test_settings_that_do_not_fit_the_data_are_refused_before_training(tmp_path, changes, message):
    with pytest.raises(config.ConfigError, match=message):
        list(directory(tmp_path / "run", **changes).run())
    assert not (tmp_path / "run").exists()


def test_a_run_that_diverges_ends_with_the_reason(tmp_path):
    with pytest.raises(NonFiniteError, match="lower the learning rate"):
        list(directory(tmp_path / "run", **{"train.lr": 1e30, "train.optimizer": "sgd"}).run())
    assert not directory(tmp_path / "run").directory.path.joinpath("result.json").exists()


@pytest.mark.parametrize("name", ["model.safetensors", "rows.jsonl", "result.json"])
def test_a_flipped_bit_in_a_finished_run_is_noticed(tmp_path, name):
    run = directory(tmp_path / "run", **{"train.epochs": 1})
    list(run.run())
    content = bytearray((run.path / name).read_bytes())
    content[len(content) // 2] ^= 1
    (run.path / name).write_bytes(content)
    with pytest.raises(DirectoryError, match=f"{name} is damaged"):
        run.check()
