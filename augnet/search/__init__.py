"""Policies learned outside of the net: each search is a generator of ever better policies.

>>> from augnet.search import SEARCHES
>>> ", ".join(SEARCHES)
'randaugment, trivialaugment, autoaugment, fast-autoaugment, faster-autoaugment, dada, adda, cadda'
"""

from collections.abc import Callable
from typing import Any

from augnet.search.adda import adda, cadda
from augnet.search.autoaugment import autoaugment
from augnet.search.dada import dada
from augnet.search.fast import fast_autoaugment
from augnet.search.faster import faster_autoaugment
from augnet.search.fixed import randaugment, trivialaugment
from augnet.search.space import RelaxedPolicy, as_table
from augnet.search.task import Found, Point, Search, Task, metered, points

__all__ = [
    "SEARCHES", "Found", "Point", "RelaxedPolicy", "Search", "Task", "as_table", "metered",
    "points",
]  # fmt: skip

SEARCHES: dict[str, Callable[..., Any]] = {
    "randaugment": randaugment,
    "trivialaugment": trivialaugment,
    "autoaugment": autoaugment,
    "fast-autoaugment": fast_autoaugment,
    "faster-autoaugment": faster_autoaugment,
    "dada": dada,
    "adda": adda,
    "cadda": cadda,
}
