"""Commands that are killed at random moments, and started again, end as without."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

KILLS = 50
# States are saved after each epoch, not only every half minute: there is more to interrupt.
START = "import augnet.app.job as job; job.SAVE_EVERY = 0; from augnet.__main__ import app; app()"
RULE = """
import torch


def predict(x):
    first = torch.as_tensor(x)[:, 0].abs()
    return torch.stack((0.7 - first, first - 0.7), 1).softmax(1)
"""
SMALL = ("--set", "data.sizes=[64,16,16]", "--set", "net.copies=2", "--set", "trunk.kernel=20")


class Command(NamedTuple):
    """A command, the files that have to be the same, and what in their rows may differ."""

    arguments: tuple[str, ...]
    files: tuple[str, ...]
    timed: tuple[str, ...] = ()


COMMANDS = {
    "learn": Command(
        ("learn", "d.npz", "--transforms", "sign_flip,gaussian_noise", "--budget", "150",
         "--threads", "1"),
        ("model.safetensors", "invariances.json", "history.jsonl"),
    ),
    "audit": Command(
        ("audit", "rule:predict", "d.npz", "--transforms", "sign_flip,gaussian_noise", "--budget",
         "150", "--threads", "1"),
        ("audit.json",),
    ),
    "run": Command(
        ("paper", "run", "sinusoids", "--variant", "one-layer", "--set", "train.epochs=150",
         *SMALL),
        ("model.safetensors", "rows.jsonl"),
    ),
    "search": Command(
        ("paper", "search", "one-layer", "sinusoids", "--set", "train.epochs=150", *SMALL),
        ("points.jsonl",), timed=("seconds",),
    ),
}  # fmt: skip


def start(name: str, folder: Path, out: str) -> subprocess.Popen[bytes]:
    command = (sys.executable, "-c", START, *COMMANDS[name].arguments, "--out", out)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=quiet, stderr=quiet, start_new_session=True
    )


def begun(name: str, folder: Path, out: str) -> subprocess.Popen[bytes]:
    """Start a command, and wait until it writes: before, a kill has nothing to spoil."""
    since = time.time()
    process = start(name, folder, out)
    while process.poll() is None and not is_locked(folder / out, since):
        time.sleep(0.01)
    return process


def is_locked(out: Path, since: float) -> bool:
    """Tell whether a lock was taken; those of killed processes are older."""
    with suppress(FileNotFoundError):  # the command has just ended
        return any(file.stat().st_mtime > since for file in out.rglob(".lock.holder"))
    return False


def content(name: str, out: Path) -> list[bytes | list[dict[str, object]]]:
    """Return what has to be the same."""
    found: list[bytes | list[dict[str, object]]] = []
    _, files, timed = COMMANDS[name]
    for file in files:
        (path,) = out.rglob(file)
        if timed:
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            found.append([{**row, **dict.fromkeys(timed, 0)} for row in rows])
        else:
            found.append(path.read_bytes())
    return found


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_killed_at_any_moment_ends_the_same(name, tmp_path):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(80, 3))
    np.savez(tmp_path / "d.npz", x=x, y=(np.abs(x[:, 0]) > 0.7).astype(int))
    (tmp_path / "rule.py").write_text(RULE)
    process = begun(name, tmp_path, "whole")
    began = time.monotonic()
    assert process.wait() == 0
    seconds = time.monotonic() - began
    whole = content(name, tmp_path / "whole")
    moments, kills = random.Random(0), 0
    while kills < KILLS:
        process = begun(name, tmp_path, "killed")
        try:
            code = process.wait(timeout=moments.uniform(0, seconds))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its workers, too
            process.wait()
            kills += 1
        else:
            assert code == 0
            assert content(name, tmp_path / "killed") == whole
            shutil.rmtree(tmp_path / "killed")
    assert start(name, tmp_path, "killed").wait() == 0
    assert content(name, tmp_path / "killed") == whole
