"""Write invariances as plain text, with units."""

import re
from collections import Counter
from collections.abc import Sequence

from augnet.learn.result import Invariance
from augnet.model import Header
from augnet.transforms import Bernoulli, Multiplicative

NO_REASON = "the data, the network or the budget cannot tell"


def with_unit(row: Invariance, value: float) -> str:
    """Write a strength: `27°`, `0.12 of the width`."""
    return f"{value:.3g}{'°' if row.unit == 'degrees' else f' {row.unit}'}"


def does(row: Invariance) -> str:
    """Write what a transform does, with the limit of the search as a number."""
    first, *_ = (type(row.transform).__doc__ or row.transform.name).splitlines()
    return re.sub(r"`?\blimit\b`?", f"{row.transform.limit:.3g}", first)


def status(row: Invariance) -> str:
    """Write the status: `not invariant`, `bounded`, `reached limit` or `unclear`."""
    return row.status.replace("_", " ")


def symbol(row: Invariance) -> str:
    """Return a sign for the status: ✓ kept, ✗ not invariant, ? unclear."""
    return "✓" if row.kept else "?" if row.status == "unclear" else "✗"


def by_use(rows: Sequence[Invariance]) -> list[Invariance]:
    """Sort by use: what is kept, then what is not invariant, then what is unclear.

    Of what is kept, that which helps most comes first, or that which costs least; of the rest, that
    which costs most.
    """
    order = {"✓": 0, "✗": 1, "?": 2}

    def key(row: Invariance) -> tuple[int, float, float]:
        cost = row.cost or 0.0
        return order[symbol(row)], -(row.benefit or 0.0), cost if row.kept else -cost

    return sorted(rows, key=key)


def reason(row: Invariance) -> str:
    """Write why a transform is unclear; "" if it is not."""
    return (row.reason or NO_REASON) if row.status == "unclear" else ""


def strength(row: Invariance) -> str:
    """Write how far a transform may go: `±27°`, `up to 0.2 std`, `probability 0.5`."""
    if not row.kept:
        return "–"
    if row.unit == "probability":
        return f"probability {row.strength:.2g}"
    if row.by_direction and not isinstance(row.transform, Multiplicative):
        low, high = (with_unit(row, part.strength) for part in row.by_direction)
        return f"−{low} to +{high}"
    if isinstance(row.transform, Multiplicative):
        return f"a factor of {row.strength:.3g} up or down"
    return f"{row.transform.prefix}{with_unit(row, row.strength)}"


def interval(row: Invariance) -> str:
    """Write the interval of the strength."""
    low, high = row.interval
    if not row.kept or isinstance(row.transform, Bernoulli) or low == high:
        return "–"
    return f"{low:.3g} to {with_unit(row, high)}"


def cost(row: Invariance, classes: bool) -> str:
    """Write the error that a transform adds: `adds 0.4 points`, `−0.2 points`.

    That of values is a fraction of their spread.
    """
    if row.cost is None or row.status == "unclear":
        return "–"
    unit = "points" if classes else "% of the spread"
    value = round(100 * row.cost, 1)
    if value == 0:
        return f"0 {unit}"
    return f"adds {value:.1f} {unit}" if value > 0 else f"−{-value:.1f} {unit}"


def agreement(row: Invariance) -> str:
    """Write how many seeds have this status."""
    same, seeds = row.seeds_agreeing
    return "all agree" if same == seeds else f"{same} of {seeds} agree"


def headline(rows: Sequence[Invariance], augmented: bool = True) -> str:
    """Write how many transforms keep the label, how many do not, and how many are unclear.

    `augmented` says whether the model has an augmentation.
    """
    unclear = [row for row in rows if row.status == "unclear"]
    others = [row for row in rows if row.status == "not_invariant"]
    kept = len(rows) - len(unclear) - len(others)
    if len(unclear) == len(rows):
        sentences = [f"Nothing can be concluded about {_counted(rows)}: {_reasons(rows)}."]
    elif kept:
        sentences = [f"The label is invariant to {kept} of {_number(rows)}, each within its range."]
    elif unclear:
        sentences = [f"The label is not known to be invariant to any of {_number(rows)}."]
    else:
        sentences = [f"The label is invariant to none of {_number(rows)}."]
    if 0 < len(others) < len(rows):
        sentences.append(f"It is not invariant to {len(others)}: {_names(others)}.")
    if 0 < len(unclear) < len(rows):
        verb = "is" if len(unclear) == 1 else "are"
        sentences.append(f"{len(unclear)} {verb} unclear: {_names(unclear)}.")
    if not augmented:
        sentences.append("The model has no augmentation.")
    return " ".join(sentences)


def measured(header: Header) -> str:
    """Write the held-out score of the network that measured, and chance; "" if unknown."""
    found = header.measurement
    if found.score is None:
        return ""
    text = score(header, found.score)
    if header.classes:
        text = f"Measured at a held-out accuracy of {text}"
    else:
        text = f"Measured with {text} of the held-out variance explained"
    if found.chance is not None:
        text += f"; a constant prediction has {score(header, found.chance)}"
    return f"{text}."


def gain(header: Header) -> str:
    """Write what transforms gain on held-out samples; "" if nothing was compared."""
    found = header.measurement.gain
    if found is None:
        return ""
    plain = score(header, found.plain_score)
    if not found.draws:
        return (
            "The model has no augmentation: on held-out samples no combination of the transforms "
            f"was better than plain training ({plain})."
        )
    change, averaging = (difference(header, each) for each in (found.difference, found.averaging))
    low, high = (difference(header, each) for each in found.interval)
    low = low.removesuffix(" points")
    times = "one transform" if found.draws == 1 else f"{found.draws} transforms"
    return (
        f"Training with {times} per sample: {score(header, found.score)} on held-out samples; "
        f"without augmentation, same steps: {plain}. The difference is {change} (90 % interval "
        f"{low} to {high}). Averaging over copies is {averaging} of it.{_left_out(header)}"
    )


def _left_out(header: Header) -> str:
    """Write which transforms the model does not use, because training with them did not help."""
    names = [row.transform.name for row in header.left_out if row.benefit is not None]
    if not names:
        return ""
    times = "them" if len(names) > 1 else "it"
    return (
        f" Not in the model, because training with {times} made predictions for samples as they "
        f"are worse: {', '.join(names)}."
    )


def difference(header: Header, value: float) -> str:
    """Write the difference of two scores: `+1.2 points`, or `+0.012` for values."""
    scale, digits, unit = (100, 1, " points") if header.classes else (1, 3, "")
    value = round(scale * value, digits) + 0.0
    return f"{'−' if value < 0 else '+'}{abs(value):.{digits}f}{unit}"


def score(header: Header, value: float) -> str:
    """Write an accuracy as `91.2 %`, or a fraction of the variance as `0.912`."""
    return f"{100 * value:.1f} %" if header.classes else f"{value + 0.0:.3f}"


def _number(rows: Sequence[Invariance]) -> str:
    return f"{len(rows)} transform{'' if len(rows) == 1 else 's'}"


def _counted(rows: Sequence[Invariance]) -> str:
    return rows[0].transform.name if len(rows) == 1 else f"any of {_number(rows)}"


def _reasons(rows: Sequence[Invariance]) -> str:
    """Write the reasons of unclear rows, the most frequent first, and how often if they differ."""
    counts = Counter(row.reason or NO_REASON for row in rows).most_common()
    if len(counts) == 1:
        return counts[0][0]
    return "; ".join(f"{text} ({count})" for text, count in counts)


def _names(rows: Sequence[Invariance]) -> str:
    names = [row.transform.name for row in rows]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
