"""Draw heat maps of weights and magnitudes, and the widths learned by Augerino."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from augnet.app.style import SOFT, canvas, color, legend, tidy
from augnet.paper.report import states
from augnet.paper.report.runs import Run


def heat_map(run: Run) -> Figure | None:
    """Draw weights and magnitudes of all transforms of all layers over the epochs of one run.

    If each layer has one transform, there is nothing to select, and only magnitudes are drawn. A
    single transform is not drawn: another figure shows its strength.
    """
    layers = run.layers
    count = sum(map(len, layers))
    if count < 2:
        return None
    selects = max(map(len, layers)) > 1
    kinds = ("weight", "magnitude") if selects else ("magnitude",)
    labels = [
        f"{state.layer}: {state.name}" if selects and len(layers) > 1 else state.name
        for layer in layers
        for state in layer
    ]
    figure = canvas(1.1 + 0.26 * count)
    axes = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    extent = (0.5, len(run.epochs) + 0.5, count - 0.5, -0.5)
    for axis, kind in zip(axes, kinds, strict=True):
        image = axis.imshow(_table(run, kind), aspect="auto", vmin=0, vmax=1, cmap="viridis",
                            interpolation="nearest", extent=extent)  # fmt: skip
        axis.set_title(kind)
        axis.set_xlabel("epoch")
        axis.tick_params(colors=SOFT, labelsize=9)
        axis.set_yticks(range(len(labels)), labels, color="black")
        for border in np.cumsum([len(layer) for layer in layers[:-1]]) if selects else ():
            axis.axhline(border - 0.5, color="white", lw=2)
    figure.colorbar(image, ax=axes, shrink=0.9).ax.tick_params(labelsize=9)
    return figure


def _table(run: Run, kind: str) -> NDArray[np.float64]:
    """Return weights or magnitudes with one row per transform and one column per epoch."""
    columns = [
        [getattr(state, kind) for layer in states.layers(epoch.transforms) for state in layer]
        for epoch in run.epochs
    ]
    return np.array(columns, dtype=float).T


def widths(runs: Sequence[Run]) -> Figure | None:
    """Draw the widths of Augerino's six distributions over the epochs (figure A.2)."""
    runs = [run for run in runs if run.widths]
    if not runs:
        return None
    figure = canvas(3.2)
    axis = figure.subplots()
    for number, name in enumerate(runs[0].widths):
        for run in runs:
            curve = [states.widths(epoch.transforms)[name] for epoch in run.epochs]
            axis.plot(range(1, len(curve) + 1), curve, lw=1.6, color=color(number), alpha=0.8,
                      label=name if run is runs[0] else None)  # fmt: skip
    axis.set(xlabel="epoch", ylabel="width")
    tidy(axis)
    legend(figure, axis)
    return figure
