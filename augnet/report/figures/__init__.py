"""Figures as pure functions of runs: each gives a figure, or None if there is nothing to draw."""

from augnet.report.figures.capacity import capacity
from augnet.report.figures.copies import copies
from augnet.report.figures.curves import interval, over_epochs, seeds_that_select
from augnet.report.figures.grid import over_grid
from augnet.report.figures.maps import heat_map, widths
from augnet.report.figures.samples import samples

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
