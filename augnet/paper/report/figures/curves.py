"""Draw curves over the epochs."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augnet.app.style import INK, canvas, color, legend, tidy
from augnet.paper.report.runs import Epoch, Run
from augnet.paper.report.tables import by_label

Value: TypeAlias = Callable[[Epoch], float | None]
DrawSeeds: TypeAlias = Callable[[Axes, Sequence[Run], Value, str, str], None]

MAX_CURVES = 6  # in one panel
SOLID: dict[str, Any] = {"lw": 1.8, "alpha": 0.9}
DASHED: dict[str, Any] = {"lw": 1.0, "alpha": 0.4, "ls": (0, (2, 2))}


def over_epochs(
    runs: Sequence[Run],
    value: Value,
    label: str,
    truth: float | None = None,
    draw_seeds: DrawSeeds | None = None,
) -> Figure | None:
    """Draw a value over the epochs, one color per variant; skip variants without the value.

    `draw_seeds` draws the seeds of a variant; the default is `band`.
    """
    groups = {
        name: group
        for name, group in by_label(runs).items()
        if all(value(run.epochs[-1]) is not None for run in group)
    }
    if not groups:
        return None
    panels = _panels(list(by_label(runs)))
    shown = [panel for panel in panels if any(name in groups for name in panels[panel].values())]
    rows = -(-len(shown) // 2)
    figure = canvas(3.2 if len(shown) == 1 else 0.4 + 1.9 * rows)
    axes = figure.subplots(rows, min(2, len(shown)), sharex=True, sharey=True, squeeze=False)
    lines = list(dict.fromkeys(line for panel in panels.values() for line in panel))
    for axis, panel in zip(axes.flat, shown, strict=False):
        for line, name in panels[panel].items():
            if name in groups:
                tint = color(lines.index(line))
                (draw_seeds or band)(axis, groups[name], value, line, tint)
        if truth is not None:
            axis.axhline(truth, color=INK, ls=":", lw=1.2, label="true value")
        axis.set_title(panel)
        tidy(axis)
    for axis in axes[-1]:
        axis.set_xlabel("epoch")
    figure.supylabel(label, fontsize="medium")
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    legend(figure, *axes.flat)
    return figure


def band(
    axis: Axes, runs: Sequence[Run], value: Value, label: str, tint: str, coverage: float = 1.0
) -> None:
    """Draw the median over the seeds that reached an epoch, and an interval around it."""
    table = np.full((len(runs), max(len(run.epochs) for run in runs)), np.nan)
    for curve, run in zip(table, runs, strict=True):
        curve[: len(run.epochs)] = [value(epoch) for epoch in run.epochs]
    epochs = np.arange(1, table.shape[1] + 1)
    axis.plot(epochs, np.nanmedian(table, axis=0), lw=2, label=label, color=tint)
    tail = (1 - coverage) / 2
    low, high = np.nanquantile(table, [tail, 1 - tail], axis=0)
    axis.fill_between(epochs, low, high, color=tint, alpha=0.15, lw=0)


def interval(coverage: float) -> DrawSeeds:
    """Return a function that draws the median and an interval with a share of the seeds."""
    return partial(band, coverage=coverage)


def seeds_that_select(transform: str) -> DrawSeeds:
    """Return a function that draws seeds that select the transform solid, and others dashed."""

    def draw_seeds(axis: Axes, runs: Sequence[Run], value: Value, label: str, tint: str) -> None:
        axis.plot([], [], lw=2, label=label, color=tint)
        for run in runs:
            curve = np.array([value(epoch) for epoch in run.epochs], dtype=float)
            style = SOLID if run.selects(transform) else DASHED
            axis.plot(range(1, len(curve) + 1), curve, color=tint, **style)

    return draw_seeds


def _panels(names: list[str]) -> dict[str, dict[str, str]]:
    """Assign curves to panels: title -> line -> variant.

    Points of a sweep get one panel per variant. Many variants with names such as `augnet-2x1` get
    one panel per ending.
    """
    panels: dict[str, dict[str, str]] = {}
    if any(", " in name for name in names):
        for name in names:
            panel, _, line = name.partition(", ")
            panels.setdefault(panel, {})[line or "no sweep"] = name
    elif len(names) > MAX_CURVES and all("-" in name for name in names):
        for name in names:
            line, _, panel = name.rpartition("-")
            panels.setdefault(panel.replace("x", " × "), {})[line] = name
    return panels or {"": {name: name for name in names}}
