"""Runs as the report reads them, made up."""

import json
import math
from pathlib import Path

from augnet.paper.config import read, resolve
from augnet.paper.report.runs import Run


def row(epoch, shift, noise, weight=0.8):
    return {
        "epoch": epoch,
        "task": 0.1,
        "valid_accuracy": 0.8,
        "test_accuracy": 0.9,
        "layer1.frequency_shift.weight": weight,
        "layer1.frequency_shift.magnitude": shift / 2,
        "layer1.frequency_shift.strength": shift,
        "layer1.gaussian_noise.weight": 1 - weight,
        "layer1.gaussian_noise.magnitude": noise,
        "layer1.gaussian_noise.strength": noise,
    }


def settings(variant="one-layer", protocol="ours", **changed):
    config = resolve("sinusoids", read("sinusoids"), variant, protocol=protocol, changes=changed)
    return json.loads(config.model_dump_json())


def run(variant="one-layer", seed=0, config=None, **options):
    rows = [row(epoch, 0.4 + 0.01 * epoch, 0.1, **options) for epoch in range(10)]
    versions = {"commit": "abc", "machine": "a desk"}
    return Run(Path(), config or settings(variant), seed, rows, [], versions, rows[-1])


def augerino(seed=0):
    rows = [
        {"task": 1.0, "valid_accuracy": 0.5, "test_accuracy": 0.5}
        | {"augerino.rotate.width": math.pi / 2, "augerino.scale.width": 0.2}
    ] * 4
    return run(seed=seed)._replace(rows=rows, kept=rows[-1])


def swept(seed=0, variant="one-layer", **point):
    point = {key.replace("_", "."): value for key, value in point.items()}
    return run(variant, seed, config=settings(variant, **point) | {"sweep": point})
