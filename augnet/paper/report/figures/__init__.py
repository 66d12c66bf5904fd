"""Figures as pure functions of runs: each gives a figure, or None if there is nothing to draw."""

from augnet.paper.report.figures.capacity import capacity
from augnet.paper.report.figures.copies import copies
from augnet.paper.report.figures.curves import interval, over_epochs, seeds_that_select
from augnet.paper.report.figures.grid import over_grid
from augnet.paper.report.figures.maps import heat_map, widths
from augnet.paper.report.figures.samples import samples

__all__ = [
    "capacity",
    "copies",
    "heat_map",
    "interval",
    "over_epochs",
    "over_grid",
    "samples",
    "seeds_that_select",
    "widths",
]
