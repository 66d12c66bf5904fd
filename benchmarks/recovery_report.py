"""Compare the answers of benchmarks/recovery.py with the truth; tables and figures."""

import math
import statistics
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from recovery_cells import Cell
from recovery_forms import CLEAN, RANDOM, REAL_LIFE
from recovery_tasks import LIMIT, TASKS, UNCLEAR, Task, Truth

from augnet.transforms import Transform

Row = dict[str, Any]
COLUMNS = (
    "right status", "unclear", "wrong of confident", "within 10 %", "within 15 %",
    "within 15 % of given", "covered", "seconds", "cells", "answers", "ranges",
)  # fmt: skip


def wanted(truth: Truth) -> str:
    """Return the right status."""
    if truth == UNCLEAR:
        return UNCLEAR
    return "reached_limit" if truth == LIMIT else "bounded" if truth else "not_invariant"


def judge_all(task: Task, rows: Sequence[Row], failed: bool = False) -> list[Row]:
    """Compare rows with the truths of a task; a row without a truth has none of the verdict's keys.

    A failed cell has no rows: each of its truths counts as a wrong answer.
    """
    names = {
        each.name: (each, truth) for each, truth in zip(task.transforms, task.truths, strict=True)
    }
    if failed:
        nothing = {"status": "failed", "strength": 0.0}
        rows = [nothing | {"transform": name} for name in names]
    return [judge(row, *names[row["transform"]]) for row in rows]


def judge(row: Row, transform: Transform, truth: Truth | None) -> Row:
    """Compare one row (transform, status, strength, interval) with the truth.

    `unclear` is not right where there is a truth. Such a row gives no range, hence has no ratio.
    """
    if truth is None:
        return row
    row = row | {"truth": truth, "right": row["status"] == wanted(truth)}
    if wanted(truth) == "bounded" and row["status"] != UNCLEAR:
        row["ratio"] = ratio(float(row["strength"]), float(truth), transform.unit)
        if "interval" in row:
            low, high = row["interval"]
            row["covered"] = low <= float(truth) <= high
    return row


def ratio(measured: float, true: float, unit: str) -> float:
    """Return a measured strength as a multiple of the true one; factors by their logarithms."""
    if unit == "times":
        return math.log(max(measured, 1.0)) / math.log(true)
    return measured / true


def judged(cells: Sequence[Cell]) -> list[Row]:
    """Return the rows whose truth is known."""
    return [row for cell in cells for row in cell["rows"] if "truth" in row]


def count(cells: Sequence[Cell]) -> dict[str, tuple[int, int]]:
    """Count what is right, of how many."""
    rows = judged(cells)
    confident = [row for row in rows if row["status"] != UNCLEAR]
    ranges = [row for row in rows if wanted(row["truth"]) == "bounded"]
    given = [row for row in ranges if "ratio" in row]
    covered = [row["covered"] for row in given if "covered" in row]
    within = {part: sum(abs(row["ratio"] - 1) <= part for row in given) for part in (0.1, 0.15)}
    return {
        "right status": (sum(row["right"] for row in rows), len(rows)),
        "unclear": (len(rows) - len(confident), len(rows)),
        "wrong of confident": (sum(not row["right"] for row in confident), len(confident)),
        "within 10 %": (within[0.1], len(ranges)),
        "within 15 %": (within[0.15], len(ranges)),
        "within 15 % of given": (within[0.15], len(given)),
        "covered": (sum(covered), len(covered)),
    }


def summarize(cells: Sequence[Cell]) -> dict[str, Any]:
    """Return the columns of one line of the table; rates are None if nothing was counted."""
    counts = count(cells)
    rates = {key: round(hits / of, 6) if of else None for key, (hits, of) in counts.items()}
    return rates | {
        "seconds": statistics.median(cell["seconds"] for cell in cells),
        "cells": len(cells),
        "answers": counts["right status"][1],
        "ranges": counts["within 15 %"][1],
        "failures": sum("failure" in cell for cell in cells),
    }


def table_of_forms(cells: Sequence[Cell]) -> dict[str, dict[str, Any]]:
    """Summarize each form, then the real-life forms together, with and without noisy inputs."""
    forms = [form for form in (CLEAN, *REAL_LIFE, RANDOM) if any(c["form"] == form for c in cells)]
    groups = {form: [cell for cell in cells if cell["form"] == form] for form in forms}
    groups["real-life forms"] = [cell for cell in cells if cell["form"] in REAL_LIFE]
    groups["real-life, not noisy"] = [
        cell for cell in groups["real-life forms"] if cell["form"] != "noisy"
    ]
    held_out = {task.name for task in TASKS if task.held_out}
    groups["clean, held-out tasks"] = [c for c in groups.get(CLEAN, []) if c["task"] in held_out]
    return {name: summarize(group) for name, group in groups.items() if group}


