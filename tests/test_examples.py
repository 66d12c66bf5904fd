"""The examples run, as a reader would run them."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(code: list[str], folder: Path) -> str:
    environment = os.environ | {"MPLBACKEND": "agg", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, *code], cwd=folder, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example, tmp_path):
    options = ["--epochs", "2"] if example.stem == "01_sinusoids" else []
    assert run([str(example), *options], tmp_path).strip()


def test_the_demo_shows_what_was_learned(tmp_path):
    said = run([str(EXAMPLES[0]), "--epochs", "1", "--out", "here"], tmp_path)
    assert "frequency_shift" in said
    assert "±0.500 Hz" in said
    picture = (tmp_path / "here" / "sinusoids.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_demo_finds_the_truth(tmp_path):
    for seed in range(3):
        said = run([str(EXAMPLES[0]), "--seed", str(seed)], tmp_path)
        row = next(line for line in said.splitlines() if line.startswith("│ frequency_shift"))
        _, _, weight, learned, *_ = (cell.strip() for cell in row.split("│"))
        assert float(weight) > 0.9
        assert 0.4 < float(learned.removeprefix("±").split()[0]) < 0.6


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text(encoding="utf-8")
    return [block.split("```")[0] for block in text.split("```python\n")[1:]]


PAGES = {
    f"{page} {number}": block
    for page in ("README.md", "docs/in-your-loop.md")
    for number, block in enumerate(blocks(page), start=1)
}


@pytest.mark.timeout(3600)  # some learn for a minute on an idle machine, and longer on a busy one
@pytest.mark.parametrize("block", PAGES)
def test_the_pages_are_true(block, tmp_path):
    if "pytorch_lightning" in PAGES[block]:
        pytest.importorskip("pytorch_lightning")
    run(["-c", PAGES[block]], tmp_path)


IMAGES = """
import numpy as np, torch
x, y = torch.rand(64, 1, 8, 8), torch.arange(64) % 2
x[y == 1, :, :4] += 1
x_new, speakers = x[:4], np.arange(64) // 4
"""
SIGNALS = """
import numpy as np
windows = np.random.default_rng(0).normal(size=(64, 4, 100)).astype("float32")
stages, subjects = np.arange(64) % 2, np.arange(64) // 8
windows[stages == 1] *= 3
"""
LEARNED = """
import numpy as np
from typer.testing import CliRunner
from augnet.__main__ import app
x, y = np.random.default_rng(0).normal(size=(64, 4)).astype("float32"), np.arange(64) % 2
x[y == 1] += 2
np.savez("data.npz", x=x, y=y)
command = ["learn", "data.npz", "--transforms", "sign_flip", "--budget", "2"]
assert CliRunner().invoke(app, command).exit_code == 0
"""
ONNX = (
    LEARNED
    + """
command = ["export", "learned/", "--to", "onnx", "--out", "model.onnx", "--copies", "2"]
assert CliRunner().invoke(app, command).exit_code == 0
"""
)
NET = """
import torch
import torch.nn.functional as F
from augnet import AugmentationLayer, AugmentationModule, AugNet, WeightedNorm
from augnet.transforms import Rotate
x, y = torch.rand(8, 1, 8, 8), torch.arange(8) % 2
trunk = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
net = AugNet(AugmentationModule(AugmentationLayer(Rotate())), trunk, copies=2)
"""
MODEL = f"""
{IMAGES}
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 2))
"""
DRIFT = f"""
{MODEL}
import kornia.augmentation as K
from types import SimpleNamespace
# torchvision and audiomentations are not here: something that is called in the same way.
v2 = SimpleNamespace(RandomRotation=lambda degrees: K.RandomRotation(degrees, p=1.0))
class Gain:
    def __init__(self, min_gain_db, max_gain_db, p):
        self.factor = 10 ** (max_gain_db / 20)
    def __call__(self, samples, sample_rate):
        return samples * self.factor
import importlib, sys
sys.path.insert(0, {str(ROOT / "examples")!r})
Drift = importlib.import_module("02_your_own_transform").Drift
"""
SETUPS = {  # what a page takes for granted
    "docs/audit.md": MODEL,
    "docs/export.md": ONNX,
    "docs/files.md": f"{LEARNED}\nimport torch\nx = torch.tensor(x)",
    "docs/gpu-and-cluster.md": IMAGES,
    "docs/objective.md": NET,
    "docs/your-own-data.md": IMAGES,
    "docs/your-own-eeg.md": SIGNALS,
    "docs/your-own-transform.md": DRIFT,
}
ELSEWHERE = {"docs/in-your-loop.md", "docs/start.md"}  # block by block above; tests/test_site.py
OTHERS = sorted(
    page
    for page in (file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").rglob("*.md"))
    if "_build" not in page and page not in ELSEWHERE and blocks(page)
)
PATIENT = (pytest.mark.slow, pytest.mark.timeout(3600))
SLOW = {"docs/audit.md", "docs/gpu-and-cluster.md", "docs/your-own-transform.md"}
"""These start Ray, or learn for minutes."""
OPTIONAL = ("onnxruntime", "ray", "torchvision")
"""What a block may need that is not everywhere; tests/export runs torchvision's by itself."""


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=PATIENT if page in SLOW else ()) for page in OTHERS],
)
def test_a_page_is_true_from_top_to_bottom(page, tmp_path):
    parts = [SETUPS.get(page, "")]
    for block in blocks(page):
        needed = [name for name in OPTIONAL if f"import {name}" in block or f"from {name}" in block]
        if all(map(importlib.util.find_spec, needed)):
            parts.append(block)
    run(["-c", "\n".join(parts)], tmp_path)
