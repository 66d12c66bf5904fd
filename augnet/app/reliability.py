"""Write how far a result can be trusted, as a banner in words: color says nothing more."""

from collections.abc import Sequence
from typing import NamedTuple

from augnet.app import wording
from augnet.learn.result import Invariance
from augnet.model import Header


class Banner(NamedTuple):
    """What is said at the top of a page."""

    level: str
    """`clear`, `partly` or `nothing`."""
    symbol: str
    title: str
    lines: list[str]
    warnings: tuple[str, ...]


def banner(header: Header, rows: Sequence[Invariance], seeds: int) -> Banner:
    """Say how good the network was that measured, what is unclear, and what limits answers."""
    unclear = [row for row in rows if row.status == "unclear"]
    warnings = header.measurement.warnings
    if rows and len(unclear) == len(rows):
        level, symbol, title = "nothing", "✗", "Nothing can be concluded"
    elif unclear or warnings:
        level, symbol, title = "partly", "!", "Read with care: not all is clear"
    else:
        level, symbol, title = "clear", "✓", "All transforms have an answer"
    lines = [wording.measured(header), _steps(header, seeds), *map(_unclear, unclear)]
    lines.append(_unclear_classes(rows))
    return Banner(level, symbol, title, [line for line in lines if line], warnings)


def _steps(header: Header, seeds: int) -> str:
    """Write how many steps and seeds there were."""
    steps = header.measurement.steps
    if not steps:
        return ""
    counted = f"{steps:,} training steps of all networks".replace(",", " ")
    if seeds == 1:
        return f"{counted}, with one seed: --seeds 3 would say how much the seed matters."
    return f"{counted}, with {seeds} seeds."


def _unclear(row: Invariance) -> str:
    return f"Unclear is {row.transform.name}: {wording.reason(row)}."


def _unclear_classes(rows: Sequence[Invariance]) -> str:
    """Write how many ranges of classes are unclear."""
    parts = [part for row in rows for part in row.by_class]
    count = sum(part.status == "unclear" for part in parts)
    return f"{count} of {len(parts)} answers for single classes are unclear." if count else ""
