"""Data sets of the paper, each a module with `load(seed, ...) -> Splits`."""

import sys
from collections.abc import Callable, Mapping
from typing import Any

from augnet.paper.datasets import cifar, mario, sinusoids, sleep
from augnet.paper.datasets.splits import Samples, Splits

__all__ = ["DATASETS", "Samples", "Splits", "describe"]

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
