"""Search policies outside of the net: each search yields ever better policies.

>>> from augnet.paper.search import SEARCHES
>>> ", ".join(SEARCHES)
'randaugment, trivialaugment, autoaugment, fast-autoaugment, faster-autoaugment, dada, adda, cadda'
"""

from collections.abc import Callable
from typing import Any

from augnet.paper.search.adda import ADDA, CADDA
from augnet.paper.search.autoaugment import autoaugment
from augnet.paper.search.curves import FoundPolicy, Point, SearchCurve, TrainingCurve, with_cost
from augnet.paper.search.dada import DADA
from augnet.paper.search.fast import fast_autoaugment
from augnet.paper.search.faster import FasterAutoAugment
from augnet.paper.search.fixed import randaugment, trivialaugment
from augnet.paper.search.gradient import GradientSearch
from augnet.paper.search.space import RelaxedPolicy, as_table
from augnet.paper.search.task import Task

__all__ = [
    "SEARCHES",
    "FoundPolicy",
    "GradientSearch",
    "Point",
    "RelaxedPolicy",
    "SearchCurve",
    "Task",
    "TrainingCurve",
    "as_table",
    "with_cost",
]

SEARCHES: dict[str, Callable[..., Any]] = {
    "randaugment": randaugment,
    "trivialaugment": trivialaugment,
    "autoaugment": autoaugment,
    "fast-autoaugment": fast_autoaugment,
    "faster-autoaugment": FasterAutoAugment,
    "dada": DADA,
    "adda": ADDA,
    "cadda": CADDA,
}
