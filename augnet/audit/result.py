"""The result of `audit`."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from augnet.audit.compare import Finding
from augnet.learn.parts import CurvePoint, PartRange
from augnet.learn.response import to_fraction
from augnet.learn.result import Invariance
from augnet.transforms import TRANSFORMS, Bernoulli, Transform

ORDER: dict[Finding, int] = {"fragile": 0, "blind": 0, "unclear": 1, "matches": 2}
"""Findings that cost something come first."""


@dataclass(frozen=True)
class Worst:
    """A sample that shows a finding, before and after the transform."""

    row: int
    strength: float
    label: str
    before: str
    """What the model predicts for it."""
    after: str
    views: Tensor = field(repr=False, compare=False)
    """The sample before and after (2, ...)."""


@dataclass(frozen=True)
class AuditedPart:
    """The finding of one class, or of one direction."""

    name: str
    finding: Finding
    labels: PartRange | None
    """How far the labels of this part allow the transform; None if only all were measured."""
    strength: float
    interval: tuple[float, float]
    cost: float
    samples: int


@dataclass(frozen=True)
class Audited:
    """How far labels allow a transform, how far the model holds, and the finding.

    `fragile`: the model gives up earlier than the labels do; `matches`; `blind`: the model does not
    react where labels change; `unclear`: the samples, the labels or the model cannot tell, for the
    given `reason`.
    """

    labels: Invariance
    finding: Finding
    strength: float
    """How far the model holds: up to here, the added error is within the tolerance."""
    interval: tuple[float, float]
    """The same with a confidence of 90 %."""
    cost: float
    """Fragile or matching: the error added at the end of the labels' range. Blind: the fraction of
    predictions that stay though the label changes."""
    reason: str = ""
    curve: tuple[CurvePoint, ...] = field(default=(), repr=False)
    worst: tuple[Worst, ...] = field(default=(), repr=False)
    by_class: tuple[AuditedPart, ...] = field(default=(), repr=False)
    by_direction: tuple[AuditedPart, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """The name of the transform."""
        return self.labels.transform.name

    @property
    def reached(self) -> bool:
        """Whether the model holds up to the limit."""
        return self.strength >= float(self.labels.transform.strength(1.0))

    def __str__(self) -> str:
        transform = self.labels.transform
        if isinstance(transform, Bernoulli):
            allow = "yes" if self.labels.kept else "no"
            model = "holds" if self.reached else "does not hold"
        else:
            allow = f"{transform.prefix}{self.labels.strength:.3g}" if self.labels.kept else "no"
            model = f"holds to {self.strength:.3g} {transform.unit}"
        allow = "unclear" if self.labels.status == "unclear" else allow
        text = f"{self.name}: {self.finding}, labels allow {allow}, the model {model}"
        if self.finding in ("fragile", "blind"):
            text += f", cost {100 * self.cost:.1f} points"
        return f"{text} ({self.reason})" if self.reason else text


@dataclass(frozen=True)
class AuditResult:
    """One `Audited` per transform, those that cost most first."""

    rows: tuple[Audited, ...]
    model: str
    score: float
    """The accuracy of the model, each class weighted the same; of values the variance explained."""
    chance: float
    samples: int
    predicted: int
    """Forward passes: how many samples the model predicted."""
    planned: int
    """Strengths × samples, of all transforms."""
    classes: tuple[str, ...] = ()
    tolerance: float = 0.01
    warnings: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Audited:
        """Return the row of a transform by its name."""
        for row in self.rows:
            if row.name == name.replace("-", "_"):
                return row
        raise KeyError(f"{name!r}; transforms are {', '.join(row.name for row in self.rows)}")

    def __iter__(self) -> Iterator[Audited]:
        return iter(self.rows)

    def __str__(self) -> str:
        lines = [f"warning: {text}" for text in self.warnings]
        kind = "accuracy" if self.classes else "variance explained"
        lines.append(f"{self.model}: {kind} {self.score:.3f} on {self.samples} samples")
        return "\n".join([*lines, *map(str, self.rows)])

    def found(self, *findings: str) -> list[Audited]:
        """Return the rows with one of these findings."""
        return [row for row in self.rows if row.finding in findings]

    @property
    def values(self) -> dict[str, Any]:
        """The result as plain values, for files."""
        return {
            "model": self.model,
            "score": self.score,
            "chance": self.chance,
            "samples": self.samples,
            "predicted": self.predicted,
            "strengths_times_samples": self.planned,
            "classes": list(self.classes),
            "tolerance": self.tolerance,
            "warnings": list(self.warnings),
            "transforms": [_plain(row) for row in self.rows],
        }

    def to_pytest(self, model: str, data: str | None = None, path: str | Path | None = None) -> str:
        """Return, and write, a test file that fails if a later model is less invariant."""
        from augnet.audit.pytest_file import write_test

        return write_test(self.values, model, data, path)


def _plain(row: Audited) -> dict[str, Any]:
    """Return a row as plain values, without views of samples."""
    worst = [
        {
            "row": each.row,
            "strength": each.strength,
            "label": each.label,
            "before": each.before,
            "after": each.after,
        }
        for each in row.worst
    ]
    return {
        "name": row.name,
        "unit": row.labels.unit,
        "finding": row.finding,
        "labels": _labels(row.labels),
        "strength": row.strength,
        "interval": list(row.interval),
        "reached_limit": row.reached,
        "labels_fraction": to_fraction(row.labels.transform, row.labels.strength),
        "cost": row.cost,
        "reason": row.reason,
        "text": str(row),
        "curve": [asdict(point) for point in row.curve],
        "worst": worst,
        "by_class": [asdict(part) for part in row.by_class],
        "by_direction": [asdict(part) for part in row.by_direction],
    }


def _labels(row: Invariance) -> dict[str, Any]:
    """Return what is known about labels; what is unclear has no strength."""
    known = row.status != "unclear"
    return {
        "transform": _spec(row.transform),
        "status": row.status,
        "strength": row.strength if known else None,
        "interval": list(row.interval) if known else None,
        "cost": row.cost,
        "reason": row.reason,
        "curve": [asdict(point) for point in row.curve],
        "by_class": [asdict(part) for part in row.by_class],
        "by_direction": [asdict(part) for part in row.by_direction],
    }


def _spec(transform: Transform) -> dict[str, Any] | None:
    """Return the table by which a transform can be built again; None if it is not registered."""
    if TRANSFORMS.get(transform.name) is not type(transform):
        return None
    given = {each.name: getattr(transform, each.name) for each in fields(transform) if each.init}
    return {"name": transform.name} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in given.items()
    }
