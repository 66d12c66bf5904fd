"""Where runs go: several processes share a batch, and a cluster may lose its workers."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from augnet import AugmentationLayer, AugmentationModule, AugNet, WeightedNorm, build_transforms
from augnet.paper import config
from augnet.paper.config import ConfigError, Regularization, Training
from augnet.paper.datasets import Samples, Splits
from augnet.paper.launch import Machine, complete
from augnet.paper.run import RunDirectory
from augnet.paper.train import Trainer
from augnet.training import DirectoryError
from augnet.trunks import MLP

SIZE, WEIGHT = 15, 0.3  # an odd number: two processes have unequal shares
CHANGES = {"train.epochs": 3, "data.sizes": [37, 16, 16], "trunk.kernel": 20, "net.copies": 2}


def small_net():
    torch.manual_seed(0)
    layer = AugmentationLayer(*build_transforms(["frequency_shift", "gaussian_noise"], sfreq=100))
    return AugNet(AugmentationModule(layer), MLP(inputs=50, neurons=8, layers=1), copies=1)


def samples():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(SIZE, 1, 50, generator=generator)
    return Samples(x, torch.randint(4, (SIZE,), generator=generator))


def one_step(fabric):
    """Take one step over one batch; give the gradients and the row."""
    settings = Training(epochs=1, batch_size=SIZE, optimizer="sgd", lr=1e-9)
    splits = Splits(samples(), samples(), samples())
    regularization = Regularization(name="weighted_norm", weight=WEIGHT)
    trainer = Trainer(small_net(), splits, settings, regularization, seed=3, fabric=fabric)
    (row,) = trainer
    return {name: each.grad.numpy() for name, each in trainer.net.named_parameters()}, row


def test_two_processes_have_the_gradients_of_one_with_the_whole_batch():
    gradients, row = Machine(devices=2, threads=1).fabric().launch(one_step)
    net, (x, y) = small_net().train(), samples()
    batch = torch.randperm(SIZE, generator=torch.Generator().manual_seed(3))
    shares = [batch[0::2], batch[1::2]]
    generators = [torch.Generator().manual_seed(3 + 1 + 1_000_003 * rank) for rank in range(2)]
    outputs = torch.cat([net(x[rows], own) for rows, own in zip(shares, generators, strict=True)])
    answers = y[torch.cat(shares)]
    task = F.cross_entropy(outputs, answers)
    (task + WEIGHT * WeightedNorm()(net.augment)).backward()
    expected = {name: each.grad.numpy() for name, each in net.named_parameters()}
    assert set(gradients) == set(expected)
    assert all(abs(gradient).sum() > 0 for gradient in gradients.values())
    for name, gradient in gradients.items():
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-4, atol=1e-6)
    assert row["task"] == pytest.approx(task.item(), rel=1e-5)
    right = (outputs.argmax(1) == answers).float().mean().item()
    assert row["train_accuracy"] == pytest.approx(right)


def directory(path: Path, **changes) -> RunDirectory:
    experiment = config.read("sinusoids")
    settings = config.resolve("sinusoids", experiment, "one-layer", changes=CHANGES | changes)
    return RunDirectory(path, settings, 0)


def command(*options: str) -> list[str]:
    changes = [f"--set={key}={json.dumps(value)}" for key, value in CHANGES.items()]
    return ["-m", "augnet", "paper", "run", "sinusoids", "--variant=one-layer", *changes, *options]


def interrupted(fabric, path: Path) -> None:
    """Stop a run after its first epoch, and go on with it."""
    steps = directory(path).run(fabric)
    next(steps)
    steps.close()
    assert len(list(directory(path).run(fabric))) == 2


def test_torchrun_resumes_and_ends_like_two_devices(tmp_path):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    group = subprocess.run(
        [*torchrun, *command(f"--out={tmp_path / 'group'}")],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert group.returncode == 0, group.stderr
    assert group.stdout.count("one-layer") == 1  # one process speaks
    Machine(devices=2, threads=1).fabric().launch(partial(interrupted, path=tmp_path / "two"))
    first = tmp_path / "group" / "sinusoids" / "ours" / "one-layer" / "seed-0"
    assert (first / "rows.jsonl").read_text() == (tmp_path / "two" / "rows.jsonl").read_text()
    assert json.loads((first / "manifest.json").read_text())["about"]["processes"] == "2"


def test_mistakes_of_several_processes_are_one_line(tmp_path):
    steps = directory(tmp_path).run()
    next(steps)
    steps.close()
    with pytest.raises(DirectoryError, match=r"state\.pt .*of 1 processes, not 2.*begin again$"):
        complete(tmp_path, directory(tmp_path).config, 0, Machine(devices=2, threads=1))


def test_a_machine_says_what_it_cannot_do():
    cores = torch.cuda.device_count() or os.cpu_count()
    with pytest.raises(ConfigError, match=f"--devices 512: this machine has {cores} "):
        Machine(devices=512)
    with pytest.raises(ConfigError, match="unknown precision 'bf16'"):
        Machine(precision="bf16")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match="needs a GPU"):
            Machine(precision="16-mixed")


def test_lower_precision_is_for_trunks(tmp_path):
    """Transforms refuse bfloat16, so that a run which ends has kept it from them."""
    fabric = Machine(precision="bf16-mixed").fabric()
    lowered = list(directory(tmp_path / "low", **{"train.epochs": 1}).run(fabric))
    full = list(directory(tmp_path / "full", **{"train.epochs": 1}).run())
    assert lowered[0]["task"] != full[0]["task"]
    assert lowered[0]["task"] == pytest.approx(full[0]["task"], rel=0.1)
    made = json.loads((tmp_path / "low" / "manifest.json").read_text())
    assert made["about"]["precision"] == "bf16-mixed"


def assert_alike(row: Any, other: Any) -> None:
    """Compare rows, whose numbers may differ in the last digits."""
    if isinstance(row, dict):
        assert row.keys() == other.keys()
        row, other = list(row.values()), list(other.values())
    if isinstance(row, list):
        for mine, its in zip(row, other, strict=True):
            assert_alike(mine, its)
    else:
        assert row == pytest.approx(other)


def workers_of(run: str) -> list[int]:
    """Return the processes in which Ray performs runs."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = entry.read_bytes().decode(errors="replace")
        except OSError:  # it is gone
            continue
        if re.match(rf"ray::{run}", text):
            found.append(int(entry.parent.name))
    return found


