"""Draw the picture of the README: digits at the edge of the range of rotate and beyond, and why.

make demo
python benchmarks/digits_picture.py    # writes docs/_static/digits.png and results/digits.json
"""

import argparse
import json
import os
from pathlib import Path

import torch
from matplotlib.figure import Figure
from recovery_cells import code_commit

from augnet.app.figures import draw_image, steps_of, view_at
from augnet.app.response import draw_response
from augnet.app.style import INK, SOFT
from augnet.app.wording import interval, strength
from augnet.data import load_digits
from augnet.model import load

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "demo-output" / "digits"
DIGITS = (4, 7)
PLACES = {"beyond": "beyond", "edge": "edge of the range", "": ""}


def draw(folder: Path, name: str) -> Figure:
    """Draw samples under a transform above its response curve."""
    row = next(row for row in load(folder).invariances if row.transform.name == name)
    if not row.kept:
        raise SystemExit(f"{name} is {row.status} in {folder}: choose a transform with a range")
    x, y = load_digits()
    x = x[[int((y == digit).nonzero()[0]) for digit in DIGITS]]
    steps = steps_of(row)
    figure = Figure(figsize=(8, 5.6), layout="constrained")
    top, bottom = figure.subfigures(2, height_ratios=(1.25, 1))
    top.suptitle(
        f"{name.capitalize()} keeps the label of a digit within {strength(row)} "
        f"(90 % interval {interval(row)})",
        fontsize=13, color=INK,
    )  # fmt: skip
    axes = top.subplots(len(x), len(steps), squeeze=False)
    for column, step in zip(axes.T, steps, strict=True):
        title = f"{step.title}\n{PLACES[step.place]}" if step.place else step.title
        column[0].set_title(title, fontsize=11, color=INK if step.place else SOFT)
        for axis, image in zip(column, view_at(row, x, step.fraction, 0), strict=True):
            draw_image(axis, image, step.place)
    axis = bottom.subplots()
    draw_response(axis, row)
    axis.set_ylabel("errors added per 100\nheld-out digits")
    axis.set_xlabel(f"{name}, {row.unit}, in either direction")
    axis.tick_params(labelsize=10)
    bottom.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=10)
    return figure


def keep(folder: Path) -> None:
    """Keep the numbers of the page, with the command, the commit and the machine."""
    given = os.environ.get("OMP_NUM_THREADS")
    command = f"make demo OMP_NUM_THREADS={given}" if given else "make demo"
    found = json.loads((folder / "invariances.json").read_text(encoding="utf-8"))
    machine = f"{os.cpu_count()} cores, torch {torch.__version__}"
    kept = {"command": command, "commit": code_commit(), "machine": machine, **found}
    text = json.dumps(kept, indent=1, ensure_ascii=False)
    (ROOT / "results" / "digits.json").write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", nargs="?", type=Path, default=FOLDER)
    options.add_argument("--transform", default="rotate")
    options.add_argument("--out", type=Path, default=ROOT / "docs" / "_static" / "digits.png")
    given = options.parse_args()
    draw(given.folder, given.transform).savefig(given.out, dpi=200, facecolor="white")
    print(f"The picture is {given.out}")
    if given.folder == FOLDER:
        keep(given.folder)
