"""What a `RangeTuner` found, as records and as text."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from augnet.transforms import Transform


@dataclass(frozen=True)
class TunedRange:
    """The range of one transform in one layer, and what its edge costs."""

    layer: int
    """Counted from 1."""
    transform: Transform
    magnitude: float
    """Averaged over steps."""
    cost: float
    """The loss at the edge less that of untransformed samples; NaN before the first of either."""
    error: float
    """The standard error of the cost."""
    samples: int
    """How many samples at the edge were seen."""

    @property
    def name(self) -> str:
        """The name of the transform."""
        return self.transform.name

    @property
    def strength(self) -> float:
        """The magnitude in the unit of the transform."""
        return float(self.transform.strength(self.magnitude))

    @property
    def unit(self) -> str:
        """The unit of the strength."""
        return self.transform.unit


class RangeTable(list[TunedRange]):
    """The rows of all transforms with a range, and notes on what is not among them.

    `str` gives an aligned table.
    """

    def __init__(self, rows: Iterable[TunedRange], notes: Iterable[str] = ()) -> None:
        super().__init__(rows)
        self.notes = list(notes)

    def __str__(self) -> str:
        several = len({row.layer for row in self}) > 1
        cells = [("transform", "range", "limit", "cost at the edge", "edge samples")]
        for row in self:
            cells.append(
                (
                    f"{row.layer} {row.name}" if several else row.name,
                    row.transform.describe(row.magnitude),
                    row.transform.describe(1.0),
                    _cost(row),
                    str(row.samples),
                )
            )
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in cells
        ]
        return "\n".join((*lines, *self.notes))


def _cost(row: TunedRange) -> str:
    if math.isnan(row.cost):
        return "unknown"
    return f"{row.cost:+.3f}" + ("" if math.isnan(row.error) else f" ± {row.error:.3f}")
