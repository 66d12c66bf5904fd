"""Ranges of classes and directions where they are known, and of digits: results/by-class.json.

A class is right if its status is, and its strength is within 20 % of the truth. Where no strength
is allowed, `unclear` is right, too. Resumable: what is in the file already is not run again, unless
it ran at another commit.

    python benchmarks/by_class.py --seeds 5
    python benchmarks/by_class.py --tasks digits --seeds 1
"""

import argparse
import json
import os
import platform
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from by_class_tasks import TASKS, Task, Truth, build
from recovery_tasks import LIMIT

from augnet.data import load_digits
from augnet.learn import LearnConfig, Learner
from augnet.learn.parts import PartRange
from augnet.paper.run import commit

RESULTS = Path(__file__).parents[1] / "results" / "by-class.json"
WITHIN = 0.2
"""How far a strength may be from the truth, as a fraction of it."""
DIGITS = {
    "digits, rotate": build("rotate", limit=180.0),
    "digits, translate_x": build("translate_x", limit=0.5),
    "digits, horizontal_flip": build("horizontal_flip"),
}


def is_right(part: PartRange, truth: Truth) -> bool:
    """Whether a range agrees with its truth."""
    if truth == LIMIT:
        return part.status == "reached_limit"
    if not truth:
        return part.status in ("not_invariant", "unclear")
    return part.status == "bounded" and abs(part.strength / float(truth) - 1) <= WITHIN


def measure(x: torch.Tensor, y: torch.Tensor, transform: Any, seed: int, classes: bool) -> Any:
    """Measure the ranges of a transform; no net is trained."""
    config = LearnConfig(by_class=classes, curves=True, seed=seed, threads=1)
    learner = Learner(x, y, [transform], config=config)
    for _ in learner:
        if learner.search.finished:
            break
    return learner.invariances[0]


def run(name: str, seed: int) -> dict[str, Any]:
    """Measure a task with one seed."""
    task = TASKS.get(name)
    x, y = task.draw(seed) if task else load_digits()
    transform = task.transform if task else DIGITS[name]
    directions = bool(task and task.directions)
    row = measure(x, y, transform, seed, not directions)
    parts = row.by_direction if directions else row.by_class
    result = {
        "task": name,
        "seed": seed,
        "transform": transform.name,
        "all": str(row),
        "parts": [asdict(part) for part in parts],
        "commit": commit(),
    }
    return result | (judge(task, parts) if task else {})


def judge(task: Task, parts: tuple[PartRange, ...]) -> dict[str, Any]:
    """Compare ranges with the truth; directions that do not differ have none."""
    right = {
        part.name: is_right(part, task.truths[part.name]) if task.truths else False
        for part in parts
    }
    whole = all(right.values()) and len(parts) == len(task.truths)
    return {"held_out": task.held_out, "truths": task.truths, "right": right, "all_right": whole}


def describe(part: dict[str, Any]) -> str:
    """Write a range in a few characters."""
    if part["status"] in ("unclear", "not_invariant"):
        return f"{part['name']}: {'?' if part['status'] == 'unclear' else 'no'}"
    low, high = part["interval"]
    return f"{part['name']}: {part['strength']:.3g} ({low:.3g} to {high:.3g})"


def main() -> None:
    """Run tasks with seeds, and write each result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--tasks", default="", help="words of their names, separated by commas")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    done = json.loads(given.out.read_text()) if given.out.exists() else {"runs": []}
    done["command"] = "python benchmarks/by_class.py"
    done["machine"] = f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}"
    done["runs"] = [run for run in done["runs"] if run["commit"] == commit()]
    known = {(run["task"], run["seed"]) for run in done["runs"]}
    words = [word for word in given.tasks.split(",") if word]
    for seed in range(given.first, given.first + given.seeds):
        for name in (*TASKS, *DIGITS):
            if (name, seed) in known or (words and not any(word in name for word in words)):
                continue
            start = time.process_time()
            row = run(name, seed) | {"cpu_seconds": round(time.process_time() - start, 1)}
            mark = {True: "right", False: "WRONG", None: ""}[row.get("all_right")]
            print(mark, name, seed, *map(describe, row["parts"]), row["all"], flush=True)
            done["runs"].append(row)
            given.out.write_text(f"{json.dumps(done, indent=1)}\n")


if __name__ == "__main__":
    main()
