"""What was found, in transforms and units."""

from augnet.learn.result import Invariance
from augnet.transforms import Bernoulli, Multiplicative


def units(row: Invariance, value: float) -> str:
    """Say a strength: `27°`, `0.12 of the width`, `1.4 times`."""
    return f"{value:.3g}{'°' if row.unit == 'degrees' else f' {row.unit}'}"


def found(row: Invariance) -> str:
    """Say how far a transform leaves the label alone."""
    if row.verdict == "none":
        return "changes the label"
    if isinstance(row.transform, Bernoulli):
        return "leaves the label alone"
    if row.unit == "probability":
        said = f"a probability of {row.strength:.2g}"
    elif isinstance(row.transform, Multiplicative):
        said = f"a factor of {row.strength:.3g} up or down"
    else:
        said = f"{row.transform.prefix}{units(row, row.strength)}"
    if row.verdict == "within" and row.unit == "probability":
        return f"leaves the label alone up to {said}"
    if row.verdict == "within":
        return f"leaves the label alone within {said}".replace("within up to", "up to")
    return f"leaves the label alone to at least {said}, where the search ended".replace(
        "at least up to", "at least"
    )


def sure(row: Invariance) -> str:
    """Say how sure that is."""
    low, high = row.interval
    if isinstance(row.transform, Bernoulli):
        undecided = low != high
        return "samples disagree" if undecided else "–"
    if row.verdict == "none" or low == high:
        return "–"
    return f"{low:.3g} to {units(row, high)}"


def agree(row: Invariance) -> str:
    """Say how many seeds say the same."""
    same, seeds = row.agree
    return "all agree" if same == seeds else f"{same} of {seeds} agree"


def headline(rows: tuple[Invariance, ...]) -> str:
    """Say in one sentence which transforms leave the label alone, and which do not."""
    kept = [row.transform.name for row in rows if row.verdict != "none"]
    lost = [row.transform.name for row in rows if row.verdict == "none"]
    if not kept:
        return f"None of {len(lost)} transformations leaves the label alone."
    said = f"{len(kept)} of {len(rows)} transformations leave the label alone"
    if not lost:
        return f"{said}, each within its range."
    return f"{said}, each within its range; {listed(lost)} {'do' if len(lost) > 1 else 'does'} not."


def listed(names: list[str]) -> str:
    """Write names as a list in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
