"""What is asked and what was found, in transforms and physical units."""

import math
import statistics
from collections.abc import Iterable, Sequence

from augnet.paper.config import Claim
from augnet.paper.report.claims import Finding, Judged
from augnet.paper.report.quantities import QUANTITIES, Value
from augnet.paper.report.records import Record
from augnet.transforms import TRANSFORMS


def asked(claim: Claim) -> str:
    """Say what is asked of each seed."""
    name = QUANTITIES[claim.quantity].name.format(transform=claim.transform, copies=claim.copies)
    share = f"{100 * (claim.tolerance or 0):g} %"
    unit = unit_of(claim)
    if claim.near is not None:
        sought = f"{claim.near:g}{unit}" + (f" ± {share}" if claim.tolerance else "")
    elif claim.away_from is not None:
        sought = f"not {claim.away_from:g}{unit} ± {share}"
    elif claim.at_least is not None:
        sought = f"at least {claim.at_least:g}{unit}"
    elif claim.at_most is not None:
        sought = f"at most {claim.at_most:g}{unit}"
    elif claim.close_to is not None:
        sought = f"within {share} of the other's"
    else:
        sought = str(claim.equals) if claim.equals else "above the other's"
    return f"{name}: {sought}"


def unit_of(claim: Claim) -> str:
    """Give the unit of a claim's quantity, if it has one."""
    physical = claim.quantity in ("strength", "used-strength") and claim.transform in TRANSFORMS
    return f" {TRANSFORMS[str(claim.transform)].unit}" if physical else ""


def found(judged: Judged) -> list[str]:
    """Say for each variant what its seeds came to, and of several, in how many the claim holds."""
    lines = []
    for finding in judged.findings:
        if not finding.values:
            lines.append(f"{finding.variant}: not measured")
            continue
        text = f"{finding.variant}: {_values(finding.values.values())}{unit_of(judged.claim)}"
        if finding.other:
            text += f" against {_values(finding.others.values())} for {finding.other}"
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
    return spread([value for value in known if not isinstance(value, str)])


def spread(values: Sequence[float]) -> str:
    """Give the median and, of several values, the range that they span; infinity is never."""
    finite = [value for value in values if math.isfinite(value)]
    never = len(values) - len(finite)
    if never:
        return f"{spread(finite)}; never {never}×" if finite else "never"
    if not finite:
        return "-"
    middle, low, high = (
        f"{value:.3g}" for value in (statistics.median(finite), min(finite), max(finite))
    )
    return middle if low == high else f"{middle} ({low} to {high})"


def learned(records: Sequence[Record]) -> list[str]:
    """Say what was learned, one line for all seeds that learned the same transforms."""
    groups: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(_transforms(record), []).append(record)
    lines = []
    for transforms, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        said = [_said(transform, place, group) for place, transform in enumerate(transforms)]
        text = (", " if group[0].widths else " → ").join(said) or "-"
        lines.append(text if len(groups) == 1 else f"{len(group)}×: {text}")
    return lines


def _transforms(record: Record) -> tuple[str, ...]:
    chosen = (layer.selected.transform if layer.used else "identity" for layer in record.layers)
    return (*chosen, *record.widths)


def _said(transform: str, place: int, group: Sequence[Record]) -> str:
    if transform == "identity":
        return transform
    if group[0].widths:
        unit = " degrees" if transform == "rotate" else ""
        return f"{transform} {spread([each.strength(transform) or 0.0 for each in group])}{unit}"
    chosen = [each.layers[place].selected for each in group]
    weight = statistics.median(each.weight for each in chosen)
    times = f"{weight:.2f} × " if weight < 0.995 else ""
    unit = TRANSFORMS[transform].unit if transform in TRANSFORMS else ""
    return f"{times}{transform} {spread([each.strength for each in chosen])} {unit}".rstrip()
