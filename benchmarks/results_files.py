"""What the pages of results of benchmarks share: files, counts with intervals, lists."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Kept = dict[str, Any]


def read(folder: Path, name: str) -> Kept:
    """Read a file of results."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def made_at(kept: Kept) -> str:
    """Name the commit and the machine."""
    commits = kept.get("commit") or " or ".join(sorted({run["commit"] for run in kept["runs"]}))
    return f"Commit {commits}; machine: {kept.get('machine', 'not in the file')}."


def share(hits: int, of: int, what: str = "") -> str:
    """Write a count, of what, with the 90 % interval of its rate (Wilson)."""
    if not of:
        return "-"
    z = 1.645
    rate, square = hits / of, z * z / of
    half = z * math.sqrt(rate * (1 - rate) / of + square / (4 * of))
    low, high = ((rate + square / 2 + side * half) / (1 + square) for side in (-1, 1))
    return f"{hits} of {of}{what} ({100 * low:.0f} to {100 * high:.0f} %)"


def count(line: Kept, key: str, of: str) -> str:
    """Return a rate of the table of recovery as a count."""
    return "-" if line[key] is None else share(round(line[key] * line[of]), line[of])


def seeds_of(cells: Sequence[Kept]) -> str:
    """Return the number of seeds as text."""
    number = len({cell["seed"] for cell in cells})
    return f"{number} seed{'' if number == 1 else 's'}"


def lines_of(items: Sequence[str]) -> str:
    """Return a list in Markdown."""
    return "\n".join(f"- {item}" for item in items)


def seen(folder: Path, file: str) -> str:
    """Return the address of a figure, as seen from docs/results/."""
    return f"../../{folder.name}/{file}"
