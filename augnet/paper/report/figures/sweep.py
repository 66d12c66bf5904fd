"""Draw the effect of a swept setting."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augnet.app.style import INK, canvas, color, legend, tidy
from augnet.paper.config import Expect
from augnet.paper.report.records import Record

MAX_LINEAR_RATIO = 10  # of the values; above, the axis is logarithmic


def over_sweep(expect: Expect, records: Sequence[Record]) -> Figure | None:
    """Draw strength and accuracies against the first swept setting: medians, and seeds as dots.

    There is one line per variant and per point of the other settings.
    """
    records = [record for record in records if record.sweep]
    if not records:
        return None
    first = next(iter(records[0].sweep))
    lines: dict[str, list[Record]] = {}
    for record in records:
        rest = {key: value for key, value in record.sweep.items() if key != first}
        lines.setdefault(record.model_copy(update={"sweep": rest}).label, []).append(record)
    place, ticks = _axis([record.sweep[first] for record in records])
    panels = _panels(expect, records)
    figure = canvas(0.5 + 1.7 * len(panels))
    axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for axis, (name, read) in zip(axes, panels.items(), strict=True):
        for number, (label, group) in enumerate(lines.items()):
            _draw(
                axis, group, lambda record: place(record.sweep[first]), read, label, color(number)
            )
        if expect.strength is not None and name.startswith("strength"):
            axis.axhline(expect.strength, color=INK, ls=":", lw=1.2, label="true value")
        axis.set_ylabel(name)
        tidy(axis)
    if _logarithmic(ticks):
        axes[-1].set_xscale("log")
    axes[-1].set_xticks(list(ticks), list(ticks.values()))
    axes[-1].minorticks_off()
    axes[-1].set_xlabel(first)
    legend(figure, *axes)
    return figure


def _panels(
    expect: Expect, records: Sequence[Record]
) -> dict[str, Callable[[Record], float | None]]:
    panels: dict[str, Callable[[Record], float | None]] = {}
    transform = expect.transform
    if transform and any(record.strength(transform) is not None for record in records):
        name = f"strength of\n{transform}, {expect.unit}"
        panels[name] = lambda record: record.strength(transform)
    panels["valid accuracy"] = lambda record: record.valid_accuracy
    panels["test accuracy"] = lambda record: record.test_accuracy
    if copies := max(record.max_copies for record in records):
        name = f"test accuracy over\n{copies} augmented views"
        panels[name] = lambda record: record.accuracy_over("own", copies)
    return panels


def _draw(
    axis: Axes,
    group: Sequence[Record],
    place: Callable[[Record], float],
    read: Callable[[Record], float | None],
    label: str,
    tint: str,
) -> None:
    points: dict[float, list[float]] = {}
    for record in group:
        if (value := read(record)) is not None:
            points.setdefault(place(record), []).append(value)
    places = sorted(points)
    axis.plot(places, [statistics.median(points[at]) for at in places], "o-", lw=1.8, ms=5,
              label=label, color=tint)  # fmt: skip
    for at in places:
        axis.plot([at] * len(points[at]), points[at], ".", ms=4, color=tint, alpha=0.5)


def _axis(values: Sequence[Any]) -> tuple[Callable[[Any], float], dict[float, str]]:
    """Return the position of each value on an axis, and the tick labels: numbers or names."""
    if all(isinstance(value, int | float) for value in values):
        return float, {float(value): f"{value:g}" for value in sorted(set(values))}
    names = list(dict.fromkeys(map(_name, values)))
    return lambda value: float(names.index(_name(value))), dict(enumerate(names))


def _name(value: Any) -> str:
    """Name a value; a list, such as a schedule, has one entry per line: labels are narrow."""
    return "\n".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _logarithmic(ticks: Mapping[float, str]) -> bool:
    """Whether an axis should be logarithmic."""
    return min(ticks) > 0 and max(ticks) / min(ticks) > MAX_LINEAR_RATIO
