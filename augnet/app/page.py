"""Write one self-contained page: invariances, figures, scores."""

from collections.abc import Sequence

import torch

import augnet
from augnet.app import figures, wording
from augnet.app.evaluate import Evaluation
from augnet.app.html import render
from augnet.app.matrix import matrix
from augnet.app.settings import Settings
from augnet.app.style import Drawn
from augnet.data import Split
from augnet.data.split import SHARED_RECORDINGS
from augnet.learn.result import Invariance
from augnet.model import Model
from augnet.text import printable
from augnet.training import Row


def page(
    model: Model, settings: Settings, evaluation: Evaluation, split: Split, history: Sequence[Row]
) -> str:
    """Return the page as HTML that needs no other file."""
    rows = model.invariances
    return render(
        "app/page.html",
        title=printable(settings.data.rstrip("/").rpartition("/")[2]),
        headline=wording.headline(rows, bool(model.header.layers or model.header.measurement.gain)),
        warnings=model.header.measurement.warnings,
        measured=wording.measured(model.header),
        gain=wording.gain(model.header),
        rows=[(row, _in_model(model, row)) for row in rows],
        costs=any(row.cost is not None for row in rows),
        seeds=settings.learn.seeds,
        matrix=matrix([(row.transform.name, row, ()) for row in rows]),
        wording=wording,
        model=model,
        evaluation=evaluation,
        split=split,
        drawn=[*_range_figures(model, split), *_score_figures(model, evaluation, history)],
        notes=list(split.train.log),
        shared=SHARED_RECORDINGS if SHARED_RECORDINGS in split.train.log else "",
        command=settings.command,
        versions={"augnet": augnet.__version__, "torch": torch.__version__},
    )


def _in_model(model: Model, row: Invariance) -> str:
    """Write how far the model goes with a transform, and in how many copies if it is drawn."""
    if not model.header.layers:
        return "–"
    described, without, drawn = "–", 1.0, False
    for layer in model.net.augment:  # type: ignore[attr-defined]
        for transform, magnitude, weight in zip(
            layer.transforms, layer.magnitudes.tolist(), layer.weights.tolist(), strict=True
        ):
            if transform == row.transform:
                described = transform.describe(magnitude)
                without *= 1 - weight
                drawn = len(layer.transforms) > 1
    return f"{described}, in {1 - without:.0%} of copies" if drawn else described


def _range_figures(model: Model, split: Split) -> list[Drawn]:
    test = split.test
    assert test.y is not None
    assert model.header.input_spec is not None
    some = model.prepare(figures.one_of_each(test.x, test.y))
    drawn = []
    for row in model.invariances:
        if not row.kept:
            continue
        figure = figures.edges(row, some, model.header.input_spec)
        if figure is not None:
            status = wording.status(row).capitalize()
            caption = f"{status}: {wording.strength(row)}. Test samples."
            drawn.append(Drawn(f"edge-{row.transform.name}", row.transform.name, caption, figure))
    return drawn


def _score_figures(model: Model, evaluation: Evaluation, history: Sequence[Row]) -> list[Drawn]:
    drawn = []
    if evaluation.confusion is not None:
        figure = figures.confusion(evaluation.confusion, model.header.classes)
        if figure is not None:
            caption = f"Predictions for {evaluation.count} test samples."
            drawn.append(Drawn("confusion", "Confusion of classes", caption, figure))
    if history:
        caption = "The loss in the course of training."
        drawn.append(Drawn("curves", "Training", caption, figures.curves(history)))
    return drawn
