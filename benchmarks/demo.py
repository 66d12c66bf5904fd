"""The demo over many seeds: results/demo.json.

With its own penalty and with the paper's, and with one transform drawn per sample in training.

Which transform is selected, and how far from the truth is its range? Resumable: seeds that are in the
file already are not run again.
"""

import argparse
import json
import os
import platform
import runpy
import statistics
import subprocess
import sys
from pathlib import Path

import torch
from rich.progress import track

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "demo.json"


def run(
    demo: dict, seed: int, penalty: str, mixing: str = "weighted", epochs: int = 50
) -> dict[str, object]:
    """Train once; give what was selected and how far it may go."""
    torch.manual_seed(seed)
    data, net = demo["sinusoids"].load(seed), demo["build"]()
    net.augment.mixing = mixing
    transforms = net.augment.transforms
    tail = list(demo["train"](net, data, epochs, penalty))[-demo["TAIL"] :]
    selected = max(range(len(transforms)), key=lambda index: demo["mean"](tail, "weights", index))
    strength = transforms[selected].strength(demo["mean"](tail, "magnitudes", selected))
    return {
        "penalty": penalty,
        "mixing": mixing,
        "seed": seed,
        "selected": transforms[selected].name,
        "weight": round(demo["mean"](tail, "weights", selected), 3),
        "strength": round(strength, 3),
        "unit": transforms[selected].unit,
        "test accuracy": round(demo["accuracy"](net, data.test.x, data.test.y), 3),
    }


def git(*arguments: str) -> str:
    """Ask git."""
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()


def commit() -> str:
    """Say which code this is, and whether it was changed since."""
    changed = git("status", "--porcelain", "--", "augnet", "examples", "benchmarks")
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def save(rows: list[dict[str, object]]) -> None:
    """Write the file at once or not at all."""
    document = {
        "command": "python benchmarks/demo.py",
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}",
        "truth": "frequency_shift, 0.5 Hz",
        "rows": rows,
    }
    draft = RESULTS.with_suffix(".tmp")
    draft.write_text(json.dumps(document, indent=1) + "\n")
    draft.replace(RESULTS)


def main() -> None:
    """Run what is missing and print the summary."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=10)
    seeds = options.parse_args().seeds
    demo = runpy.run_path(str(ROOT / "examples" / "01_sinusoids.py"))
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    known = {(row["penalty"], row["mixing"], row["seed"]) for row in rows}
    settings = [(penalty, "weighted") for penalty in demo["PENALTIES"]] + [("data-space", "drawn")]
    wanted = [(*setting, seed) for setting in settings for seed in range(seeds)]
    missing = [run for run in wanted if run not in known]
    stamp = commit()
    for penalty, mixing, seed in track(missing, "running", disable=not sys.stdout.isatty()):
        rows.append({**run(demo, seed, penalty, mixing), "commit": stamp})
        save(rows)
    for setting in settings:
        mine = [row for row in rows if (row["penalty"], row["mixing"]) == setting]
        right = [row["strength"] for row in mine if row["selected"] == "frequency_shift"]
        print(
            f"{', '.join(setting)}: the right transform in {len(right)} of {len(mine)} seeds",
            end="",
        )
        if right:
            low, middle, high = min(right), statistics.median(right), max(right)
            print(f"; ±{middle:.3f} Hz in the median, {low:.3f} to {high:.3f}", end="")
        print()


if __name__ == "__main__":
    main()
