"""Made-up runs, as the report reads them, and their directories."""

import json
import math
from pathlib import Path

from augnet.paper.config import read, resolve
from augnet.paper.report.runs import Epoch, Run
from augnet.training import ResumableDirectory


def state(layer, name, weight, magnitude, strength, unit=""):
    return {
        "layer": layer,
        "name": name,
        "weight": weight,
        "magnitude": magnitude,
        "strength": strength,
        "unit": unit,
    }


def row(epoch, shift, noise, weight=0.8):
    return {
        "epoch": epoch,
        "loss": 0.1,
        "task": 0.1,
        "regularizer": 0.0,
        "train_accuracy": 0.9,
        "valid_accuracy": 0.8,
        "test_accuracy": 0.9,
        "transforms": [
            state(1, "frequency_shift", weight, shift / 2, shift, "Hz"),
            state(1, "gaussian_noise", 1 - weight, noise, noise, "std"),
        ],
        "invariance": {},
    }


def epochs(*rows):
    return [Epoch.from_row(each) for each in rows]


def settings(variant="one-layer", protocol="ours", **changed):
    config = resolve("sinusoids", read("sinusoids"), variant, protocol=protocol, changes=changed)
    return json.loads(config.model_dump_json())


def run(variant="one-layer", seed=0, config=None, **options):
    found = epochs(*(row(n, 0.4 + 0.01 * n, 0.1, **options) for n in range(10)))
    versions = {"commit": "abc", "machine": "a desk"}
    return Run(Path(), config or settings(variant), seed, found, [], versions, found[-1])


def augerino(seed=0):
    scores = {"task": 1.0, "valid_accuracy": 0.5, "test_accuracy": 0.5}
    widths = {"rotate": math.pi / 2, "scale": 0.2}
    states = [state(1, name, None, width, width) for name, width in widths.items()]
    found = epochs(*[scores | {"transforms": states}] * 4)
    return run(seed=seed)._replace(epochs=found, kept=found[-1])


def swept(seed=0, variant="one-layer", **point):
    point = {key.replace("_", "."): value for key, value in point.items()}
    return run(variant, seed, config=settings(variant, **point) | {"sweep": point})


def write_run(path, rows, config=None, seed=0, result=None):
    """Write a run directory as the trainer does; with a result, the run is finished."""
    directory = ResumableDirectory(path, "run", {"config": config or settings(), "seed": seed})
    with directory.open(commit="abc", machine="a desk"):
        directory.write({"rows.jsonl": "".join(json.dumps(each) + "\n" for each in rows)})
        if result is not None:
            directory.finish({"result.json": json.dumps(result)})
    return directory


def write_search(path, method, config, points, seed=0, finished=True):
    """Write a search directory with points of passes, validation score and test score."""
    settings = {"method": method, "config": config, "seed": seed}
    lines = [{"passes": p, "seconds": p / 9, "valid": v, "test": t} for p, v, t in points]
    directory = ResumableDirectory(path, "search", settings)
    write = directory.finish if finished else directory.write
    with directory.open(commit="abc"):
        write({"points.jsonl": "".join(json.dumps(line) + "\n" for line in lines)})
    return directory
