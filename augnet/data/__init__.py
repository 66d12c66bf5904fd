"""Data sets, each a module with `load(seed, ...) -> Splits`."""

from collections.abc import Callable

from augnet.data import mario, sinusoids
from augnet.data.splits import Samples, Splits

__all__ = ["DATASETS", "Samples", "Splits"]

DATASETS: dict[str, Callable[..., Splits]] = {
    "mario-iggy": mario.load,
    "sinusoids": sinusoids.load,
}
