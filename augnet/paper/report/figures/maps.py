"""Heat maps of weights and magnitudes, and the widths that Augerino learns."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from augnet.app.style import SOFT, canvas, color, legend, tidy
from augnet.paper.report.runs import Run


def heat_map(run: Run) -> Figure | None:
    """Draw weights and magnitudes of all transforms of all layers over the epochs of one run.

    Layers of a single transform have nothing to select: of several, the magnitudes are drawn, and of
    one alone the strength is drawn elsewhere.
    """
    layers = [run.build_transforms(number) for number in range(1, run.layers + 1)]
    if sum(map(len, layers)) < 2:
        return None
    selects = max(map(len, layers)) > 1
    kinds = ("weight", "magnitude") if selects else ("magnitude",)
    keys = [
        f"layer{n}.{transform}"
        for n, transforms in enumerate(layers, 1)
        for transform in transforms
    ]
    labels = [
        f"{n}: {transform}" if selects and len(layers) > 1 else transform
        for n, transforms in enumerate(layers, 1)
        for transform in transforms
    ]
    figure = canvas(1.1 + 0.26 * len(keys))
    axes = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    extent = (0.5, len(run.rows) + 0.5, len(keys) - 0.5, -0.5)
    for axis, kind in zip(axes, kinds, strict=True):
        table = [[row[f"{key}.{kind}"] for row in run.rows] for key in keys]
        image = axis.imshow(table, aspect="auto", vmin=0, vmax=1, cmap="viridis",
                            interpolation="nearest", extent=extent)  # fmt: skip
        axis.set_title(kind)
        axis.set_xlabel("epoch")
        axis.tick_params(colors=SOFT, labelsize=9)
        axis.set_yticks(range(len(labels)), labels, color="black")
        for border in np.cumsum([len(transforms) for transforms in layers[:-1]]) if selects else ():
            axis.axhline(border - 0.5, color="white", lw=2)
    figure.colorbar(image, ax=axes, shrink=0.9).ax.tick_params(labelsize=9)
    return figure


def widths(runs: Sequence[Run]) -> Figure | None:
    """Draw the widths of Augerino's six distributions over the epochs (figure A.2)."""
    runs = [run for run in runs if any(key.startswith("augerino.") for key in run.rows[-1])]
    if not runs:
        return None
    figure = canvas(3.2)
    axis = figure.subplots()
    keys = [key for key in runs[0].rows[-1] if key.startswith("augerino.")]
    for number, key in enumerate(keys):
        for run in runs:
            axis.plot(range(1, len(run.rows) + 1), [row[key] for row in run.rows], lw=1.6,
                      color=color(number), alpha=0.8,
                      label=key.split(".")[1] if run is runs[0] else None)  # fmt: skip
    axis.set(xlabel="epoch", ylabel="width")
    tidy(axis)
    legend(figure, axis)
    return figure
