"""What copies are worth: accuracy against C at inference (figure B.6b)."""

import statistics
from collections.abc import Sequence

from matplotlib.figure import Figure

from augnet.report.figures.style import canvas, colour, legend, tidy
from augnet.report.records import Record
from augnet.report.tables import by_label


def copies(records: Sequence[Record]) -> Figure | None:
    """Draw accuracy against the number of own views, and as a dotted line that of plain samples."""
    groups = by_label(record for record in records if record.scored)
    if not groups:
        return None
    figure = canvas(3.6)
    axis = figure.subplots()
    for number, (label, group) in enumerate(groups.items()):
        own: dict[int, list[float]] = {}
        for row in (row for record in group for row in record.scored if row.views == "own"):
            own.setdefault(row.copies, []).append(row.accuracy)
        plain = [row.accuracy for record in group for row in record.scored if row.views == "plain"]
        medians = [statistics.median(values) for values in own.values()]
        axis.plot(list(own), medians, "o-", lw=1.6, ms=4, label=label, color=colour(number))
        axis.axhline(statistics.median(plain), color=colour(number), ls=":", lw=1.2)
    ticks = sorted({row.copies for record in records for row in record.scored})
    axis.set_xscale("log")
    axis.set_xticks(ticks, [str(tick) for tick in ticks])
    axis.minorticks_off()
    axis.set(xlabel="copies at test, C", ylabel="test accuracy")
    tidy(axis)
    legend(figure, axis)
    return figure
