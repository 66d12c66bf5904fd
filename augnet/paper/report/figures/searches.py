"""Compare search methods by their cost: figures 6b and B.10 of the paper."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from augnet.app.style import INK, canvas, color, legend, tidy

COVERAGE = 0.75  # of the folds, as in the paper
LABELS = {"passes": "passes through the trunk", "seconds": "seconds"}


class Curve(NamedTuple):
    """One fold: costs from low to high, and the test score of the best point up to each cost.

    The best point has the highest validation score. A later point of a search may cost less than
    an earlier one, because each is retrained on its own: so passes and seconds each have an order.
    """

    passes: NDArray[np.float64]
    test: NDArray[np.float64]
    seconds: NDArray[np.float64]
    test_by_seconds: NDArray[np.float64]

    @classmethod
    def from_points(cls, rows: Sequence[Mapping[str, Any]]) -> "Curve":
        """Read the points of a search."""
        return cls(*_best_by(rows, "passes"), *_best_by(rows, "seconds"))

    def along(self, cost: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the costs, passes or seconds, and the score at each."""
        by_passes, by_seconds = (self.passes, self.test), (self.seconds, self.test_by_seconds)
        return {"passes": by_passes, "seconds": by_seconds}[cost]


def _best_by(
    rows: Sequence[Mapping[str, Any]], cost: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sort points by a cost; return the costs, and the test score of the best point so far."""
    order = sorted(range(len(rows)), key=lambda n: rows[n][cost])
    # Of equal points the search found the first one first, whatever it cost.
    best = accumulate(order, partial(min, key=lambda n: (-rows[n]["valid"], n)))
    costs, tests = [rows[n][cost] for n in order], [rows[n]["test"] for n in best]
    return np.array(costs, dtype=float), np.array(tests, dtype=float)


def score_at(curve: Curve, passes: float) -> float:
    """Interpolate the score at a number of passes, as the paper does; NaN before the first."""
    return float(np.interp(passes, curve.passes, curve.test, left=np.nan))


def score_against_cost(
    curves: Mapping[str, Mapping[int, Curve]], cost: str, metric: str
) -> Figure | None:
    """Draw the score of every method against its cost, on a logarithmic axis."""
    if not curves:
        return None
    figure = canvas(3.6)
    axis = figure.subplots()
    for number, (method, seeds) in enumerate(curves.items()):
        folds = [curve.along(cost) for curve in seeds.values()]
        # From the point where all folds have a score to the end of the shortest.
        low, high = max(c[0] for c, _ in folds), min(c[-1] for c, _ in folds)
        grid = np.geomspace(max(low, 1e-9), max(high, low, 1e-9), 60)
        table = np.array([np.interp(grid, costs, test) for costs, test in folds])
        tail = (1 - COVERAGE) / 2
        bottom, top = np.quantile(table, [tail, 1 - tail], axis=0)
        tint = color(number)
        alone = {"marker": "o", "ls": ""} if low >= high else {}
        axis.plot(grid, np.median(table, axis=0), lw=2, color=tint, label=method, **alone)  # type: ignore[arg-type]
        axis.fill_between(grid, bottom, top, color=tint, alpha=0.12, lw=0)
    axis.set_xscale("log")
    axis.set_xlabel(LABELS[cost])
    axis.set_ylabel(f"test {metric}")
    tidy(axis)
    legend(figure, axis)
    return figure


def improvement(
    curves: Mapping[str, Mapping[int, Curve]], baseline: str, budget: float, metric: str
) -> Figure | None:
    """Draw the gain of each method over a baseline method, fold by fold, at a number of passes."""
    if baseline not in curves:
        return None
    gains: dict[str, list[float]] = {}
    for method, seeds in curves.items():
        common = sorted(set(seeds) & set(curves[baseline])) if method != baseline else []
        found = [
            score_at(seeds[seed], budget) - score_at(curves[baseline][seed], budget)
            for seed in common
        ]
        if known := [gain for gain in found if np.isfinite(gain)]:
            gains[method] = known
    if not gains:
        return None
    figure = canvas(0.9 + 0.35 * len(gains))
    axis = figure.subplots()
    axis.axvline(0, color=INK, lw=1, ls=":")
    for row, values in enumerate(gains.values()):
        axis.plot(values, [row] * len(values), "o", color=color(row), alpha=0.6, ms=6)
        axis.plot([np.median(values)], [row], "|", color=INK, ms=16, mew=2)
    axis.set_yticks(range(len(gains)), list(gains))
    axis.invert_yaxis()
    axis.set_xlabel(f"test {metric}, minus that of {baseline}")
    tidy(axis)
    return figure
