"""Recover the truth: tasks with known invariances × seeds × methods; results/recovery.*.

One line of results/recovery.jsonl per finished cell, so that a run can be stopped and taken up
again; then a table, results/recovery.json, which holds the cells too, and results/recovery.png.
One process per core. Cells of other commits are kept and named: --afresh runs all again.
"""

import argparse
import json
import math
import multiprocessing
import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import torch
from recovery_methods import METHODS
from recovery_tasks import LIMIT, TASKS, Task

from augnet.training import keep_freed_memory
from augnet.paper.run import commit

ROOT = Path(__file__).parents[1]
LINES = ROOT / "results" / "recovery.jsonl"
COMPARED = ["profile", "none", "oracle", "layers", "paper", "augerino", "grid"]
Cell = dict[str, object]


def wanted(truth: float | str) -> str:
    """Give the right verdict."""
    return "at least" if truth == LIMIT else "within" if truth else "none"


def run(key: tuple[str, str, int]) -> Cell:
    """Run one cell."""
    torch.set_num_threads(1)
    keep_freed_memory()
    method, name, seed = key
    task = next(task for task in TASKS if task.name == name)
    begun = time.perf_counter()
    rows, score = METHODS[method](task, seed)
    return {
        "method": method,
        "task": name,
        "seed": seed,
        "held_out": task.held_out,
        "commit": commit(),
        "seconds": round(time.perf_counter() - begun, 1),
        "score": score,
        "rows": [judge(task, row) for row in rows],
    }


def judge(task: Task, row: dict[str, object]) -> dict[str, object]:
    """Compare one row (transform, verdict, strength, interval) with the truth."""
    names = [transform.name for transform in task.transforms]
    transform, truth = next(
        (transform, truth)
        for transform, truth, name in zip(task.transforms, task.truths, names, strict=True)
        if name == row["transform"]
    )
    row = row | {"truth": truth, "right": row["verdict"] == wanted(truth)}
    if wanted(truth) == "within":
        found, true = float(row["strength"]), float(truth)
        if transform.unit == "times":  # a factor: what counts is its logarithm
            found, true = math.log(max(found, 1e-9)), math.log(true)
        row["error"] = abs(found / true - 1)
        if "interval" in row:
            low, high = row["interval"]
            row["covered"] = low <= float(truth) <= high
    return row


def interval(hits: int, count: int) -> str:
    """Give a rate with its 95 % interval (Wilson)."""
    if not count:
        return "-"
    z, rate = 1.96, hits / count
    center = (rate + z * z / 2 / count) / (1 + z * z / count)
    half = z * math.sqrt(rate * (1 - rate) / count + z * z / 4 / count**2) / (1 + z * z / count)
    return f"{rate:.1%} ({center - half:.1%} to {center + half:.1%}; {hits} of {count})"


def summarize(cells: list[Cell]) -> dict[str, object]:
    """Count verdicts, ranges, intervals and points of accuracy."""
    rows = [row for cell in cells for row in cell["rows"]]
    bounded = [row for row in rows if "error" in row]
    covered = [row for row in bounded if "covered" in row]
    errors = [row["error"] for row in bounded]
    tasks = {task.name: task for task in TASKS}
    truths = [truth for cell in cells for truth in tasks[str(cell["task"])].truths]
    return {
        "cells": len(cells),
        "transforms answered": f"{len(rows)} of {len(truths)}",
        "bounds answered": f"{len(bounded)} of {sum(wanted(t) == 'within' for t in truths)}",
        "verdicts": interval(sum(row["right"] for row in rows), len(rows)),
        "ranges within 10 %": interval(sum(error <= 0.1 for error in errors), len(errors)),
        "median error of ranges": f"{statistics.median(errors):.1%}" if errors else "-",
        "intervals that cover": interval(sum(row["covered"] for row in covered), len(covered)),
        "seconds, median": statistics.median(cell["seconds"] for cell in cells),
    }


def scores(cells: list[Cell]) -> dict[str, dict[str, float]]:
    """Give the mean score per task and method: accuracy, or the part of variance explained."""
    by: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for cell in cells:
        if cell["score"] is not None:
            by[cell["task"]][cell["method"]].append(cell["score"])
    return {
        task: {method: round(statistics.mean(values), 4) for method, values in methods.items()}
        for task, methods in by.items()
    }


def failures(cells: list[Cell]) -> list[str]:
    """List what went wrong in the profile."""
    lines = []
    for cell in cells:
        for row in cell["rows"]:
            if not row["right"] or row.get("error", 0) > 0.1:
                lines.append(
                    f"{cell['task']} seed {cell['seed']}: {row['transform']} {row['verdict']} "
                    f"{row['strength']:.3g}, truth {row['truth']}"
                )
    return lines


