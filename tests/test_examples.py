"""The examples run, as a reader would run them."""

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


PAGES = {
    f"{page} {number}": block.split("```")[0]
    for page in ("README.md", "docs/in-your-loop.md")
    for number, block in enumerate(
        (ROOT / page).read_text(encoding="utf-8").split("```python\n")[1:], start=1
    )
}


@pytest.mark.parametrize("block", PAGES)
def test_the_pages_are_true(block, tmp_path):
    if "pytorch_lightning" in PAGES[block]:
        pytest.importorskip("pytorch_lightning")
    run(["-c", PAGES[block]], tmp_path)
