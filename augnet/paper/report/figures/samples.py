"""Draw a few samples of each class, made with the settings of the runs."""

import inspect
from collections.abc import Mapping
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from augnet.app.style import WIDTH, canvas, color, tidy
from augnet.paper.datasets import DATASETS

COLUMNS = 8  # images of a class
SECONDS = 1.0  # of a wave, as the paper's figure A.4 has it


def samples(data: Mapping[str, Any], seed: int = 0) -> Figure | None:
    """Draw images or waves of each class; return None for data that has no small sizes."""
    load = DATASETS.get(data["name"])
    known = inspect.signature(load).parameters if load else {}
    if load is None or "sizes" not in known or "root" in known:  # a report downloads nothing
        return None
    defaults = {key: each.default for key, each in inspect.signature(load).parameters.items()}
    settings = defaults | {key: value for key, value in data.items() if key != "name"}
    try:
        x, y = load(**settings | {"seed": seed, "sizes": (16 * COLUMNS, 4, 4)}).train
    except (TypeError, ValueError):  # a file that is gone, a key of an older version
        return None
    classes = [x[y == label] for label in y.unique()]
    if x.dim() == 4:
        return _images(classes)
    names = [f"{f:g} Hz" for f in settings.get("frequencies", ())]
    return _waves(classes, names, float(settings.get("sfreq", 1.0))) if x.dim() == 3 else None


def _images(classes: list[Tensor]) -> Figure:
    figure = canvas(WIDTH / COLUMNS * len(classes))
    axes = figure.subplots(len(classes), COLUMNS, squeeze=False)
    for number, (row, images) in enumerate(zip(axes, classes, strict=True)):
        row[0].set_ylabel(f"class {number}")
        for axis, image in zip(row, images, strict=False):
            axis.imshow(image.clamp(0, 1).permute(1, 2, 0).numpy(), interpolation="nearest")
        for axis in row:
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
    return figure


def _waves(classes: list[Tensor], names: list[str], sfreq: float) -> Figure:
    length = min(round(SECONDS * sfreq), classes[0].shape[-1])
    time = torch.arange(length) / sfreq
    figure = canvas(1.05 * len(classes) + 0.4)
    axes = figure.subplots(len(classes), sharex=True, sharey=True, squeeze=False)[:, 0]
    for number, (axis, waves) in enumerate(zip(axes, classes, strict=True)):
        for wave, alpha in zip(waves[:3, 0, :length], (1.0, 0.45, 0.25), strict=False):
            axis.plot(time, wave, lw=1.3, color=color(number), alpha=alpha)
        name = f"\n{names[number]}" if number < len(names) else ""
        axis.set_ylabel(f"class {number}{name}")
        tidy(axis)
    axes[-1].set_xlabel("seconds")
    return figure
