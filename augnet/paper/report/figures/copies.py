"""Draw accuracy and time against the number of copies C (figures B.5b and B.6)."""

import statistics
from collections.abc import Iterable, Sequence

from matplotlib.figure import Figure

from augnet.app.style import INK, canvas, color, legend, tidy
from augnet.paper.report.records import Record
from augnet.paper.report.tables import by_label


def copies(records: Sequence[Record]) -> Figure | None:
    """Draw accuracy against the number of views, dotted for plain samples; and time, if known."""
    groups = by_label(record for record in records if record.scored)
    if not groups:
        return None
    timed = any(record.times for record in records)
    figure = canvas(6.2 if timed else 3.6)
    axes = figure.subplots(1 + timed, sharex=True, squeeze=False)[:, 0]
    for number, (label, group) in enumerate(groups.items()):
        own = _medians(
            (row.copies, row.accuracy)
            for record in group for row in record.scored if row.views == "own"
        )  # fmt: skip
        plain = [row.accuracy for record in group for row in record.scored if row.views == "plain"]
        style = {"lw": 1.6, "ms": 4, "color": color(number)}
        axes[0].plot(list(own), list(own.values()), "o-", label=label, **style)
        axes[0].axhline(statistics.median(plain), color=color(number), ls=":", lw=1.2)
        times = _medians((row.copies, row.time) for record in group for row in record.times)
        if times:
            axes[1].plot(list(times), list(times.values()), "o-", **style)
    axes[0].set_ylabel("test accuracy")
    if timed:
        axes[1].axhline(1, color=INK, ls="--", lw=1.2, label="trunk alone")
        axes[1].set_yscale("log")
        axes[1].set_ylabel("time of a pass,\nin passes of the trunk")
    ticks = sorted({row.copies for record in records for row in record.scored})
    axes[-1].set_xscale("log")
    axes[-1].set_xticks(ticks, [str(tick) for tick in ticks])
    if timed:
        axes[1].set_yticks(ticks, [str(tick) for tick in ticks])
    for axis in axes:
        axis.minorticks_off()
        tidy(axis)
    axes[-1].set_xlabel("copies at test, C")
    legend(figure, *axes)
    return figure


def _medians(points: Iterable[tuple[int, float]]) -> dict[int, float]:
    """Return the median for each number of copies, in ascending order."""
    known: dict[int, list[float]] = {}
    for count, value in points:
        known.setdefault(count, []).append(value)
    return {count: statistics.median(known[count]) for count in sorted(known)}
