"""Tables: claims beside what was found, what each variant learned, and grids."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from augnet.config import Expect
from augnet.report.claims import Judged
from augnet.report.records import Record, Scored
from augnet.report.runs import Run
from augnet.report.wording import asked, found, learned, spread

Labelled = TypeVar("Labelled", Run, Record)


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


def by_label(runs: Iterable[Labelled]) -> dict[str, list[Labelled]]:
    """Put the seeds of each variant (and point of a grid) together, in the order they come."""
    groups: dict[str, list[Labelled]] = {}
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
    """Say what the seeds of each variant learned, in words and physical units; not for grids."""
    word = expect.word
    known = [each for each in records if not each.sweep]
    views = list(dict.fromkeys(_views(row) for each in known for row in each.scored))
    balanced = any(each.balanced_accuracy is not None for each in known)
    columns = ("variant", "seeds", "what was learned", *([f"strength of {word}"] if word else []),
               "test accuracy", *(["balanced"] if balanced else []), *views)  # fmt: skip
    rows = []
    for name, group in by_label(known).items():
        rows.append((
            name,
            str(len(group)),
            "\n".join(learned(group)),
            *([_strengths(expect, group)] if word else []),
            spread([each.test_accuracy for each in group]),
            *([_balanced(group)] if balanced else []),
            *(spread([row.accuracy for each in group for row in each.scored if _views(row) == kind])
              for kind in views),
        ))  # fmt: skip
    return Table(columns, rows)


def _balanced(group: Sequence[Record]) -> str:
    known = [each.balanced_accuracy for each in group if each.balanced_accuracy is not None]
    return spread(known) if known else "-"


def _views(row: Scored) -> str:
    return "samples as they are" if row.views == "plain" else f"C = {row.copies}"


def _strengths(expect: Expect, group: Sequence[Record]) -> str:
    strengths = [each.strength(str(expect.word)) for each in group]
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


def grid_table(expect: Expect, records: Sequence[Record]) -> Table | None:
    """Put the points of a grid beside what they led to; None if nothing was swept."""
    swept = [each for each in records if each.sweep]
    if not swept:
        return None
    keys = list(dict.fromkeys(key for each in swept for key in each.sweep))
    word = expect.word
    columns = ("variant", *keys, "seeds", "what was learned",
               *([f"strength of {word}"] if word else []),
               "valid accuracy", "test accuracy")  # fmt: skip
    rows = []
    for group in by_label(swept).values():
        strengths = [each.strength(word) for each in group] if word else []
        rows.append((
            group[0].variant,
            *(str(group[0].sweep.get(key, "-")) for key in keys),
            str(len(group)),
            "\n".join(learned(group)),
            *([spread([value for value in strengths if value is not None])] if word else []),
            spread([each.valid_accuracy for each in group]),
            spread([each.test_accuracy for each in group]),
        ))  # fmt: skip
    return Table(columns, rows)