@pytest.mark.timeout(900)
def test_a_ray_cluster_runs_a_grid_and_survives_a_killed_worker(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'augnet[cluster]'")
    if not Path("/proc").exists():
        pytest.skip("workers are found through /proc")
    process = subprocess.Popen(
        [sys.executable, *command("--ray=local", "--sweep=train.lr=0.01,0.02",
                                  "--set=train.epochs=12", f"--out={tmp_path / 'ray'}")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    places = {
        rate: tmp_path / "ray" / "sinusoids" / "ours" / f"one-layer,train.lr={rate}" / "seed-0"
        for rate in (0.01, 0.02)
    }
    killed: list[int] = []
    while process.poll() is None and not killed:
        time.sleep(0.01)
        if any((place / "rows.jsonl").exists() for place in places.values()):
            killed = workers_of("_run_on_worker")[:1]
            for worker in killed:
                os.kill(worker, signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert killed
    for rate, place in places.items():
        whole = RunDirectory(
            tmp_path / f"whole-{rate}",
            config.resolve(
                "sinusoids", config.read("sinusoids"), "one-layer",
                changes=CHANGES | {"train.epochs": 12}, sweep={"train.lr": rate},
            ),
            0,
        )  # fmt: skip
        torch.set_num_threads(1)
        rows = list(whole.run())
        found = [json.loads(line) for line in (place / "rows.jsonl").read_text().splitlines()]
        assert len(found) == len(rows) == 12
        for mine, other in zip(found, rows, strict=True):
            assert_alike(mine, other)
        assert {file.name for file in place.iterdir() if file.name[0] != "."} == {
            "manifest.json", "rows.jsonl", "model.safetensors", "result.json",
        }  # fmt: skip
