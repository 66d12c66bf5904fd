"""Judge the claims of the paper, seed by seed, on the records of runs."""

from collections.abc import Sequence
from typing import NamedTuple

from augnet.paper.config import Claim, Experiment
from augnet.paper.report.quantities import QUANTITIES, SELECTIONS, Value
from augnet.paper.report.records import Record


def holds(claim: Claim, value: Value, reference: Value = None) -> bool:
    """Return whether a value meets the criterion of a claim."""
    if claim.equals is not None:
        return value == claim.equals
    if not isinstance(value, float | int):
        return False
    if claim.at_least is not None:
        return value >= claim.at_least
    if claim.at_most is not None:
        return value <= claim.at_most
    if claim.near is not None:
        return _within(value, claim.near, claim)
    if claim.away_from is not None:
        return not _within(value, claim.away_from, claim)
    if not isinstance(reference, float | int):
        return False
    return value > reference if claim.above else _within(value, reference, claim)


def _within(value: float, center: float, claim: Claim) -> bool:
    return abs(value - center) <= (claim.tolerance or 0.0) * abs(center)


class Finding(NamedTuple):
    """The values of one variant by seed, and those of the reference they are compared with."""

    variant: str
    values: dict[int, Value]
    reference: str | None
    reference_values: dict[int, Value]
    held: dict[int, bool]


class JudgedClaim(NamedTuple):
    """A claim and its findings, one for each of its variants."""

    claim: Claim
    findings: list[Finding]
    asked: bool = True
    """False of a claim about selection where layers keep all transforms that have a range."""

    @property
    def held(self) -> list[bool]:
        """Whether the claim holds in each run; empty if runs of a variant are missing."""
        if not self.asked or not all(finding.held for finding in self.findings):
            return []
        return [held for finding in self.findings for held in finding.held.values()]

    @property
    def kind(self) -> str:
        """The verdict as one word: all, some, none, unknown or unasked."""
        held = self.held
        if not self.asked:
            return "unasked"
        return "unknown" if not held else "all" if all(held) else "some" if any(held) else "none"

    @property
    def verdict(self) -> str:
        """The verdict with the number of seeds, or of runs of several variants."""
        noun = "seeds" if len(self.findings) == 1 else "runs"
        count = f"{sum(self.held)} of {len(self.held)} {noun}"
        return {
            "all": f"reproduced ({count})",
            "some": f"in {count}",
            "none": f"not reproduced ({count})",
            "unknown": "not judged: runs are missing",
            "unasked": "not asked: all transforms with a range are kept",
        }[self.kind]


def judge(experiment: Experiment, records: Sequence[Record]) -> list[JudgedClaim]:
    """Judge all claims of an experiment on the runs that are not part of a sweep."""
    table = {(each.variant, each.seed): each for each in records if not each.sweep}
    return [
        JudgedClaim(claim, _findings(claim, table), _is_asked(claim, table))
        for claim in experiment.expect.claims
    ]


def _is_asked(claim: Claim, table: dict[tuple[str, int], Record]) -> bool:
    runs = [record for (variant, _), record in table.items() if variant in claim.variants]
    return claim.quantity not in SELECTIONS or not any(record.keeps_all for record in runs)


def _findings(claim: Claim, table: dict[tuple[str, int], Record]) -> list[Finding]:
    other = claim.other
    references = (other.variants if other else None) or claim.variants
    theirs = claim.model_copy(update={"copies": other.copies}) if other and other.copies else claim
    read = QUANTITIES[claim.quantity].read
    findings = []
    for variant, reference in zip(claim.variants, references, strict=True):
        name = _reference_name(claim, reference) if other else None
        finding = Finding(variant, {}, name, {}, {})
        for (each, seed), record in table.items():
            value = read(record, claim) if each == variant else None
            compared = table.get((reference, seed)) if other else None
            reference_value = read(compared, theirs) if compared else None
            if value is None or (other and reference_value is None):
                continue
            finding.values[seed] = value
            if other:
                finding.reference_values[seed] = reference_value
            finding.held[seed] = holds(claim, value, reference_value)
        findings.append(finding)
    return findings


def _reference_name(claim: Claim, variant: str) -> str:
    other = claim.other
    assert other is not None
    copies = f"C = {other.copies}" if other.copies and other.copies != claim.copies else ""
    return ", ".join(filter(None, (variant if other.variants else "", copies)))
