"""Describe criteria, findings and what was learned in words and physical units."""

import math
import statistics
from collections.abc import Iterable, Sequence

from augnet.layers.state import TransformState
from augnet.paper.config import Claim
from augnet.paper.report.claims import Finding, JudgedClaim
from augnet.paper.report.quantities import QUANTITIES, Value
from augnet.paper.report.records import Record
from augnet.transforms import TRANSFORMS


def describe_criterion(claim: Claim) -> str:
    """Describe what each seed must show: the quantity, and the value it must have."""
    name = QUANTITIES[claim.quantity].name.format(transform=claim.transform, copies=claim.copies)
    percent = f"{100 * (claim.tolerance or 0):g} %"
    unit = unit_of(claim)
    if claim.near is not None:
        target = f"{claim.near:g}{unit}" + (f" ± {percent}" if claim.tolerance else "")
    elif claim.away_from is not None:
        target = f"not {claim.away_from:g}{unit} ± {percent}"
    elif claim.at_least is not None:
        target = f"at least {claim.at_least:g}{unit}"
    elif claim.at_most is not None:
        target = f"at most {claim.at_most:g}{unit}"
    elif claim.close_to is not None:
        target = f"within {percent} of the reference"
    else:
        target = str(claim.equals) if claim.equals else "above the reference"
    return f"{name}: {target}"


def unit_of(claim: Claim) -> str:
    """Return the unit of a claim's quantity after a space, or nothing if it has none."""
    physical = claim.quantity in ("strength", "used-strength") and claim.transform in TRANSFORMS
    return f" {TRANSFORMS[str(claim.transform)].unit}" if physical else ""


def describe_findings(judged: JudgedClaim) -> list[str]:
    """Describe the values of each variant and, of several, in how many seeds the claim holds."""
    lines = []
    for finding in judged.findings:
        if not finding.values:
            lines.append(f"{finding.variant}: not measured")
            continue
        text = f"{finding.variant}: {_values(finding.values.values())}{unit_of(judged.claim)}"
        if finding.reference:
            text += f", reference {finding.reference}: {_values(finding.reference_values.values())}"
        lines.append(f"{text}{_count(finding) if len(judged.findings) > 1 else ''}")
    return lines


def _count(finding: Finding) -> str:
    return f" [{sum(finding.held.values())} of {len(finding.held)}]"


def _values(values: Iterable[Value]) -> str:
    """Count names; of numbers give the median and the range."""
    known = [value for value in values if value is not None]
    names = [value for value in known if isinstance(value, str)]
    if names:
        counts = sorted(((names.count(name), name) for name in set(names)), reverse=True)
        return ", ".join(f"{name} {count}×" for count, name in counts)
    return median_and_range([value for value in known if not isinstance(value, str)])


def median_and_range(values: Sequence[float]) -> str:
    """Write the median and, of several values, the range; infinity is written as never."""
    finite = [value for value in values if math.isfinite(value)]
    never = len(values) - len(finite)
    if never:
        return f"{median_and_range(finite)}; never {never}×" if finite else "never"
    if not finite:
        return "-"
    middle, low, high = (
        f"{value:.3g}" for value in (statistics.median(finite), min(finite), max(finite))
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def describe_learned(records: Sequence[Record]) -> list[str]:
    """Describe what was learned, in one line for all seeds that selected the same transforms."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(_selection(record), []).append(record)
    lines = []
    for names, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        parts = [_describe_transform(name, place, group) for place, name in enumerate(names)]
        text = (", " if group[0].widths else " → ").join(parts) or "-"
        lines.append(text if len(groups) == 1 else f"{len(group)}×: {text}")
    return lines


def _selection(record: Record) -> tuple[str, ...]:
    """Return what each layer does, by name, or all of Augerino's generators."""
    chosen = (" + ".join(each.name for each in layer.parts) for layer in record.layers)
    return (*(names or "identity" for names in chosen), *record.widths)


def _describe_transform(name: str, place: int, group: Sequence[Record]) -> str:
    if name == "identity":
        return name
    if group[0].widths:
        unit = " degrees" if name == "rotate" else ""
        return f"{name} {median_and_range([each.strength(name) or 0.0 for each in group])}{unit}"
    parts = zip(*(record.layers[place].parts for record in group), strict=True)
    return " + ".join(map(_describe_part, parts))


def _describe_part(chosen: Sequence[TransformState]) -> str:
    weight = statistics.median(each.weight or 0.0 for each in chosen)
    share = f" (weight {weight:.2f})" if weight < 0.995 else ""
    strengths = median_and_range([each.strength for each in chosen])
    return f"{chosen[0].name} {strengths} {chosen[0].unit}".rstrip() + share
