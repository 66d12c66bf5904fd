"""One self-contained page: what was found, what it looks like, how well it does."""

from collections.abc import Sequence

import torch

import augnet
from augnet.app import figures, wording
from augnet.app.examine import Examined
from augnet.app.html import render
from augnet.app.settings import Settings
from augnet.app.style import Drawn
from augnet.data import SHARED, Parts
from augnet.learn.result import Invariance
from augnet.model import Model
from augnet.training import Row


def page(model: Model, examined: Examined, parts: Parts, history: Sequence[Row]) -> str:
    """Write the page as HTML that needs nothing beside it."""
    rows = model.invariances
    settings = Settings(**model.header.settings)  # type: ignore[arg-type]
    return render(
        "app/page.html",
        title=settings.data.rstrip("/").rpartition("/")[2],
        headline=wording.headline(rows),
        rows=[(row, wording.found(row), wording.sure(row), _built_in(model, row)) for row in rows],
        seeds=settings.seeds,
        agree=wording.agree,
        model=model,
        examined=examined,
        parts=parts,
        drawn=[*_edges(model, parts), *_measured(model, examined, history)],
        notes=list(parts.learned.account),
        shared=SHARED if SHARED in parts.learned.account else "",
        command=settings.command,
        versions={"augnet": augnet.__version__, "torch": torch.__version__},
    )


def _built_in(model: Model, row: Invariance) -> str:
    """Say how far the network goes with a transform, together with the others."""
    if not model.header.layers:
        return "–"
    for layer in model.net.augment:  # type: ignore[attr-defined]
        for transform, magnitude, weight in zip(
            layer.transforms, layer.magnitudes.tolist(), layer.weights.tolist(), strict=True
        ):
            if transform == row.transform:
                share = "" if len(layer.transforms) == 1 else f", in {weight:.0%} of copies"
                return f"{transform.describe(magnitude)}{share}"
    return "–"


def _edges(model: Model, parts: Parts) -> list[Drawn]:
    tested = parts.tested
    assert tested.y is not None
    assert model.header.reading is not None
    some = model.prepare(figures.one_of_each(tested.x, tested.y))
    drawn = []
    for row in model.invariances:
        if not row.kept:
            continue
        figure = figures.edges(row, some, model.header.reading)
        if figure is not None:
            said = wording.found(row)
            caption = f"{said[0].upper()}{said[1:]}. Samples that were not learned from."
            drawn.append(Drawn(f"edge-{row.transform.name}", row.transform.name, caption, figure))
    return drawn


def _measured(model: Model, examined: Examined, history: Sequence[Row]) -> list[Drawn]:
    drawn = []
    if examined.confusion is not None:
        figure = figures.confusion(examined.confusion, model.header.classes)
        if figure is not None:
            caption = f"Of {examined.count} samples that were not learned from."
            drawn.append(Drawn("confusion", "Which classes are taken for which", caption, figure))
    caption = "Above the loss; below how far each transformation was tried, until the error rose."
    curves = figures.curves(history, model.invariances)
    drawn.append(Drawn("curves", "How it was learned", caption, curves))
    return drawn
