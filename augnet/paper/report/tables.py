"""Tables: claims beside what was found, what each variant learned, and grids."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple, TypeVar

from augnet.paper.config import Expect
from augnet.paper.report.claims import Judged
from augnet.paper.report.records import Record, Scored, on_grids
from augnet.paper.report.runs import Run
from augnet.paper.report.wording import asked, found, learned, spread

Labeled = TypeVar("Labeled", Run, Record)


class Table(NamedTuple):
    """Columns, and rows of cells."""

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
    """Put the seeds of each variant (and point of a grid) together, in the order they come."""
    groups: dict[str, list[Labeled]] = {}
    for run in runs:
        groups.setdefault(run.label, []).append(run)
    return groups


def claims_table(judged: Sequence[Judged]) -> Table:
    """Put what the paper says beside what we found, and whether it is the same."""
    rows = [
        (
            f"{each.claim.says} ({each.claim.source})\n{asked(each.claim)}",
            "\n".join(found(each)) or "-",
            each.verdict,
        )
        for each in judged
    ]
    return Table(("paper", "ours", "verdict"), rows)


def variants_table(expect: Expect, records: Sequence[Record]) -> Table:
    """Say what the seeds of each variant learned, in transforms and physical units; not for grids."""
    transform = expect.transform
    known = [each for each in records if not each.sweep]
    views = _kinds(known)
    balanced = any(each.balanced_accuracy is not None for each in known)
    columns = ("variant", "seeds", "what was learned", *([f"strength of {transform}"] if transform else []),
               "test accuracy", *(["balanced"] if balanced else []), *views)  # fmt: skip
    rows = []
    for name, group in by_label(known).items():
        rows.append((
            name,
            str(len(group)),
            "\n".join(learned(group)),
            *([_strengths(expect, group)] if transform else []),
            spread([each.test_accuracy for each in group]),
            *([_balanced(group)] if balanced else []),
            *_by_views(group, views),
        ))  # fmt: skip
    return Table(columns, rows)


def _balanced(group: Sequence[Record]) -> str:
    known = [each.balanced_accuracy for each in group if each.balanced_accuracy is not None]
    return spread(known) if known else "-"


def _views(row: Scored) -> str:
    return "samples as they are" if row.views == "plain" else f"C = {row.copies}"


def _kinds(records: Iterable[Record]) -> list[str]:
    return list(dict.fromkeys(_views(row) for each in records for row in each.scored))


def _by_views(group: Sequence[Record], kinds: Iterable[str]) -> Iterable[str]:
    for kind in kinds:
        yield spread([row.accuracy for one in group for row in one.scored if _views(row) == kind])


def protocols_table(
    variants: Iterable[str], protocols: Mapping[str, Sequence[Record]]
) -> Table | None:
    """Put what variants come to under several protocols side by side: means over their seeds."""
    usual = {name: [one for one in mine if not one.sweep] for name, mine in protocols.items()}
    columns = [
        (f"{protocol}: {kind}", by_label(mine), read)
        for protocol, mine in usual.items() if mine
        for kind, read in _readings(protocol, mine).items()
    ]  # fmt: skip
    if sum(map(bool, usual.values())) < 2:
        return None
    known = {label: None for _, groups, _ in columns for label in groups}
    order = [*(name for name in variants if name in known), *known]
    rows = [
        (label, *(_mean(map(read, groups.get(label, []))) for _, groups, read in columns))
        for label in dict.fromkeys(order)
    ]
    return Table(("variant", *(title for title, _, _ in columns)), rows)


def _readings(
    protocol: str, records: Sequence[Record]
) -> dict[str, Callable[[Record], float | None]]:
    """Say what is read off the records of a protocol: as it scores, if it is the paper's."""
    most = max(record.most_copies for record in records)
    if not most:
        return {"test accuracy": lambda record: record.test_accuracy}
    if "paper" in protocol.split("+"):
        return {"as the paper scores": lambda record: record.net_accuracy}
    return {
        "samples as they are": lambda record: record.accuracy_over("plain"),
        f"{most} own views": lambda record: record.accuracy_over("own", most),
    }


def _mean(found: Iterable[float | None]) -> str:
    """Give the mean and, of several values, their number and the range that they span."""
    values = [value for value in found if value is not None]
    if not values:
        return "-"
    low, mean, high = (f"{each:.3f}" for each in (min(values), fmean(values), max(values)))
    return mean if len(values) == 1 else f"{mean} ({low} to {high}; {len(values)} seeds)"


def _strengths(expect: Expect, group: Sequence[Record]) -> str:
    strengths = [each.strength(str(expect.transform)) for each in group]
    known = [value for value in strengths if value is not None]
    return f"{spread(known)} {expect.unit}" if known else "-"


def runs_table(records: Sequence[Record]) -> Table:
    """Say of every run what it learned."""
    balanced = any(each.balanced_accuracy is not None for each in records)
    rows = [
        (each.label, str(each.seed), *learned([each]), f"{each.test_accuracy:.3g}",
         *([_balanced([each])] if balanced else []))
        for each in records
    ]  # fmt: skip
    columns = ("variant", "seed", "what was learned", "test accuracy")
    return Table((*columns, *(["balanced"] if balanced else [])), rows)


def _place(point: Mapping[str, Any]) -> tuple[Any, ...]:
    """Give what sorts points of grids: keys, then values, numbers before names."""
    values = (
        (0, value, "") if isinstance(value, int | float) else (1, 0, str(value))
        for value in point.values()
    )
    return (tuple(point), *values)


def grid_table(expect: Expect, records: Sequence[Record]) -> Table | None:
    """Put the points of a grid beside what they led to; None if nothing was swept."""
    swept = on_grids(records)
    if not swept:
        return None
    keys = list(dict.fromkeys(key for each in swept for key in each.sweep))
    transform = expect.transform
    views = _kinds(swept)
    columns = ("variant", *keys, "seeds", "what was learned",
               *([f"strength of {transform}"] if transform else []),
               "valid accuracy", "test accuracy", *views)  # fmt: skip
    rows = []
    order = list(dict.fromkeys(each.variant for each in swept))
    swept.sort(key=lambda each: (order.index(each.variant), *_place(each.sweep)))
    for group in by_label(swept).values():
        strengths = [each.strength(transform) for each in group] if transform else []
        rows.append((
            group[0].variant,
            *(str(group[0].sweep.get(key, "-")) for key in keys),
            str(len(group)),
            "\n".join(learned(group)),
            *([spread([value for value in strengths if value is not None])] if transform else []),
            spread([each.valid_accuracy for each in group]),
            spread([each.test_accuracy for each in group]),
            *_by_views(group, views),
        ))  # fmt: skip
    return Table(columns, rows)
