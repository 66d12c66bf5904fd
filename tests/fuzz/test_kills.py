"""Commands that are killed at random moments, and started again, end as without.

A job is killed again and again until it ends; then another one begins. The moments are spread over
the whole time of the command, and most of that time is for writes: the state is saved after each
epoch. The killed commands are forks of a process that has imported everything (warm_process.py).
Each is a process of its own, and gets a real SIGKILL, with its workers or alone.

What all are compared with, and the last end of a killed job, come from new interpreters.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

KILLS = 50
RULE = """
import torch


def predict(x):
    first = torch.as_tensor(x)[:, 0].abs()
    return torch.stack((0.7 - first, first - 0.7), 1).softmax(1)
"""
LEARN = ("d.npz", "--transforms", "sign_flip,gaussian_noise", "--budget", "12", "--threads", "1")
SMALL = ("--set", "data.sizes=[64,16,16]", "--set", "net.copies=2", "--set", "trunk.kernel=20")


class Command(NamedTuple):
    """A command, the files that have to be the same, and what in their rows may differ."""

    arguments: tuple[str, ...]
    files: tuple[str, ...]
    timed: tuple[str, ...] = ()


def search(method: str, training: int = 2, **options: int) -> Command:
    """Return a search with so many epochs of each training; its points have to be the same."""
    changes = {f"search.options.{method}.{key}": value for key, value in options.items()}
    changes["train.epochs"] = training
    given = [part for key, value in changes.items() for part in ("--set", f"{key}={value}")]
    arguments = ("paper", "search", method, "sinusoids", *given, *SMALL)
    return Command(arguments, ("points.jsonl",), timed=("seconds",))


COMMANDS = {
    "learn": Command(
        ("learn", *LEARN), ("model.safetensors", "invariances.json", "history.jsonl")
    ),
    "audit": Command(("audit", "rule:predict", *LEARN), ("audit.json",)),
    "run": Command(
        ("paper", "run", "sinusoids", "--variant", "one-layer", "--set", "train.epochs=10", *SMALL),
        ("model.safetensors", "rows.jsonl", "result.json"),
    ),
    "search": search("one-layer", training=10),
    "search by gradients": search("adda", epochs=5, pause=1),
    "search by trials": search("autoaugment", trials=3, pause=2),
    "search of folds": search("fast-autoaugment", trials=2, pause=1, folds=2, views=1),
}  # fmt: skip


class Warm:
    """A process that runs commands in forks, and kills them."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self.process, self.folder = process, folder

    def run(
        self, name: str, out: str, seconds: float | None = None, group: bool = True
    ) -> tuple[int | None, float]:
        """Return the exit code of a command, None if it was killed, and its seconds."""
        request = {
            "arguments": [*COMMANDS[name].arguments, "--out", out],
            "folder": str(self.folder),
            "seconds": seconds,
            "group": group,
        }
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        return answer["code"], answer["seconds"]


def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@contextmanager
def warm(folder: Path) -> Iterator[Warm]:
    script = Path(__file__).parents[1] / "warm_process.py"
    command = (sys.executable, script)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment(), stdin=pipe, stdout=pipe, text=True
    ) as process:
        yield Warm(process, folder)
        assert process.stdin is not None
        process.stdin.close()  # it ends


def run_new(name: str, folder: Path, out: str) -> None:
    """Run a command to its end in a new interpreter."""
    command = (sys.executable, "-m", "augnet", *COMMANDS[name].arguments, "--out", out)
    subprocess.run(command, cwd=folder, env=environment(), capture_output=True, check=True)


def content(name: str, out: Path) -> list[bytes | list[dict[str, Any]]]:
    """Return what has to be the same."""
    found: list[bytes | list[dict[str, Any]]] = []
    _, files, timed = COMMANDS[name]
    for file in files:
        (path,) = out.rglob(file)
        if timed:
            rows = [json.loads(line) for line in path.read_text().splitlines()]
            found.append([{**row, **dict.fromkeys(timed, 0)} for row in rows])
        else:
            found.append(path.read_bytes())
    return found


def stage(out: Path) -> str:
    """Tell how far a killed command came."""
    if any(out.rglob(".*.draft")):
        return "within a write"
    manifests = list(out.rglob("manifest.json"))
    if not manifests:
        return "before the first file"
    return "at the end" if json.loads(manifests[0].read_bytes())["finished"] else "between"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_killed_at_any_moment_ends_the_same(name, tmp_path):
    generator = np.random.default_rng(0)
    x = generator.normal(size=(80, 3))
    np.savez(tmp_path / "d.npz", x=x, y=(np.abs(x[:, 0]) > 0.7).astype(int))
    (tmp_path / "rule.py").write_text(RULE)
    run_new(name, tmp_path, "whole")
    whole = content(name, tmp_path / "whole")
    moments, kills, stages, jobs = random.Random(0), 0, Counter(), 0
    with warm(tmp_path) as process:
        code, seconds = process.run(name, "first")
        assert code == 0, (tmp_path / "log.txt").read_text()
        assert content(name, tmp_path / "first") == whole
        while kills < KILLS:
            moment, group = moments.uniform(0, seconds), moments.random() < 0.5
            code, _ = process.run(name, "killed", moment, group)
            if code is None:
                kills += 1
                stages[stage(tmp_path / "killed")] += 1
                continue
            assert code == 0, (tmp_path / "log.txt").read_text()
            assert content(name, tmp_path / "killed") == whole
            shutil.rmtree(tmp_path / "killed")
            jobs += 1
    run_new(name, tmp_path, "killed")
    assert content(name, tmp_path / "killed") == whole
    sys.stdout.write(f"{kills} kills in {jobs + 1} jobs: {dict(stages)}\n")  # pytest -rP shows it
