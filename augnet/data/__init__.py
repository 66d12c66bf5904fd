"""Data sets, each a module with `load(...) -> Splits`."""

from augnet.data.splits import Samples, Splits

__all__ = ["Samples", "Splits"]
