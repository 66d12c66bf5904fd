"""Output and errors of the commands: results on stdout, everything else on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from augnet.data import DataError
from augnet.learn.result import Invariance
from augnet.model import Header, ModelError

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
        stderr.print(f"[bold red]augnet:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        if not interrupted:
            raise
        stderr.print(f"Interrupted. {interrupted}", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None


def show(header: Header) -> None:
    """Print warnings, the invariances of a model as a table, and its scores."""
    from augnet.app import wording

    rows = [record.build() for record in header.invariances]
    for warning in header.measurement.warnings:
        _say(Text.assemble(("warning: ", "bold yellow"), warning))
    console.print(_table(rows, bool(header.classes)))
    if rows:
        _say(wording.headline(rows, bool(header.layers)))
    if measured := wording.measured(header):
        _say(measured)
    evaluation = header.evaluation
    if evaluation:
        name = "accuracy" if header.classes else "variance explained"
        without = evaluation["score_without_averaging"]
        more = f"; {without:.3f} without averaging" if header.layers else ""
        _say(f"{name} {evaluation['score']:.3f} on {evaluation['samples']} test samples{more}")


def _table(rows: list[Invariance], classes: bool) -> Table:
    """Return the invariances as a table; what is unclear has a reason in place of a strength."""
    from augnet.app import wording

    seeds = ["seeds"] if any(row.seeds_agreeing[1] > 1 for row in rows) else []
    cost = ["cost"] if any(row.cost is not None for row in rows) else []
    table = Table("transform", "status", "strength", "90 % interval", *cost, *seeds)
    table.columns[0].no_wrap = True
    for row in rows:
        reason = wording.reason(row)
        status = f"{wording.status(row)}: {reason}" if reason else wording.status(row)
        cells = [wording.strength(row), wording.interval(row)]
        cells += [wording.cost(row, classes)] if cost else []
        cells += [wording.agreement(row)] if seeds else []
        table.add_row(row.transform.name, Text(status, STYLES[row.status]), *cells)
    return table


def _say(text: str | Text) -> None:
    console.print(text, markup=False, highlight=False)
