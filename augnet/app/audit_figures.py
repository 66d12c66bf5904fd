"""Draw the response of labels and of a model to a transform, and samples that show a finding."""

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from augnet.app.figures import UNCHANGED, draw_images, draw_traces
from augnet.app.style import SOFT, canvas, color, legend, tidy
from augnet.app.wording import with_unit
from augnet.audit import Audited
from augnet.audit.compare import labels_curve
from augnet.data import InputSpec
from augnet.learn.response import to_fraction
from augnet.transforms import Bernoulli, Signed

ALLOWED = "#009e73"


def response(row: Audited) -> Figure:
    """Draw the error that each strength adds: to the model, and to the network of the labels."""
    figure = canvas(2.8)
    axis = figure.subplots()
    if isinstance(row.labels.transform, Bernoulli):
        _bars(axis, row)
    else:
        _lines(axis, row)
        legend(figure, axis)
    return figure


def _lines(axis: Axes, row: Audited) -> None:
    labels, transform = row.labels, row.labels.transform
    if labels.kept:
        end = to_fraction(transform, labels.strength)
        start = -end if isinstance(transform, Signed) else 0.0
        ends = [_direction(part, row) for part in labels.by_direction]
        start, end = (-ends[0], ends[1]) if len(ends) == 2 else (start, end)
        axis.axvspan(start, end, color=ALLOWED, alpha=0.12, lw=0, label="labels allow")
    places = [point.fraction for point in row.curve]
    low, high = zip(*(point.interval for point in row.curve), strict=True)
    scaled = [100 * point.added for point in row.curve]
    axis.fill_between(places, [100 * v for v in low], [100 * v for v in high], color=color(0),
                      alpha=0.2, lw=0)  # fmt: skip
    axis.plot(places, scaled, "o-", ms=3, lw=1.6, color=color(0), label="model: error added")
    changed = [100 * point.changed for point in row.curve]
    axis.plot(places, changed, lw=1.0, color=SOFT, label="model: predictions changed")
    known = labels_curve(labels)
    if known:
        points = [(point.fraction, 100 * point.added) for point in known]
        axis.plot(*zip(*points, strict=True), "--", lw=1.6, color=color(1), label="labels")
    span = (-1.0, -0.5, 0.0, 0.5, 1.0) if isinstance(transform, Signed) else (0.0, 0.5, 1.0)
    axis.set_xticks(span, [f"{float(transform.strength(each)):.3g}" for each in span])
    bottom, top = axis.get_ylim()
    axis.set(xlabel=transform.unit, ylabel="% of samples", ylim=(min(-1, bottom), max(5, top)))
    tidy(axis)


def _direction(part: object, row: Audited) -> float:
    return to_fraction(row.labels.transform, float(getattr(part, "strength", 0.0)))


def _bars(axis: Axes, row: Audited) -> None:
    (point,) = (each for each in row.curve if each.fraction)
    bars = {"model: error added": (100 * point.added, color(0))}
    bars["model: predictions changed"] = (100 * point.changed, SOFT)
    if row.labels.cost is not None:
        bars["labels: error added"] = (100 * row.labels.cost, color(1))
    axis.barh(list(bars), [value for value, _ in bars.values()], height=0.5,
              color=[tint for _, tint in bars.values()])  # fmt: skip
    axis.invert_yaxis()
    axis.set(xlabel="% of samples", xlim=(min(0, axis.get_xlim()[0]), max(5, axis.get_xlim()[1])))
    tidy(axis)
    axis.grid(False)


def worst(row: Audited, spec: InputSpec) -> Figure | None:
    """Draw the worst samples before and after; None for vectors, or if there are none."""
    if not row.worst or spec.kind == "vectors":
        return None
    before, after = torch.stack([each.views for each in row.worst]).unbind(1)
    moved = isinstance(row.labels.transform, Bernoulli)
    title = row.name if moved else with_unit(row.labels, row.worst[0].strength)
    if spec.kind == "images":
        return draw_images([before, after], [UNCHANGED, title])
    return draw_traces([before, after], [UNCHANGED, title], spec)
