"""Claims of the paper, judged seed by seed on the records of runs."""

from collections.abc import Sequence
from typing import NamedTuple

from augnet.paper.config import Claim, Experiment
from augnet.paper.report.quantities import QUANTITIES, Value
from augnet.paper.report.records import Record


def holds(claim: Claim, value: Value, other: Value = None) -> bool:
    """Say whether a value is what a claim says."""
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
    if not isinstance(other, float | int):
        return False
    return value > other if claim.above else _within(value, other, claim)


def _within(value: float, center: float, claim: Claim) -> bool:
    return abs(value - center) <= (claim.tolerance or 0.0) * abs(center)


class Finding(NamedTuple):
    """What the seeds of one variant came to, each beside what it is compared with."""

    variant: str
    values: dict[int, Value]
    other: str | None
    others: dict[int, Value]
    held: dict[int, bool]


class Judged(NamedTuple):
    """A claim and what was found; every seed of every variant is asked."""

    claim: Claim
    findings: list[Finding]

    @property
    def held(self) -> list[bool]:
        """Whether each run shows the claim; none if runs of a variant are missing."""
        if not all(finding.held for finding in self.findings):
            return []
        return [held for finding in self.findings for held in finding.held.values()]

    @property
    def kind(self) -> str:
        """One transform for the verdict: all, some, none or unknown."""
        held = self.held
        return "unknown" if not held else "all" if all(held) else "some" if any(held) else "none"

    @property
    def verdict(self) -> str:
        """Say how many seeds, or runs of several variants, show the claim."""
        noun = "seeds" if len(self.findings) == 1 else "runs"
        count = f"{sum(self.held)} of {len(self.held)} {noun}"
        return {
            "all": f"reproduced ({count})",
            "some": f"in {count}",
            "none": f"not reproduced ({count})",
            "unknown": "not judged: runs are missing",
        }[self.kind]


def judge(experiment: Experiment, records: Sequence[Record]) -> list[Judged]:
    """Judge all claims of an experiment, on the runs without a point of a grid."""
    table = {(each.variant, each.seed): each for each in records if not each.sweep}
    return [Judged(claim, _findings(claim, table)) for claim in experiment.expect.claims]


def _findings(claim: Claim, table: dict[tuple[str, int], Record]) -> list[Finding]:
    other = claim.other
    rivals = (other.variants if other else None) or claim.variants
    theirs = claim.model_copy(update={"copies": other.copies}) if other and other.copies else claim
    read = QUANTITIES[claim.quantity].read
    findings = []
    for variant, rival in zip(claim.variants, rivals, strict=True):
        finding = Finding(variant, {}, _rival(claim, rival) if other else None, {}, {})
        for (name, seed), record in table.items():
            value = read(record, claim) if name == variant else None
            if value is None or (other and (rival, seed) not in table):
                continue
            finding.values[seed] = value
            if other:
                finding.others[seed] = read(table[rival, seed], theirs)
            finding.held[seed] = holds(claim, value, finding.others.get(seed))
        findings.append(finding)
    return findings


def _rival(claim: Claim, variant: str) -> str:
    other = claim.other
    assert other is not None
    copies = f"C = {other.copies}" if other.copies and other.copies != claim.copies else ""
    return ", ".join(filter(None, (variant if other.variants else "", copies)))
