"""Figures of what was found: samples at the edges of each range, confusion, learning curves."""

from collections.abc import Sequence
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Generator, Tensor

from augnet.app.style import SOFT, WIDTH, canvas, color, legend, tidy
from augnet.app.wording import units
from augnet.data.reading import Reading
from augnet.learn.result import Invariance
from augnet.learn.strengths import apply_at_strength
from augnet.training import Row
from augnet.transforms import Bernoulli, Signed

SHOWN = 3
"""Samples, each of another class."""
LARGEST = 20
"""More classes than this do not fit into a figure."""
THROWS = 8
"""Of the dice, of which those are shown that change most samples."""
POINTS = 400
"""Points of a trace."""


def edges(row: Invariance, x: Tensor, reading: Reading, seed: int = 0) -> Figure | None:
    """Draw samples as they are and at the edges of the range of a transform; None for vectors."""
    if reading.kind == "vectors":
        return None
    steps = _steps(row)

    def all_of(value: float) -> Tensor:
        return x.new_full((len(x),), value)

    def sign(part: float) -> float:
        return -1.0 if part < 0 else 1.0

    def seen(seed: int) -> list[Tensor]:
        return [
            apply_at_strength(
                row.transform,
                x,
                all_of(abs(part)),
                Generator().manual_seed(seed),
                all_of(sign(part)),
            )
            for part in steps.values()
        ]

    views = max((seen(seed + n) for n in range(THROWS)), key=lambda views: _moved(views, x))
    if reading.kind == "images":
        return _images(views, list(steps))
    return _traces(views, list(steps), reading)


def _moved(views: Sequence[Tensor], x: Tensor) -> int:
    """Count the samples that are shown to change at an edge: dice may as well do nothing."""
    ends = ((view - x).flatten(1) if x.dim() == 4 else (view - x)[:, 0] for view in views)
    return int(sum((end != 0).any(1).sum() for end in ends))


def _steps(row: Invariance) -> dict[str, float]:
    """Give titles, and parts of the limit: from one edge over nothing to the other."""
    edge = row.magnitude
    if isinstance(row.transform, Bernoulli):
        return {"as it is": 0.0, row.transform.name: 1.0}
    if isinstance(row.transform, Signed):
        parts = [-edge, -edge / 2, 0.0, edge / 2, edge]
    else:
        parts = [0.0, edge / 2, edge]
    return {
        "as it is" if part == 0 else units(row, float(row.transform.strength(part))): part
        for part in parts
    }


def _images(views: Sequence[Tensor], titles: Sequence[str]) -> Figure:
    count = len(views[0])
    figure = canvas(WIDTH / 5 * count + 0.4)
    axes = figure.subplots(count, max(5, len(views)), squeeze=False)
    for column, (title, view) in enumerate(zip(titles, views, strict=True)):
        axes[0, column].set_title(title.replace(" of ", "\nof ", 1), fontsize=9, color=SOFT)
        for axis, image in zip(axes[:, column], view, strict=True):
            shown = image.clamp(0, 1).permute(1, 2, 0)
            shown = shown.expand(-1, -1, 3) if shown.shape[2] == 1 else shown[..., :3]
            axis.imshow(shown.numpy(), interpolation="nearest")
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_visible(False)
    return figure


def _traces(views: Sequence[Tensor], titles: Sequence[str], reading: Reading) -> Figure:
    count = len(views[0])
    shown = min(views[0].shape[-1], POINTS)
    time = (torch.arange(shown) / (reading.sfreq or 1.0)).numpy()
    figure = canvas(1.1 * count + 0.5)
    axes = figure.subplots(count, sharex=True, squeeze=False)[:, 0]
    still = titles.index("as it is")
    others = [n for n in (0, len(titles) - 1) if n != still]
    for number, axis in enumerate(axes):
        axis.plot(
            time, views[still][number, 0, :shown].numpy(), lw=1.6, color=SOFT, label="as it is"
        )
        for tint, other in enumerate(others):
            trace = views[other][number, 0, :shown].numpy()
            axis.plot(time, trace, lw=1.0, color=color(tint), label=titles[other])
        tidy(axis)
    axes[-1].set_xlabel("seconds" if reading.sfreq else "samples")
    legend(figure, *axes)
    return figure


def confusion(counts: Tensor, classes: Sequence[str]) -> Figure | None:
    """Draw which classes are taken for which; None for too many of them."""
    if len(classes) > LARGEST:
        return None
    names = [name if len(name) < 18 else f"{name[:16]}…" for name in classes]
    figure = canvas(1.2 + 0.36 * len(classes))
    axis = figure.subplots()
    parts = counts / counts.sum(1, keepdim=True).clamp(min=1)
    axis.imshow(parts.numpy(), vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for row, line in enumerate(counts.tolist()):
        for column, count in enumerate(line):
            if count:
                tint = "white" if parts[row, column] > 0.5 else "black"
                axis.text(column, row, count, ha="center", va="center", color=tint, fontsize=9)
    long = max(map(len, names)) > 4
    axis.set_xticks(
        range(len(names)), names, rotation=45 if long else 0, ha="right" if long else "center"
    )
    axis.set_yticks(range(len(names)), names)
    axis.set(xlabel="predicted", ylabel="truth")
    axis.tick_params(labelsize=9, length=0)
    axis.spines[:].set_visible(False)
    return figure


def curves(history: Sequence[Row], rows: Sequence[Invariance]) -> Figure:
    """Draw the loss, and below it how the ranges grew, as parts of their limits; of one seed."""
    history = [row for row in history if row.get("seed") == history[0].get("seed")]
    figure = canvas(4.2)
    axes = figure.subplots(2, sharex=True)
    for number, phase in enumerate(dict.fromkeys(row["phase"] for row in history)):
        mine = [row for row in history if row["phase"] == phase]
        epochs = [row["epoch"] for row in mine]
        label = "loss, doses of one transform" if phase == "ranges" else "loss, transforms together"
        axes[0].plot(
            epochs, [row["loss"] for row in mine], lw=1.6, color=color(number), label=label
        )
    axes[0].set_ylabel("loss")
    profile = [row for row in history if row["phase"] == "ranges"]
    for number, each in enumerate(rows):
        name = each.transform.name
        if isinstance(each.transform, Bernoulli):
            continue
        ends = [
            next((t["strength"] for t in row["transforms"] if t["name"] == name), None)
            for row in profile
        ]
        if None in ends:
            continue
        parts = [_part(each, end) for end in ends]
        axes[1].plot([row["epoch"] for row in profile], parts, lw=1.4, color=color(number),
                     ls="-" if number < 12 else "--", label=each.transform.name)  # fmt: skip
    axes[1].set(ylabel="range, as a part\nof its limit", xlabel="epoch", ylim=(0, 1.05))
    for axis in axes:
        tidy(axis)
    legend(figure, *axes)
    return figure


def _part(row: Invariance, strength: Any) -> float:
    nothing, limit = (float(row.transform.strength(end)) for end in (0.0, 1.0))
    return (strength - nothing) / (limit - nothing)


def one_of_each(x: Tensor, y: Tensor) -> Tensor:
    """Take one sample of each of a few classes, or a few samples."""
    if y.is_floating_point():
        return x[:SHOWN]
    firsts = [int((y == label).nonzero()[0]) for label in y.unique()[:SHOWN]]
    return x[firsts]
