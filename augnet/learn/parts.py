"""The range of a transform in one class or in one direction."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from typing import Any, Literal, TypeAlias

PartStatus: TypeAlias = Literal["not_invariant", "bounded", "reached_limit", "unclear"]


@dataclass(frozen=True)
class PartRange:
    """Up to which strength a transform preserves the label of one class, or in one direction."""

    name: str
    """The class, or the direction: − or +."""
    status: PartStatus
    strength: float
    interval: tuple[float, float]
    samples: int
    """Held-out samples that were measured."""
    reason: str = ""
    """Why the status is `unclear`."""

    @property
    def kept(self) -> bool:
        """Whether the label is preserved at some strength."""
        return self.status in ("bounded", "reached_limit")


@dataclass(frozen=True)
class CurvePoint:
    """The error that a strength adds, with an interval of 90 %, and how many predictions change."""

    strength: float
    """In physical units; negative strengths (or factors below 1) are the other direction."""
    fraction: float
    """Of the limit, with the sign of the direction."""
    added: float
    interval: tuple[float, float]
    changed: float


def parts_to_plain(
    by_class: Iterable[PartRange], by_direction: Iterable[PartRange], curve: Iterable[CurvePoint]
) -> list[list[tuple[Any, ...]]]:
    """Return ranges of parts and a curve as plain values."""
    return [[astuple(each) for each in rows] for rows in (by_class, by_direction, curve)]


def parts_from_plain(
    by_class: Iterable[Any] = (), by_direction: Iterable[Any] = (), curve: Iterable[Any] = ()
) -> dict[str, Any]:
    """Return fields of an `Invariance` from plain values."""
    return {
        "by_class": tuple(PartRange(*each) for each in by_class),
        "by_direction": tuple(PartRange(*each) for each in by_direction),
        "curve": tuple(CurvePoint(*each) for each in curve),
    }
