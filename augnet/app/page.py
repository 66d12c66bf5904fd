"""Write one self-contained page: invariances, figures, scores."""

import platform
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch

import augnet
from augnet.app import figures, wording
from augnet.app.evaluate import Evaluation
from augnet.app.html import render
from augnet.app.matrix import matrix
from augnet.app.reliability import banner
from augnet.app.response import response
from augnet.app.settings import Settings
from augnet.app.style import Drawn
from augnet.data import Split
from augnet.data.split import SHARED_RECORDINGS
from augnet.learn.progress import duration
from augnet.learn.result import Invariance
from augnet.model import Header, Model
from augnet.text import printable
from augnet.training import Row
from augnet.transforms import Bernoulli

PHASES = {
    "reference": "network without transforms",
    "transforms": "measuring transforms",
    "compared": "comparing nets",
    "net": "training the net",
    "layers": "training the layers",
}
"""Names of the phases of learning, for the times that they took."""


class Shown(NamedTuple):
    """A transform with its figures."""

    row: Invariance
    caption: str
    drawn: list[Drawn]


def page(
    model: Model,
    settings: Settings,
    evaluation: Evaluation,
    split: Split,
    history: Sequence[Row],
    seconds: Mapping[str, float] | None = None,
) -> str:
    """Return the page as HTML that needs no other file; `seconds` are those of each phase."""
    rows = wording.by_use(model.invariances)
    header = model.header
    return render(
        "app/page.html",
        title=printable(settings.data.rstrip("/").rpartition("/")[2]),
        banner=banner(header, rows, settings.learn.seeds),
        headline=wording.headline(rows, bool(header.layers or header.measurement.gain)),
        gain=wording.gain(header),
        compared=_compared(header),
        rows=[(row, _in_model(model, row)) for row in rows],
        costs=any(row.cost is not None for row in rows),
        seeds=settings.learn.seeds,
        matrix=matrix([(row.transform.name, row, ()) for row in rows]),
        wording=wording,
        model=model,
        evaluation=evaluation,
        split=split,
        transforms=_transforms(model, rows, split),
        drawn=_score_figures(model, evaluation, history),
        notes=list(split.train.log),
        shared=SHARED_RECORDINGS if SHARED_RECORDINGS in split.train.log else "",
        made=_made(model, settings, split, seconds or {}),
    )


def _compared(header: Header) -> list[tuple[str, str, bool]]:
    """Return the nets that were compared: what they draw, their scores, and which one was taken."""
    gain = header.measurement.gain
    if gain is None:
        return []
    found = []
    for draws, value in zip(gain.compared, gain.scores, strict=True):
        name = f"{draws} transform{'' if draws == 1 else 's'} per sample"
        score = wording.score(header, value)
        name = name if draws else "plain training, no transform"
        found.append((name, score, draws == gain.draws))
    return found


def _made(
    model: Model, settings: Settings, split: Split, seconds: Mapping[str, float]
) -> dict[str, str]:
    """Return how the page was made: the command, the data, the seed, versions, and times."""
    learn = settings.learn
    seeds = f"{learn.seed}" if learn.seeds == 1 else f"{learn.seed} and {learn.seeds - 1} more"
    times = [f"{PHASES.get(name, name)} {duration(value)}" for name, value in seconds.items()]
    versions = f"augnet {augnet.__version__}, torch {torch.__version__}"
    made = {
        "command": settings.command,
        "data": f"{printable(settings.data)}: {len(split.train)} training samples, "
        f"{len(split.test)} test samples",
        "seed": seeds,
        "version": f"{versions}, Python {platform.python_version()}",
        "trunk": model.header.trunk,
        "time": ", ".join(times),
    }
    return {name: value for name, value in made.items() if value}


def _in_model(model: Model, row: Invariance) -> str:
    """Write how far the model goes with a transform, and in how many copies if it is drawn."""
    if not model.header.layers:
        return "–"
    unused = row.benefit is not None and row in model.header.left_out
    described, without, drawn = "no: it did not help" if unused else "–", 1.0, False
    for layer in model.net.augment:  # type: ignore[attr-defined]
        for transform, magnitude, weight in zip(
            layer.transforms, layer.magnitudes.tolist(), layer.weights.tolist(), strict=True
        ):
            if transform == row.transform:
                described = transform.describe(magnitude)
                without *= 1 - weight
                drawn = len(layer.transforms) > 1
    return f"{described}, in {100 * (1 - without):.0f} % of copies" if drawn else described


def _transforms(model: Model, rows: Sequence[Invariance], split: Split) -> list[Shown]:
    """Draw samples under each transform that is not unclear, and all response curves."""
    test, header = split.test, model.header
    assert test.y is not None
    assert header.input_spec is not None
    some = model.prepare(figures.one_of_each(test.x, test.y))
    shown = []
    for row in rows:
        name = row.transform.name
        clear = row.status != "unclear"
        edges = figures.edges(row, some, header.input_spec) if clear else None
        curve = response(row, bool(header.classes))
        caption = _of_samples(row)
        drawn = [] if edges is None else [Drawn(f"edge-{name}", "Samples", caption, edges)]
        if curve is not None:
            caption = _of_response(row)
            drawn.append(Drawn(f"response-{name}", "Response", caption, curve))
        if drawn:
            shown.append(Shown(row, _answer(row, bool(header.classes)), drawn))
    return shown


def _of_samples(row: Invariance) -> str:
    """Write what the samples under a transform show."""
    if isinstance(row.transform, Bernoulli):
        return "Test samples, as they are and transformed."
    if not row.kept:
        return "Test samples, up to the limit of the transform."
    if row.magnitude == 1:
        return "Test samples. The edge of the range is the limit of the transform."
    return "Test samples: solid at the edge of the range, dashed or dotted beyond it."


def _of_response(row: Invariance) -> str:
    """Write what a response curve shows."""
    if isinstance(row.transform, Bernoulli):
        return (
            "The error that training with the transform adds: to held-out samples as they are, and "
            "transformed. The larger one counts."
        )
    return "The error that each strength adds on held-out samples."


def _answer(row: Invariance, classes: bool) -> str:
    """Write the answer for a transform in one line."""
    if row.status == "unclear":
        return wording.reason(row)
    parts = [wording.strength(row)] if row.kept else ["it changes the label"]
    parts += [f"90 % interval {wording.interval(row)}"] if wording.interval(row) != "–" else []
    cost = wording.cost(row, classes)
    return ", ".join([*parts, *([f"cost: {cost}"] if cost != "–" else [])])


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
