"""The demo over many seeds: results/demo.json.

Which transform is selected, and how far from the truth is its range? With the edge rule, as the
demo uses it, with the regularizer of the paper, and by the loop of the README, which keeps all
transforms. Seeds that are in the file already are not run again.
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

from augnet import AugNet

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "demo.json"
README = "RangeTuner(net.augment)"  # the code that its loop is known by


def run(demo: dict, seed: int, objective: str, epochs: int = 50) -> dict[str, object]:
    """Train once; return the selected transform and its strength."""
    torch.manual_seed(seed)
    data, net = demo["sinusoids"].load(seed), demo["build"]()
    if objective == README:
        net = follow_readme(seed)
    else:
        list(demo["train"](net, data, epochs, objective))
    layer = net.augment if objective != README else net.augment[0]
    index = 0 if objective == README else int(layer.weights.argmax())  # there all are kept
    transform = layer.transforms[index]
    return {
        "objective": objective,
        "seed": seed,
        "selected": transform.name,
        "weight": round(layer.weights[index].item(), 3),
        "strength": round(float(transform.strength(layer.magnitudes[index].item())), 3),
        "unit": transform.unit,
        "test accuracy": round(demo["accuracy"](net, data.test.x, data.test.y), 3),
    }


def follow_readme(seed: int) -> AugNet:
    """Run the loop of the README on the data of a seed."""
    blocks = (ROOT / "README.md").read_text(encoding="utf-8").split("```python\n")[1:]
    (block,) = (block.split("```")[0] for block in blocks if README in block)
    names: dict[str, object] = {}
    exec(block.replace("sinusoids.load()", f"sinusoids.load({seed})"), names)
    net = names["net"]
    assert isinstance(net, AugNet)
    return net


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
    known = {(row["objective"], row["seed"]) for row in rows}
    objectives = (README, *demo["OBJECTIVES"])
    wanted = [(objective, seed) for objective in objectives for seed in range(seeds)]
    missing = [run for run in wanted if run not in known]
    stamp = commit()
    for objective, seed in track(missing, "running", disable=not sys.stdout.isatty()):
        rows.append({**run(demo, seed, objective), "commit": stamp})
        save(rows)
    for objective in objectives:
        mine = [row for row in rows if row["objective"] == objective]
        right = [row["strength"] for row in mine if row["selected"] == "frequency_shift"]
        print(
            f"{objective}: the right transform in {len(right)} of {len(mine)} seeds",
            end="",
        )
        if right:
            low, middle, high = min(right), statistics.median(right), max(right)
            print(f"; ±{middle:.3f} Hz in the median, {low:.3f} to {high:.3f}", end="")
        print()


if __name__ == "__main__":
    main()
