"""Data sets of the paper, each a module with `load(seed, ...) -> Splits`."""

import sys
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

from augnet.paper.datasets import cifar, mario, sinusoids, sleep
from augnet.paper.datasets.splits import Samples, Splits
from augnet.training import fingerprint

__all__ = ["DATASETS", "Samples", "Splits", "describe", "file_fingerprint"]

DATASETS: dict[str, Callable[..., Splits]] = {
    "cifar10": cifar.load,
    "mario-iggy": mario.load,
    "sinusoids": sinusoids.load,
    "sleep": sleep.load,
}


def describe(spec: Mapping[str, Any]) -> str:
    """Describe the data of a config's `[data]` table in a few words."""
    arguments = dict(spec)
    module = sys.modules[DATASETS[arguments.pop("name")].__module__]
    if hasattr(module, "describe"):
        return str(module.describe(**arguments))
    return (module.__doc__ or "").splitlines()[0].rstrip(".")


def file_fingerprint(spec: Mapping[str, Any], splits: Splits) -> str | None:
    """Return the fingerprint of data that is read from files; None if it is generated.

    Settings and seed decide generated data. Its last bits differ between processors, so that a
    fingerprint would refuse to resume a run on another machine.
    """
    generated = {
        "sinusoids": True,
        "mario-iggy": spec.get("images") is None,
        "sleep": spec.get("source", "synthetic") == "synthetic",
    }
    return None if generated.get(spec["name"]) else fingerprint(*chain(*splits))
