"""Draw the capacity study: figures 5 and B.4 of the paper."""

import statistics
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augnet.app.style import canvas, color, legend, tidy
from augnet.paper.report.records import Measured, Record

FLOOR = -0.5  # invariance has no lower bound: values below are cut off


def capacity(records: Sequence[Record]) -> Figure | None:
    """Draw invariance and accuracy against the trunk, for each method and number of copies."""
    points: dict[str, dict[str, list[Measured]]] = {}
    for record in records:
        method, _, size = record.label.rpartition("-")
        for row in record.measured:
            label = method if len(record.measured) == 1 else f"{method}, C = {row.copies}"
            points.setdefault(label, {}).setdefault(size, []).append(row)
    if not points:
        return None
    sizes = list(dict.fromkeys(size for method in points.values() for size in method))
    figure = canvas(5.8)
    top, bottom = figure.subplots(2, sharex=True)
    for number, (method, found) in enumerate(points.items()):
        shift = 0.13 * (number - (len(points) - 1) / 2)  # so that bars do not overlap
        for axis, key in ((top, "invariance"), (bottom, "accuracy")):
            _draw(axis, [found.get(size, []) for size in sizes], key, shift, method, number)
    top.set_ylim(FLOOR, 1.08)
    for axis, key in ((top, "invariance (eq. 4)"), (bottom, "test accuracy")):
        axis.set_ylabel(key)
        axis.set_xticks(range(len(sizes)), [size.replace("x", " × ") for size in sizes])
        tidy(axis)
    bottom.set_xlabel("neurons × layers")
    legend(figure, top)
    return figure


def _draw(
    axis: Axes, table: list[list[Measured]], key: str, shift: float, label: str, number: int
) -> None:
    tint = color(number)
    places = np.arange(len(table)) + shift
    middle = [_median([getattr(row, key) for row in rows]) for rows in table]
    axis.plot(places, middle, "o-", lw=1.8, ms=6, label=label, color=tint)
    for place, rows in zip(places, table, strict=True):
        values = [getattr(row, key) for row in rows]
        axis.plot([place] * len(values), values, ".", ms=4, color=tint, alpha=0.5)
        if key == "invariance" and rows:
            low, high = (_median([getattr(row, end) for row in rows]) for end in ("low", "high"))
            axis.vlines(place, max(low, FLOOR), high, color=tint, lw=1, alpha=0.25)


def _median(values: list[float]) -> float:
    return statistics.median(values) if values else float("nan")
