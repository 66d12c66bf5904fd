"""The matrix of classes and transforms: how far each class allows each transform."""

from collections.abc import Sequence
from typing import NamedTuple

from augnet.audit.result import AuditedPart
from augnet.learn.parts import PartRange
from augnet.learn.result import Invariance
from augnet.transforms import Bernoulli


class Cell(NamedTuple):
    """What a matrix shows of a class and a transform."""

    text: str
    style: str
    """The status of the labels, or the finding."""
    more: str
    """The interval of the labels, their samples, and the finding."""


class Matrix(NamedTuple):
    """Names of transforms with their units, and rows of cells by the name of a class."""

    transforms: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    beyond: tuple[str, ...] = ()
    """Transforms all of whose classes go farther than all samples together."""


def matrix(
    rows: Sequence[tuple[str, Invariance, Sequence[AuditedPart]]],
) -> Matrix | None:
    """Return the matrix of transforms whose classes were measured; None if there are none."""
    shown = [row for row in rows if row[1].by_class or row[2]]
    if not shown:
        return None
    parts = [
        (labels, {p.name: p for p in labels.by_class}, {p.name: p for p in audited})
        for _, labels, audited in shown
    ]
    classes = dict.fromkeys(name for _, known, found in parts for name in (*known, *found))
    return Matrix(
        tuple(_title(name, labels) for name, labels, _ in shown),
        tuple(
            (
                name,
                tuple(_cell(row, known.get(name), found.get(name)) for row, known, found in parts),
            )
            for name in classes
        ),
        tuple(name for name, labels, _ in shown if _all_beyond(labels)),
    )


def _all_beyond(labels: Invariance) -> bool:
    """Whether each class that is clear goes farther than the interval of all samples."""
    clear = [part for part in labels.by_class if part.status != "unclear"]
    return (
        labels.status == "bounded"
        and bool(clear)
        and all(part.interval[0] > labels.interval[1] for part in clear)
    )


def _title(name: str, labels: Invariance) -> str:
    """Return the name of a transform, and its unit if cells have none."""
    plain = isinstance(labels.transform, Bernoulli) or labels.unit == "degrees"
    return name if plain else f"{name}, {labels.unit}"


def _cell(row: Invariance, labels: PartRange | None, found: AuditedPart | None) -> Cell:
    text, more = "–", []
    if labels is not None:
        text = _range(row, labels)
        if labels.reason:
            more.append(labels.reason)
        elif labels.kept and not isinstance(row.transform, Bernoulli):
            more.append(f"{labels.interval[0]:.3g} to {labels.interval[1]:.3g}")
        more.append(f"{labels.samples} samples")
    if found is None:
        return Cell(text, "unclear" if labels is None else labels.status, ", ".join(more))
    if isinstance(row.transform, Bernoulli):
        held = "holds" if found.strength >= row.transform.limit else "does not hold"
    else:
        held = f"holds to {found.strength:.3g}{_degrees(row)}"
    return Cell(f"{text} / {held}", found.finding, ", ".join([*more, found.finding]))


def _range(row: Invariance, part: PartRange) -> str:
    if part.status == "unclear":
        return "? unclear"
    if not part.kept:
        return "✗ no"
    if isinstance(row.transform, Bernoulli):
        return "✓ yes"
    return f"{'≥ ' if part.status == 'reached_limit' else ''}{part.strength:.3g}{_degrees(row)}"


def _degrees(row: Invariance) -> str:
    """Return the sign of degrees, if that is the unit; others are in the title."""
    return "°" if row.unit == "degrees" else ""
