"""The style of all figures."""

import io
from typing import NamedTuple

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

INK, SOFT, LINE = "#1c2430", "#5d6b7c", "#e6eaef"
# The colors of Okabe and Ito, which color-blind readers can distinguish, and a few more.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9",
           "#8c564b", "#7f7f7f", "#6a3d9a", "#b15928", "#1b9e77", "#444444")  # fmt: skip


LETTERS = 70  # in a row of a legend
WIDTH = 4.7  # inches: half a page on a desktop; on a phone, letters are 9 pixels or more


def canvas(height: float) -> Figure:
    """Create a figure of a height in inches."""
    return Figure(figsize=(WIDTH, height), layout="constrained")


def color(number: int) -> str:
    """Return the color of a line by its number."""
    return COLORS[number % len(COLORS)]


def tidy(axis: Axes) -> None:
    """Style an axis: no frame, a light grid."""
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color(SOFT)
    axis.tick_params(colors=SOFT, labelsize=9)
    axis.xaxis.label.set_color(INK)
    axis.yaxis.label.set_color(INK)
    axis.grid(axis="y", color=LINE, lw=0.8)
    axis.set_axisbelow(True)


def legend(figure: Figure, *axes: Axes) -> None:
    """Add one legend for all axes below the figure, and make the figure higher for it."""
    known = [axis.get_legend_handles_labels() for axis in axes]
    lines = {text: handle for found in known for handle, text in zip(*found, strict=True)}
    columns = max(1, min(3, len(lines), LETTERS // (max(map(len, lines), default=0) + 7)))
    figure.set_figheight(figure.get_figheight() + 0.22 * -(-len(lines) // columns))
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=columns,
                  frameon=False, fontsize=9)  # fmt: skip


def svg(figure: Figure, name: str) -> str:
    """Return a figure as SVG for a page; ids contain a hash of `name`, to be unique in the page.

    Names from data may have dollar signs: text is never read as a formula.
    """
    file = io.StringIO()
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    with matplotlib.rc_context({"svg.hashsalt": name, "text.parse_math": False}):
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    written = file.getvalue()
    return written[written.index("<svg") :]


class Drawn(NamedTuple):
    """A figure with its title and caption."""

    name: str
    title: str
    caption: str
    figure: Figure

    @property
    def svg(self) -> str:
        """The figure as SVG."""
        return svg(self.figure, self.name)
