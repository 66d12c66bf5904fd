"""Figures as pure functions of rows."""

import io
import statistics
from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.figure import Figure

from augnet.report.runs import Run


def by_variant(runs: Sequence[Run]) -> dict[str, list[Run]]:
    """Put the seeds of each variant together, in the order in which variants come."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.variant, []).append(run)
    return groups


def over_epochs(
    runs: Sequence[Run],
    value: Callable[[dict[str, float]], float | None],
    label: str,
    truth: float | None = None,
) -> Figure | None:
    """Draw a value over the epochs: the median of each variant's seeds, and all they span."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axis = figure.subplots()
    for number, (variant, group) in enumerate(by_variant(runs).items()):
        curves = [[value(row) for row in run.rows] for run in group]
        if any(point is None for curve in curves for point in curve):
            continue
        length = min(map(len, curves))
        table = np.array([curve[:length] for curve in curves], dtype=float)
        epochs = np.arange(1, length + 1)
        colour = f"C{number}"  # a variant has one colour in all figures
        axis.plot(epochs, np.median(table, axis=0), lw=2, label=variant, color=colour)
        axis.fill_between(epochs, table.min(0), table.max(0), color=colour, alpha=0.15)
    if not axis.lines:
        return None
    if truth is not None:
        axis.axhline(truth, color="black", ls=":", lw=1, label="the paper")
    axis.set(xlabel="epoch", ylabel=label)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=8)
    return figure


def capacity(runs: Sequence[Run]) -> Figure | None:
    """Draw invariance and accuracy against the trunk, for each method and number of copies."""
    points: dict[str, dict[str, list[dict[str, float]]]] = {}
    for run in runs:
        method, _, size = run.variant.rpartition("-")
        for row in run.measured:
            label = method if len(run.measured) == 1 else f"{method}, C = {row['copies']:.0f}"
            points.setdefault(label, {}).setdefault(size, []).append(row)
    if not points:
        return None
    sizes = list(dict.fromkeys(size for method in points.values() for size in method))
    figure = Figure(figsize=(6.4, 6.4), layout="constrained")
    for axis, key in zip(figure.subplots(2, sharex=True), ("invariance", "accuracy"), strict=True):
        for method, found in points.items():
            table = [[row[key] for row in found.get(size, [])] for size in sizes]
            middle = [statistics.median(values) if values else np.nan for values in table]
            axis.plot(sizes, middle, "o-", lw=2, label=method)
            for place, values in enumerate(table):
                axis.plot([place] * len(values), values, ".", color="grey", alpha=0.4, zorder=0)
        axis.set(ylabel=f"{key} (test set)")
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylim(bottom=max(-0.5, figure.axes[0].get_ylim()[0]))
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  frameon=False, fontsize=8)  # fmt: skip
    figure.axes[1].set_xlabel("neurons × layers")
    return figure


def heat_map(run: Run) -> Figure | None:
    """Draw weights and magnitudes of all words of all layers over the epochs of one run."""
    if not run.layers:
        return None
    labels, tables = [], {"weight": [], "magnitude": []}  # type: ignore[var-annotated]
    for layer in range(1, run.layers + 1):
        for word in run.words(layer):
            labels.append(word if run.layers == 1 else f"{layer}: {word}")
            for kind, table in tables.items():
                table.append([row[f"layer{layer}.{word}.{kind}"] for row in run.rows])
    figure = Figure(figsize=(8, 1.0 + 0.28 * len(labels)), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, (kind, table) in zip(axes, tables.items(), strict=True):
        image = axis.imshow(table, aspect="auto", vmin=0, vmax=1, cmap="viridis",
                            interpolation="nearest", extent=(0.5, len(run.rows) + 0.5,
                                                             len(labels) - 0.5, -0.5))  # fmt: skip
        axis.set(title=kind, xlabel="epoch")
        axis.set_yticks(range(len(labels)), labels)
    figure.colorbar(image, ax=axes, shrink=0.9)
    return figure


def svg(figure: Figure) -> str:
    """Write a figure as SVG to stand inside a page."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None})
    text = file.getvalue()
    return text[text.index("<svg") :]


def spread(values: Sequence[float]) -> str:
    """Give the median and, of several values, the range that they span."""
    middle = f"{statistics.median(values):.3g}"
    return middle if len(values) == 1 else f"{middle} ({min(values):.3g} to {max(values):.3g})"
