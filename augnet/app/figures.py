"""Draw samples at the edges of each range, the confusion of classes, and learning curves."""

from collections.abc import Sequence
from textwrap import fill
from typing import NamedTuple

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Generator, Tensor

from augnet.app.style import INK, SOFT, WIDTH, canvas, color, legend, tidy
from augnet.app.wording import with_unit
from augnet.data import InputSpec
from augnet.learn.result import Invariance
from augnet.learn.strengths import apply_at_strength
from augnet.training import Row
from augnet.transforms import Bernoulli, Signed

SAMPLES = 3
"""Samples in a figure, of different classes."""
MAX_CLASSES = 20
"""More classes than this do not fit into a figure."""
DRAWS = 8
"""Draws of params; the one that changes most samples is shown."""
MAX_POINTS = 400
"""Points of a trace."""
UNCHANGED, TRANSFORMED, EDGE, BEYOND = "unchanged", "transformed", "edge", "beyond"
LETTERS = 12
"""In a line of the title of a column."""
BEYOND_FACTOR = 2.5
"""Views beyond a range are this many times as strong as those at its edge, within the limit."""
PHASES = {"reference": "no transforms", "compared": "nets to compare", "net": "the net"}
"""What is trained in a phase; others are shown by their names."""
STYLES = ("-", "--", "-.", ":")
"""Of lines, for readers who see no color."""
MEASURED = "transforms"
"""The phase whose rows are the answers for transforms, and no epochs."""


class Step(NamedTuple):
    """One column of a figure."""

    fraction: float
    """Of the limit; its sign is the direction."""
    title: str
    place: str = ""
    """`edge` of the range, `beyond` it, or nothing."""


def edges(row: Invariance, x: Tensor, spec: InputSpec, seed: int = 0) -> Figure | None:
    """Draw samples unchanged, at the edges of a range, and beyond; None for vectors."""
    if spec.kind == "vectors":
        return None
    steps = steps_of(row)

    def views_of(seed: int) -> list[Tensor]:
        return [view_at(row, x, step.fraction, seed) for step in steps]

    drawn = (views_of(seed + number) for number in range(DRAWS))
    views = max(drawn, key=lambda views: _changed(views, x))
    titles, places = [step.title for step in steps], [step.place for step in steps]
    if spec.kind == "images":
        return draw_images(views, titles, places)
    return draw_traces(views, titles, spec, places)


def view_at(row: Invariance, x: Tensor, fraction: float, seed: int) -> Tensor:
    """Apply a transform to all samples at a fraction of its limit, whose sign is the direction."""
    fractions = x.new_full((len(x),), abs(fraction))
    signs = x.new_full((len(x),), -1.0 if fraction < 0 else 1.0)
    return apply_at_strength(row.transform, x, fractions, Generator().manual_seed(seed), signs)


def _changed(views: Sequence[Tensor], x: Tensor) -> int:
    """Count the samples that the figure shows changed: some params change nothing."""
    ends = ((view - x).flatten(1) if x.dim() == 4 else (view - x)[:, 0] for view in views)
    return int(sum((end != 0).any(1).sum() for end in ends))


