"""Write invariances as plain text, with units."""

from collections.abc import Sequence

from augnet.learn.result import Invariance
from augnet.transforms import Bernoulli, Multiplicative


def with_unit(row: Invariance, value: float) -> str:
    """Write a strength: `27°`, `0.12 of the width`."""
    return f"{value:.3g}{'°' if row.unit == 'degrees' else f' {row.unit}'}"


def status(row: Invariance) -> str:
    """Write the status: `not invariant`, `bounded`, `reached limit` or `unclear`."""
    return row.status.replace("_", " ")


def strength(row: Invariance) -> str:
    """Write how far a transform may go: `±27°`, `up to 0.2 std`, `probability 0.5`."""
    if row.status == "not_invariant":
        return "–"
    if row.unit == "probability":
        return f"probability {row.strength:.2g}"
    if isinstance(row.transform, Multiplicative):
        return f"a factor of {row.strength:.3g} up or down"
    return f"{row.transform.reach}{with_unit(row, row.strength)}"


def interval(row: Invariance) -> str:
    """Write the interval of the strength."""
    low, high = row.interval
    if isinstance(row.transform, Bernoulli):
        return "samples disagree" if low != high else "–"
    if row.status == "not_invariant" or low == high:
        return "–"
    return f"{low:.3g} to {with_unit(row, high)}"


def agreement(row: Invariance) -> str:
    """Write how many seeds have this status."""
    same, seeds = row.seeds_agreeing
    return "all agree" if same == seeds else f"{same} of {seeds} agree"


def headline(rows: Sequence[Invariance]) -> str:
    """Write in one or two sentences which transforms keep the label, and which do not."""
    others = [row.transform.name for row in rows if row.status == "not_invariant"]
    if len(others) == len(rows):
        return f"The label is invariant to none of {len(rows)} transforms."
    kept = f"The label is invariant to {len(rows) - len(others)} of {len(rows)} transforms"
    if not others:
        return f"{kept}, each within its range."
    return f"{kept}, each within its range. It is not invariant to {_listed(others)}."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
