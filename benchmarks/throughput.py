"""Measure images per second in training for every CIFAR-10 method and for the trunk alone.

    python benchmarks/throughput.py [--width 64] [--threads 1]

Steps are interleaved, and rates are from median times. With one thread, times are processor time,
which does not depend on other processes; else they are wall-clock time. Results go to
results/throughput.json.
"""

import argparse
import json
import os
import platform
import time
from functools import partial
from pathlib import Path

import torch
from recovery_cells import code_commit
from speed import measure

from augnet import AugNet
from augnet.layers import identity
from augnet.paper.config import read, resolve
from augnet.paper.objective import Objective, build_regularizer
from augnet.paper.run import AUGMENTS, make
from augnet.trunks import TRUNKS

RESULTS = Path(__file__).parents[1] / "results" / "throughput.json"
BATCH = 128


def main() -> None:
    """Time one step of each variant, learned augmentations with their initial parameters."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--width", type=int, default=64)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    torch.set_num_threads(given.threads)
    torch.manual_seed(0)
    experiment = read("cifar10")
    x, y = torch.rand(BATCH, 3, 32, 32), torch.randint(10, (BATCH,))
    generator = torch.Generator().manual_seed(0)
    cases = {}
    trunk = make("trunk", TRUNKS, resolve("cifar10", experiment, "none").trunk.model_copy(
        update={"width": given.width}))  # fmt: skip

    def step(objective: Objective) -> None:
        objective.zero_grad()
        values = objective(x, y, generator)
        (values["task"] + 0.1 * values["regularizer"]).backward()

    cases["trunk alone"] = partial(step, Objective(AugNet(identity, trunk), None))
    for variant in experiment.variants:
        config = resolve("cifar10", experiment, variant)
        if config.augment.name != "none":
            augment = make("augment", AUGMENTS, config.augment)
            regularizer = build_regularizer(config.regularizer.name)
            cases[variant] = partial(step, Objective(AugNet(augment, trunk), regularizer))
    alone = given.threads == 1
    rows = list(measure(cases, given.repeats, time.process_time if alone else time.perf_counter))
    for row in rows:
        row["images per second"] = round(1e3 * BATCH / row["ms"], 1)
        row["of the trunk"] = round(rows[0]["ms"] / row["ms"], 3)
        print(f"{row['case']:16s} {row['images per second']:8.1f} images/s"
              f" {row['of the trunk']:6.2f} of the trunk alone")  # fmt: skip
    document = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    document[f"width {given.width}"] = {
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}",
        "clock": "processor time of one thread" if alone else f"wall, {given.threads} threads",
        "commit": code_commit(),
        "rows": rows,
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
