"""Policies learned outside of the net: each search is a generator of ever better policies.

>>> from augnet.paper.search import SEARCHES
>>> ", ".join(SEARCHES)
'randaugment, trivialaugment, autoaugment, fast-autoaugment, faster-autoaugment, dada, adda, cadda'
"""

from collections.abc import Callable
from typing import Any

from augnet.paper.search.adda import adda, cadda
from augnet.paper.search.autoaugment import autoaugment
from augnet.paper.search.dada import dada
from augnet.paper.search.fast import fast_autoaugment
from augnet.paper.search.faster import faster_autoaugment
from augnet.paper.search.fixed import randaugment, trivialaugment
from augnet.paper.search.space import RelaxedPolicy, as_table
from augnet.paper.search.task import Found, Point, Search, Task, metered, points

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
