"""The demo over many seeds: results/demo.json.

Which transform is selected, and how far from the truth is its range? With the regularizer of the
demo, with that of the paper, and with one transform drawn per sample in training. Seeds that are in
the file already are not run again.
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
    demo: dict, seed: int, regularizer: str, mixing: str = "weighted", epochs: int = 50
) -> dict[str, object]:
    """Train once; return the selected transform and its strength."""
    torch.manual_seed(seed)
    data, net = demo["sinusoids"].load(seed), demo["build"]()
    net.augment.mixing = mixing
    transforms = net.augment.transforms
    tail = list(demo["train"](net, data, epochs, regularizer))[-demo["TAIL"] :]
    selected = max(range(len(transforms)), key=lambda index: demo["mean"](tail, "weights", index))
    strength = transforms[selected].strength(demo["mean"](tail, "magnitudes", selected))
    return {
        "regularizer": regularizer,
        "mixing": mixing,
        "seed": seed,
        "selected": transforms[selected].name,
        "weight": round(demo["mean"](tail, "weights", selected), 3),
        "strength": round(strength, 3),
        "unit": transforms[selected].unit,
        "test accuracy": round(demo["accuracy"](net, data.test.x, data.test.y), 3),
    }


def git(*arguments: str) -> str:
    """Return the output of a git command."""
    return subprocess.check_output(["git", *arguments], cwd=ROOT, text=True).strip()


def commit() -> str:
    """Return the commit of this code, and whether it was changed since."""
    changed = git("status", "--porcelain", "--", "augnet", "examples", "benchmarks")
    return git("rev-parse", "--short", "HEAD") + ("-dirty" if changed else "")


def save(rows: list[dict[str, object]]) -> None:
    """Write the file atomically."""
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
    """Run the missing seeds and print a summary."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=10)
    seeds = options.parse_args().seeds
    demo = runpy.run_path(str(ROOT / "examples" / "01_sinusoids.py"))
    rows = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else []
    known = {(row["regularizer"], row["mixing"], row["seed"]) for row in rows}
    settings = [(regularizer, "weighted") for regularizer in demo["CHOICES"]] + [
        ("data_space_norm", "drawn")
    ]
    wanted = [(*setting, seed) for setting in settings for seed in range(seeds)]
    missing = [run for run in wanted if run not in known]
    stamp = commit()
    for regularizer, mixing, seed in track(missing, "running", disable=not sys.stdout.isatty()):
        rows.append({**run(demo, seed, regularizer, mixing), "commit": stamp})
        save(rows)
    for setting in settings:
        mine = [row for row in rows if (row["regularizer"], row["mixing"]) == setting]
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
