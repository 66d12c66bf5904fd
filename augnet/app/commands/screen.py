"""Output and errors of the commands: results on stdout, everything else on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from augnet.data import DataError
from augnet.learn.result import Invariance
from augnet.model import Header, ModelError
from augnet.text import one_line, printable

console = Console()
stderr = Console(stderr=True)
USER_ERRORS = (ValueError, TypeError)
"""Errors by which `augnet.learn` and other functions refuse their arguments."""
STYLES = {
    "bounded": "green",
    "reached_limit": "green",
    "not_invariant": "red",
    "unclear": "yellow",
}


@contextmanager
def report_errors(*more: type[Exception], interrupted: str = "") -> Iterator[None]:
    """Print errors that a user can fix in one line, and exit with code 2.

    These are DataError, ModelError, OSError and `more`; others are bugs, and keep their traceback.
    `interrupted` is the message for Ctrl-C.
    """
    errors: tuple[type[Exception], ...] = (DataError, ModelError, OSError, *more)
    try:
        yield
    except errors as error:
        text = Text.assemble(("augnet: ", "bold red"), one_line(error))
        stderr.print(text, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        if not interrupted:
            raise
        stderr.print(f"Interrupted. {interrupted}", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None


def say(text: object) -> None:
    """Print a line to stderr as it is; names in it may have brackets or control characters."""
    stderr.print(printable(text), markup=False, highlight=False, soft_wrap=True)


def show(header: Header) -> None:
    """Print warnings, the invariances of a model as tables, and its scores."""
    from augnet.app import wording

    rows = [record.build() for record in header.invariances]
    for warning in header.measurement.warnings:
        output(Text.assemble(("warning: ", "bold yellow"), printable(warning)))
    clear = [row for row in rows if row.status != "unclear"]
    unclear = [row for row in rows if row.status == "unclear"]
    if clear:
        console.print(_table(clear, bool(header.classes)))
    if unclear:
        console.print(_unclear(unclear))
    if rows:
        output(wording.headline(rows, bool(header.layers or header.measurement.gain)))
    if measured := wording.measured(header):
        output(measured)
    if gain := wording.gain(header):
        output(gain)
    evaluation = header.evaluation
    if evaluation:
        name = "accuracy" if header.classes else "variance explained"
        without = evaluation["score_without_averaging"]
        more = f"; {without:.3f} without averaging" if header.layers else ""
        output(f"{name} {evaluation['score']:.3f} on {evaluation['samples']} test samples{more}")


def _table(rows: list[Invariance], classes: bool) -> Table:
    """Return the invariances that are clear as a table."""
    from augnet.app import wording

    cost = any(row.cost is not None for row in rows)
    seeds = any(row.seeds_agreeing[1] > 1 for row in rows)
    more = [*(["cost"] if cost else []), *(["seeds"] if seeds else [])]
    table = Table("transform", "status", "strength", "90 % interval", *more)
    table.columns[0].no_wrap = True
    for row in rows:
        cells = [wording.strength(row), wording.interval(row)]
        cells += [wording.cost(row, classes)] if cost else []
        cells += [wording.agreement(row)] if seeds else []
        table.add_row(row.transform.name, _status(row), *cells)
    return table


def _unclear(rows: list[Invariance]) -> Table:
    """Return the invariances that are unclear as a table: reasons are long, and need its width."""
    from augnet.app import wording

    seeds = any(row.seeds_agreeing[1] > 1 for row in rows)
    table = Table("transform", "status", *(["seeds"] if seeds else []))
    table.columns[0].no_wrap = True
    for row in rows:
        status = _status(row).append(f": {printable(wording.reason(row))}")
        table.add_row(row.transform.name, status, *([wording.agreement(row)] if seeds else []))
    return table


def _status(row: Invariance) -> Text:
    from augnet.app import wording

    return Text(wording.status(row), STYLES[row.status])


def output(text: str | Text) -> None:
    """Print a line on stdout; names and reasons in it may have control characters."""
    line = printable(text) if isinstance(text, str) else text
    console.print(line, markup=False, highlight=False, soft_wrap=True)