def confident_in_noise(cells: Sequence[Cell]) -> dict[str, str]:
    """Count confident answers where there is nothing to learn."""
    noise = [cell for cell in cells if cell["form"] == RANDOM]
    rows = judged(noise)
    wrong = [cell for cell in noise if any(not row["right"] for row in judged([cell]))]
    return {
        "confident answers": f"{sum(not row['right'] for row in rows)} of {len(rows)}",
        "cells with a confident answer": f"{len(wrong)} of {len(noise)}",
    }


def equal_in_all(cells: Sequence[Cell]) -> str:
    """Count answers of the form "all" that equal those of the clean task, where both were run.

    They must: an answer does not depend on which other transforms are offered.
    """
    clean = {(c["task"], c["seed"]): c["rows"] for c in cells if c["form"] == CLEAN}
    equal = []
    for cell in cells:
        if cell["form"] == "all" and (cell["task"], cell["seed"]) in clean:
            found = {row["transform"]: row for row in cell["rows"]}
            equal += [row == found[row["transform"]] for row in clean[cell["task"], cell["seed"]]]
    return f"{sum(equal)} of {len(equal)}"


def print_table(table: dict[str, dict[str, Any]]) -> None:
    """Print one line per form."""

    def cell(value: object) -> str:
        return "-" if value is None else f"{value:.1%}" if isinstance(value, float) else f"{value}"

    print(f"{'':24}" + "".join(f"{column:>{len(column) + 3}}" for column in COLUMNS))
    for name, line in table.items():
        shown = line | {"seconds": f"{line['seconds']:.0f}"}
        print(f"{name:24}" + "".join(f"{cell(shown[c]):>{len(c) + 3}}" for c in COLUMNS))


def scores(cells: Sequence[Cell]) -> dict[str, dict[str, float]]:
    """Return the mean score per task and method, clean: accuracy, or the variance explained."""
    by: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if cell["score"] is not None and cell["form"] == CLEAN:
            by[cell["task"]][cell["method"]].append(cell["score"])
    return {
        task: {method: round(statistics.mean(values), 4) for method, values in methods.items()}
        for task, methods in by.items()
    }


def wrong_answers(cells: Sequence[Cell]) -> list[str]:
    """List wrong statuses, ranges that are off by more than 15 %, and cells that failed."""
    lines = []
    for cell in cells:
        where = f"{cell['task']}, {cell['form']}, seed {cell['seed']}"
        if "failure" in cell:
            lines.append(f"{where}: {cell['failure']}")
            continue
        for row in judged([cell]):
            if not row["right"] or abs(row.get("ratio", 1) - 1) > 0.15:
                low, high = row.get("interval", (math.nan, math.nan))
                answer = f"{row['status']} {row['strength']:.3g} ({low:.3g} to {high:.3g})"
                line = f"{where}: {row['transform']} {answer}, truth {row['truth']}"
                lines.append(f"{line} {row.get('reason', '')}".strip())
    return lines


def draw(cells: Sequence[Cell], path: Path) -> None:
    """Draw the statuses of each form and its ranges."""
    import matplotlib.pyplot as plt

    forms = [form for form in (CLEAN, *REAL_LIFE, RANDOM) if any(c["form"] == form for c in cells)]
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9, 0.4 * len(forms) + 1.4), layout="constrained", sharey=True
    )
    right.axvspan(0.85, 1.15, color="0.9")
    for height, form in enumerate(forms):
        rows = judged([cell for cell in cells if cell["form"] == form])
        parts = [sum(row["right"] for row in rows) / len(rows)]
        parts.append(sum(row["status"] == UNCLEAR and not row["right"] for row in rows) / len(rows))
        parts.append(1 - sum(parts))
        for index, (color, label) in enumerate(
            (("tab:green", "right"), ("0.75", "unclear"), ("tab:red", "wrong"))
        ):
            name = None if height else label
            left.barh(height, parts[index], left=sum(parts[:index]), color=color, label=name)
        ratios = [min(row["ratio"], 2) for row in rows if "ratio" in row]
        heights = [height + 0.3 * math.sin(7 * index) for index in range(len(ratios))]
        right.plot(ratios, heights, ".", alpha=0.5)
    left.set(yticks=range(len(forms)), yticklabels=forms, xlabel="answers", xlim=(0, 1))
    left.invert_yaxis()
    figure.legend(loc="outside upper center", ncols=3)
    right.set(xlabel="measured range / truth", xlim=(0, 2.05))
    figure.savefig(path, dpi=120)
    plt.close(figure)
