"""Data sets, each a module with `load(seed, ...) -> Splits`."""

from collections.abc import Callable

from augnet.data import cifar, mario, sinusoids
from augnet.data.splits import Samples, Splits

__all__ = ["DATASETS", "Samples", "Splits"]

DATASETS: dict[str, Callable[..., Splits]] = {
    "cifar10": cifar.load,
    "mario-iggy": mario.load,
    "sinusoids": sinusoids.load,
}