def steps_of(row: Invariance) -> list[Step]:
    """Return what to show: from beyond one edge of the range to beyond the other.

    A transform that is not invariant has no range, and is shown at its limit and half of it.
    """
    transform, edge = row.transform, row.magnitude
    if isinstance(transform, Bernoulli):
        return [Step(0.0, UNCHANGED), Step(1.0, TRANSFORMED)]
    if not row.kept:
        steps = [(0.5, ""), (1.0, "")]
    elif edge < 1:
        steps = [(edge, EDGE), (min(1.0, BEYOND_FACTOR * edge), BEYOND)]
    else:
        steps = [(0.5, ""), (1.0, EDGE)]
    if isinstance(transform, Signed):
        steps = [(-value, place) for value, place in steps[::-1]] + steps
    found = [
        Step(value, with_unit(row, float(transform.strength(value))).replace("-", "−"), place)
        for value, place in steps
    ]
    found.insert(len(found) // 2 if isinstance(transform, Signed) else 0, Step(0.0, UNCHANGED))
    return found


def draw_images(
    views: Sequence[Tensor], titles: Sequence[str], places: Sequence[str] = ()
) -> Figure:
    """Draw images in a row per sample and a column per view; views beyond a range are dashed."""
    count = len(views[0])
    places = places or [""] * len(views)
    figure = canvas(WIDTH / 5 * count + 0.6)
    axes = figure.subplots(count, max(5, len(views)), squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for column, (title, view) in enumerate(zip(titles, views, strict=True)):
        place = places[column]
        text = fill(title, LETTERS) + (f"\n{place}" if place else "")
        axes[0, column].set_title(text, fontsize=9, color=INK if place else SOFT)
        for axis, image in zip(axes[:, column], view, strict=True):
            draw_image(axis, image, place)
    return figure


def draw_image(axis: Axes, image: Tensor, place: str = "") -> None:
    """Draw an image (C, H, W), in a frame if it is at the edge of a range or beyond it.

    Three channels are shown in color, and of two channels the first one in gray.
    """
    shown = image[:3] if len(image) >= 3 else image[:1].expand(3, -1, -1)
    shown = shown.clamp(0, 1).permute(1, 2, 0)
    axis.set_axis_on()
    axis.set(xticks=[], yticks=[])
    axis.imshow(shown.numpy(), interpolation="nearest")
    axis.spines[:].set(visible=bool(place), color=color(0 if place == EDGE else 1), lw=2.2)
    axis.spines[:].set_linestyle("-" if place == EDGE else (0, (2, 2)))


def draw_traces(
    views: Sequence[Tensor], titles: Sequence[str], spec: InputSpec, places: Sequence[str] = ()
) -> Figure:
    """Draw the first channel of signals, a row per sample; views beyond a range are dashed."""
    count = len(views[0])
    places = places or [""] * len(views)
    shown = min(views[0].shape[-1], MAX_POINTS)
    time = (torch.arange(shown) / (spec.sfreq or 1.0)).numpy()
    figure = canvas(1.1 * count + 0.5)
    axes = figure.subplots(count, sharex=True, squeeze=False)[:, 0]
    unchanged = titles.index(UNCHANGED)
    edges = [n for n, place in enumerate(places) if place == EDGE]
    others = edges or [n for n in (0, len(titles) - 1) if n != unchanged]
    others += [len(titles) - 1] if places[-1] == BEYOND else []
    for number, axis in enumerate(axes):
        trace = views[unchanged][number, 0, :shown].numpy()
        axis.plot(time, trace, lw=1.6, color=SOFT, label=UNCHANGED)
        for tint, other in enumerate(others):
            trace = views[other][number, 0, :shown].numpy()
            place, style = places[other], ":" if places[other] == BEYOND else "-"
            label = f"{titles[other]}, {place}" if place else titles[other]
            axis.plot(time, trace, style, lw=1.0, color=color(tint), label=label)
        tidy(axis)
    axes[-1].set_xlabel("seconds" if spec.sfreq else "samples")
    legend(figure, *axes)
    return figure


def confusion(counts: Tensor, classes: Sequence[str]) -> Figure | None:
    """Draw which classes are predicted for which; None if there are too many."""
    if len(classes) > MAX_CLASSES:
        return None
    names = [name if len(name) < 18 else f"{name[:16]}…" for name in classes]
    figure = canvas(1.2 + 0.36 * len(classes))
    axis = figure.subplots()
    fractions = counts / counts.sum(1, keepdim=True).clamp(min=1)
    axis.imshow(fractions.numpy(), vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for row, line in enumerate(counts.tolist()):
        for column, count in enumerate(line):
            if count:
                tint = "white" if fractions[row, column] > 0.5 else "black"
                axis.text(column, row, count, ha="center", va="center", color=tint, fontsize=9)
    long = max(map(len, names)) > 4
    axis.set_xticks(
        range(len(names)), names, rotation=45 if long else 0, ha="right" if long else "center"
    )
    axis.set_yticks(range(len(names)), names)
    axis.set(xlabel="predicted", ylabel="true")
    axis.tick_params(labelsize=9, length=0)
    axis.spines[:].set_visible(False)
    return figure


def curves(history: Sequence[Row]) -> Figure:
    """Draw the loss in each phase of the first seed."""
    history = [row for row in history if row.get("seed") == history[0].get("seed")]
    figure = canvas(2.6)
    axis = figure.subplots()
    phases = dict.fromkeys(row["phase"] for row in history if row["phase"] != MEASURED)
    for number, phase in enumerate(phases):
        points = [(row["epoch"], row["loss"]) for row in history if row["phase"] == phase]
        label = f"loss, {PHASES.get(phase, phase)}"
        style = STYLES[number % len(STYLES)]
        axis.plot(*zip(*points, strict=True), style, lw=1.6, color=color(number), label=label)
    axis.set(ylabel="loss", xlabel="epoch")
    tidy(axis)
    legend(figure, axis)
    return figure


def one_of_each(x: Tensor, y: Tensor) -> Tensor:
    """Return one sample of each of a few classes, or a few samples."""
    if y.is_floating_point():
        return x[:SAMPLES]
    firsts = [int((y == label).nonzero()[0]) for label in y.unique()[:SAMPLES]]
    return x[firsts]
