"""Draw figures of runs and records; each function returns None if there is nothing to draw."""

from augnet.paper.report.figures.capacity import capacity
from augnet.paper.report.figures.copies import copies
from augnet.paper.report.figures.curves import interval, over_epochs, seeds_that_select
from augnet.paper.report.figures.maps import heat_map, widths
from augnet.paper.report.figures.samples import samples
from augnet.paper.report.figures.selectivity import selectivity
from augnet.paper.report.figures.sweep import over_sweep

__all__ = [
    "capacity",
    "copies",
    "heat_map",
    "interval",
    "over_epochs",
    "over_sweep",
    "samples",
    "seeds_that_select",
    "selectivity",
    "widths",
]
