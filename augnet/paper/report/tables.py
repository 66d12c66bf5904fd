"""Write tables: claims and findings, what each variant learned, protocols, and sweeps."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from augnet.paper.config import Expect
from augnet.paper.report.claims import JudgedClaim
from augnet.paper.report.records import Record, Scored, on_sweeps
from augnet.paper.report.runs import Run
from augnet.paper.report.wording import (
    describe_criterion,
    describe_findings,
    describe_learned,
    median_and_range,
)

CLAIMS_COLUMNS = ("paper says", "the authors' code, measured", "ours", "verdict on ours")
NOT_MEASURED = "not measured"

Labeled = TypeVar("Labeled", Run, Record)


class Table(NamedTuple):
    """A table: column names, and rows of cells."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    @property
    def markdown(self) -> str:
        """The table in Markdown."""
        lines = (self.columns, ("---",) * len(self.columns), *self.rows)
        return "".join(f"| {' | '.join(map(_cell, row))} |\n" for row in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>")


def by_label(runs: Iterable[Labeled]) -> dict[str, list[Labeled]]:
    """Group the seeds of each variant and point of a sweep, in the order they come."""
    groups: dict[str, list[Labeled]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def claims_table(judged: Sequence[JudgedClaim]) -> Table:
    """List the paper's claims, what the authors' code gave, our results and the verdicts."""
    rows = [
        (
            f"{each.claim.says} ({each.claim.source})\n{describe_criterion(each.claim)}",
            each.claim.authors or NOT_MEASURED,
            "\n".join(describe_findings(each)) or "-",
            each.verdict,
        )
        for each in judged
    ]
    return Table(CLAIMS_COLUMNS, rows)


def variants_table(expect: Expect, records: Sequence[Record]) -> Table:
    """List what the seeds of each variant learned, and their accuracies; sweeps are left out."""
    transform = expect.transform
    known = [each for each in records if not each.sweep]
    views = _all_views(known)
    balanced = any(each.balanced_accuracy is not None for each in known)
    columns = (
        "variant", "seeds", "what was learned",
        *([f"strength of {transform}"] if transform else []),
        "test accuracy", *(["balanced"] if balanced else []), *views,
    )  # fmt: skip
    rows = []
    for name, group in by_label(known).items():
        rows.append((
            name,
            str(len(group)),
            "\n".join(describe_learned(group)),
            *([_strengths(expect, group)] if transform else []),
            median_and_range([each.test_accuracy for each in group]),
            *([_balanced(group)] if balanced else []),
            *_accuracies(group, views),
        ))  # fmt: skip
    return Table(columns, rows)


def _balanced(group: Sequence[Record]) -> str:
    known = [each.balanced_accuracy for each in group if each.balanced_accuracy is not None]
    return median_and_range(known) if known else "-"


def _views(row: Scored) -> str:
    return "plain samples" if row.views == "plain" else f"C = {row.copies}"


def _all_views(records: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(_views(row) for each in records for row in each.scored))


def _accuracies(group: Sequence[Record], views: Iterable[str]) -> Iterable[str]:
    rows = [row for record in group for row in record.scored]
    for name in views:
        yield median_and_range([row.accuracy for row in rows if _views(row) == name])


def protocols_table(
    variants: Iterable[str], protocols: Mapping[str, Sequence[Record]]
) -> Table | None:
    """Compare variants under several protocols by means over seeds; None if there is only one."""
    unswept = {
        protocol: [record for record in found if not record.sweep]
        for protocol, found in protocols.items()
    }
    columns = [
        (f"{protocol}: {name}", by_label(found), read)
        for protocol, found in unswept.items() if found
        for name, read in scores(protocol, found).items()
    ]  # fmt: skip
    if sum(map(bool, unswept.values())) < 2:
        return None
    known = {label: None for _, groups, _ in columns for label in groups}
    order = [*(name for name in variants if name in known), *known]
    rows = [
        (label, *(_mean(map(read, groups.get(label, []))) for _, groups, read in columns))
        for label in dict.fromkeys(order)
    ]
    return Table(("variant", *(title for title, _, _ in columns)), rows)


def scores(protocol: str, records: Sequence[Record]) -> dict[str, Callable[[Record], float | None]]:
    """Choose the scores of a protocol by name; the paper's protocol has its own score."""
    copies = max(record.max_copies for record in records)
    if not copies:
        return {"test accuracy": lambda record: record.test_accuracy}
    if "paper" in protocol.split("+"):
        return {"scored as in the paper": lambda record: record.net_accuracy}
    return {
        "plain samples": lambda record: record.accuracy_over("plain"),
        f"{copies} augmented views": lambda record: record.accuracy_over("own", copies),
    }


def _mean(found: Iterable[float | None]) -> str:
    """Write the mean and, of several values, their range and number."""
    values = [value for value in found if value is not None]
    if not values:
        return "-"
    low, mean, high = (f"{each:.3f}" for each in (min(values), fmean(values), max(values)))
    return mean if len(values) == 1 else f"{mean} ({low} to {high}; {len(values)} seeds)"


def _strengths(expect: Expect, group: Sequence[Record]) -> str:
    strengths = [each.strength(str(expect.transform)) for each in group]
    known = [value for value in strengths if value is not None]
    return f"{median_and_range(known)} {expect.unit}" if known else "-"


def runs_table(records: Sequence[Record]) -> Table:
    """List every run with what it learned and its accuracy."""
    balanced = any(each.balanced_accuracy is not None for each in records)
    rows = [
        (each.label, str(each.seed), *describe_learned([each]), f"{each.test_accuracy:.3g}",
         *([_balanced([each])] if balanced else []))
        for each in records
    ]  # fmt: skip
    columns = ("variant", "seed", "what was learned", "test accuracy")
    return Table((*columns, *(["balanced"] if balanced else [])), rows)


def _sort_key(point: Mapping[str, Any]) -> tuple[Any, ...]:
    """Sort points of sweeps by keys, then by values, numbers before names."""
    values = (
        (0, value, "") if isinstance(value, int | float) else (1, 0, str(value))
        for value in point.values()
    )
    return (tuple(point), *values)


def sweep_table(expect: Expect, records: Sequence[Record]) -> Table | None:
    """List the points of sweeps with what was learned there; None if nothing was swept."""
    swept = on_sweeps(records)
    if not swept:
        return None
    keys = list(dict.fromkeys(key for each in swept for key in each.sweep))
    transform = expect.transform
    views = _all_views(swept)
    columns = ("variant", *keys, "seeds", "what was learned",
               *([f"strength of {transform}"] if transform else []),
               "valid accuracy", "test accuracy", *views)  # fmt: skip
    rows = []
    order = list(dict.fromkeys(each.variant for each in swept))
    swept.sort(key=lambda each: (order.index(each.variant), *_sort_key(each.sweep)))
    for group in by_label(swept).values():
        found = [each.strength(transform) for each in group] if transform else []
        strengths = [value for value in found if value is not None]
        rows.append((
            group[0].variant,
            *(str(group[0].sweep.get(key, "-")) for key in keys),
            str(len(group)),
            "\n".join(describe_learned(group)),
            *([median_and_range(strengths)] if transform else []),
            median_and_range([each.valid_accuracy for each in group]),
            median_and_range([each.test_accuracy for each in group]),
            *_accuracies(group, views),
        ))  # fmt: skip
    return Table(columns, rows)
