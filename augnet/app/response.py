"""Draw the response curve of a transform: the error that each strength adds."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augnet.app.style import INK, SOFT, canvas, color, legend, tidy
from augnet.app.wording import with_unit
from augnet.learn.result import Invariance
from augnet.transforms import Bernoulli, Multiplicative

HEIGHT = 2.6
LEAST = 5.0
"""The vertical axis reaches at least this far, in points: less is hard to tell from noise."""


def response(row: Invariance, classes: bool) -> Figure | None:
    """Draw the error that each strength adds, and the range; None if nothing was measured."""
    if not row.response:
        return None
    figure = canvas(HEIGHT)
    axis = figure.subplots()
    unit = "points" if classes else "% of the spread"
    if isinstance(row.transform, Bernoulli):
        _bars(axis, row)
        axis.set_xlabel(f"error added, in {unit}")
    else:
        draw_response(axis, row)
        axis.set_ylabel(f"error added, in {unit}")
        legend(figure, axis)
    return figure


def draw_response(axis: Axes, row: Invariance) -> None:
    """Draw the curve, and where the range ends with its interval."""
    strengths = [strength for strength, _ in row.response]
    added = [100 * value for _, value in row.response]
    none = float(row.transform.strength(0.0))
    if row.kept:
        low, high = row.interval
        text = f"the label is kept, to {with_unit(row, row.strength)}"
        axis.axvspan(none, row.strength, color=color(2), alpha=0.13, lw=0, label=text)
        axis.axvline(row.strength, color=INK, lw=1.2)
    if row.kept and low < high:
        text = f"90 % interval of its end, {low:.3g} to {with_unit(row, high)}"
        axis.axvspan(low, high, facecolor="none", edgecolor=SOFT, hatch="///", lw=0, label=text)
    axis.plot(strengths, added, "o-", ms=4, lw=1.8, color=color(0), label="held-out samples")
    axis.axhline(0, color=SOFT, lw=0.8)
    bottom, top = axis.get_ylim()
    axis.set_ylim(min(-0.5, bottom), max(LEAST, top))
    axis.set_xlim(left=none)
    axis.set_xlabel(_strength_label(row))
    tidy(axis)


def _strength_label(row: Invariance) -> str:
    if isinstance(row.transform, Multiplicative):
        return "strength, as a factor"
    return f"strength, part {row.unit}" if row.unit.startswith("of ") else f"strength, {row.unit}"


def _bars(axis: Axes, row: Invariance) -> None:
    """Draw the error of samples as they are and of transformed ones."""
    names = ["as they are", row.transform.name]
    values = [round(100 * value, 1) + 0.0 for _, value in row.response]
    bars = axis.barh(names, values, height=0.5, color=[SOFT, color(0)])
    axis.bar_label(bars, fmt="{:+.1f}", padding=4, fontsize=9, color=INK)
    axis.invert_yaxis()
    axis.axvline(0, color=SOFT, lw=0.8)
    axis.set_xlim(min(-1.0, 1.2 * min(values)), max(LEAST, 1.2 * max(values)))
    tidy(axis)
    axis.grid(False)
