"""Recover known invariances: tasks × forms × seeds × methods; results/recovery.*.

    python benchmarks/recovery.py --seeds 5 --forms all-forms    # learn in every form: hours
    python benchmarks/recovery.py --scores                       # its nets too, on clean tasks
    python benchmarks/recovery.py --report                       # tables of what is finished

One line of results/recovery.jsonl per finished cell, so that a run can be stopped and resumed; then
tables, results/recovery.json, which holds the cells too, and results/recovery.png. One process per
core, one thread each.
"""

import argparse
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from recovery_cells import RESULTS, SEARCH, Cell, CellFile, Key, refuse_mixed
from recovery_forms import CLEAN, FORMS, NOISE_TASKS, names_of, task_in
from recovery_methods import METHODS, Outcome, learn_without_net
from recovery_report import (
    confident_in_noise,
    draw,
    equal_in_all,
    judge_all,
    print_table,
    scores,
    table_of_forms,
    wrong_answers,
)
from recovery_tasks import TASKS, Task

MINE = tuple(f"benchmarks/recovery_{name}.py" for name in ("tasks", "forms", "methods"))
FILE = CellFile("recovery", ("method", "task", "form", "seed"), code=(*SEARCH, *MINE))
ALL_FORMS = "all-forms"


def run(key: Key) -> Cell:
    """Run one cell, without the net of `learn`."""
    return run_with(METHODS | {"learn": learn_without_net}, key)


def run_with_scores(key: Key) -> Cell:
    """Run one cell."""
    return run_with(METHODS, key)


def run_with(methods: Mapping[str, Callable[[Task, int], Outcome]], key: Key) -> Cell:
    """Run one cell by one of the methods."""
    method, name, form, seed = key
    rows, score = methods[method](task_in(form, name), seed)
    return {"score": score, "rows": rows}


def keys(options: argparse.Namespace) -> list[Key]:
    """List the cells that are asked for, in the order in which they are run."""
    forms = list(FORMS) if ALL_FORMS in options.forms else options.forms
    return [
        (method, name, form, seed)
        for seed in range(options.seeds)
        for form in forms
        for method in options.methods
        for name in names_of(form)
        if not options.tasks or name in options.tasks
    ]


def judged_cells(cells: list[Cell]) -> list[Cell]:
    """Compare the rows of all cells with the truth, which is not stored twice."""
    cells = [cell | {"form": cell.get("form", CLEAN)} for cell in cells]
    tasks = {(form, name): task_in(form, name) for form, name in set(map(place, cells))}
    return [
        cell | {"rows": judge_all(tasks[place(cell)], cell["rows"], "failure" in cell)}
        for cell in cells
    ]


def place(cell: Cell) -> tuple[str, str]:
    """Return the form and the task of a cell."""
    return cell["form"], cell["task"]


def command(cells: list[Cell]) -> str:
    """Return the command that runs these cells."""
    methods = " ".join(
        f'"{m}"' if " " in m else m for m in METHODS if m in distinct(cells, "method")
    )
    forms = " ".join(form for form in FORMS if form in distinct(cells, "form"))
    seeds = 1 + max(distinct(cells, "seed"), default=-1)
    return f"recovery.py --methods {methods} --forms {forms} --seeds {seeds}"


def distinct(cells: list[Cell], field: str) -> set[Any]:
    """Return the values of a field."""
    return {cell[field] for cell in cells}


def report(cells: list[Cell]) -> None:
    """Print the tables; write the document and the figure."""
    cells = judged_cells(cells)
    methods = [method for method in METHODS if any(c["method"] == method for c in cells)]
    document: dict[str, Any] = {"forms": {}}
    for method in methods:
        mine = [cell for cell in cells if cell["method"] == method]
        if any(cell["rows"] for cell in mine):
            print(f"\n{method}")
            document["forms"][method] = table = table_of_forms(mine)
            print_table(table)
    ours = [cell for cell in cells if cell["method"] == "learn"]
    document["random labels"] = confident_in_noise(ours)
    print("\nrandom labels:", document["random labels"])
    document["equal if all are offered"] = equal_in_all(ours)
    print("answers that are the same if all are offered:", document["equal if all are offered"])
    document["scores"] = table = scores(cells)
    print(f"\n{'score':24}" + "".join(f"{method:>12}" for method in methods))
    for task, row in table.items():
        print(f"{task:24}" + "".join(f"{row.get(m, math.nan):12.3f}" for m in methods))
    document["wrong answers of learn"] = wrong_answers(ours)
    print("\nwrong answers of learn", *document["wrong answers of learn"], sep="\n  ")
    FILE.write(command(cells), document, cells)
    if ours:
        draw(ours, RESULTS / "recovery.png")


def main() -> None:
    """Run what is missing, then report."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--methods", nargs="+", choices=METHODS, default=["learn"])
    options.add_argument("--forms", nargs="+", choices=[*FORMS, ALL_FORMS], default=[CLEAN])
    options.add_argument("--tasks", nargs="+", choices=[t.name for t in (*TASKS, *NOISE_TASKS)])
    options.add_argument("--processes", type=int, default=os.cpu_count())
    options.add_argument("--scores", action="store_true", help="train the net of learn, too")
    options.add_argument("--restart", action="store_true", help="remove existing cells")
    options.add_argument("--report", action="store_true", help="run nothing, rebuild the tables")
    options.add_argument("--mix-commits", action="store_true", help="allow cells of other commits")
    options = options.parse_args()
    if options.restart:
        FILE.restart()
    if not options.report:
        function = run_with_scores if options.scores else run
        FILE.run_missing(function, keys(options), options.processes, options.mix_commits)
    cells = FILE.read()
    refuse_mixed(cells, options.mix_commits)
    report(cells)


if __name__ == "__main__":
    main()