def draw(cells: list[Cell], path: Path) -> None:
    """Draw the error of each bounded range of the profile."""
    import matplotlib.pyplot as plt

    points: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        for row in cell["rows"]:
            if "error" in row:
                transform = next(
                    transform
                    for task in TASKS
                    if task.name == cell["task"]
                    for transform in task.transforms
                    if transform.name == row["transform"]
                )
                found, true = float(row["strength"]), float(row["truth"])
                if transform.unit == "times":
                    found, true = math.log(max(found, 1e-9)), math.log(true)
                points[f"{cell['task']}: {row['transform']}"].append(found / true)
    figure, axes = plt.subplots(figsize=(7, 0.28 * len(points) + 1), layout="constrained")
    axes.axvspan(0.9, 1.1, color="0.9")
    for height, (name, ratios) in enumerate(sorted(points.items(), reverse=True)):
        axes.plot([min(ratio, 2) for ratio in ratios], [height] * len(ratios), "o", alpha=0.6)
        axes.text(
            -0.02, height, name, ha="right", va="center", transform=axes.get_yaxis_transform()
        )
    axes.set(yticks=[], xlabel="range found / truth", xlim=(0, 2))
    figure.savefig(path, dpi=120)
    plt.close(figure)


def report(cells: list[Cell]) -> None:
    """Print the table; write the document and the figure."""
    methods = [method for method in METHODS if any(c["method"] == method for c in cells)]
    parts: dict[str, Callable[[Cell], bool]] = {
        "all tasks": lambda cell: True,
        "not looked at": lambda cell: bool(cell["held_out"]),
        "Mario-Iggy and sinusoids": lambda cell: cell["task"] in ("mario-iggy", "sinusoids"),
    }
    document: dict[str, object] = {
        "command": "python benchmarks/recovery.py",
        "commit": " or ".join(sorted({str(cell["commit"]) for cell in cells})),
        "machine": f"{os.cpu_count()} cores, torch {torch.__version__}",
    }
    for method in methods:
        for part, chosen in parts.items():
            mine = [cell for cell in cells if cell["method"] == method and chosen(cell)]
            if mine and any(cell["rows"] for cell in mine):
                summary = summarize(mine)
                document[f"{method}, {part}"] = summary
                print(f"\n{method}, {part}")
                for key, value in summary.items():
                    print(f"  {key:24} {value}")
    document["scores"] = table = scores(cells)
    print(f"\n{'score':24}" + "".join(f"{method:>12}" for method in methods))
    for task, row in table.items():
        print(f"{task:24}" + "".join(f"{row.get(m, math.nan):12.3f}" for m in methods))
    profiles = [cell for cell in cells if cell["method"] == "profile"]
    document["failures of the profile"] = failures(profiles)
    print("\nfailures of the profile", *document["failures of the profile"], sep="\n  ")
    document["cells"] = cells
    (LINES.with_suffix(".json")).write_text(json.dumps(document, indent=1) + "\n")
    if profiles:
        draw(profiles, LINES.with_suffix(".png"))


def kept() -> list[Cell]:
    """Give the cells there are: lines of this machine, or else those of the document."""
    if LINES.exists():
        return [json.loads(line) for line in LINES.read_text().splitlines()]
    document = LINES.with_suffix(".json")
    cells = json.loads(document.read_text())["cells"] if document.exists() else []
    LINES.write_text("".join(json.dumps(cell) + "\n" for cell in cells))
    return cells


def main() -> None:
    """Run what is missing, then report."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=10)
    options.add_argument("--methods", nargs="+", choices=METHODS, default=COMPARED)
    options.add_argument("--tasks", nargs="+", choices=[task.name for task in TASKS])
    options.add_argument("--processes", type=int, default=os.cpu_count())
    options.add_argument("--afresh", action="store_true", help="forget the cells there are")
    options = options.parse_args()
    LINES.parent.mkdir(exist_ok=True)
    if options.afresh:
        LINES.write_text("")
    cells = kept()
    done = {(cell["method"], cell["task"], cell["seed"]) for cell in cells}
    names = options.tasks or [task.name for task in TASKS]
    keys = [
        (method, name, seed)
        for seed in range(options.seeds)
        for method in options.methods
        for name in names
        if (method, name, seed) not in done
    ]
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.processes) as pool, LINES.open("a") as file:
        for number, cell in enumerate(pool.imap_unordered(run, keys), start=1):
            cells.append(cell)
            file.write(json.dumps(cell) + "\n")
            file.flush()
            print(f"{number}/{len(keys)} {cell['method']} {cell['task']} seed {cell['seed']}")
    report(cells)


if __name__ == "__main__":
    main()
