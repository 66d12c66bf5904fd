"""Output and errors of the commands: results on stdout, everything else on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from augnet.data import DataError
from augnet.model import Header, ModelError

console = Console()
stderr = Console(stderr=True)
USER_ERRORS = (ValueError, TypeError)
"""Errors by which `augnet.learn` and other functions refuse their arguments."""


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
    """Print the invariances of a model, as a table, and its score."""
    from augnet.app import wording

    rows = [record.build() for record in header.invariances]
    seeds = ["seeds"] if any(row.seeds_agreeing[1] > 1 for row in rows) else []
    table = Table("transform", "status", "strength", "90 % interval", *seeds)
    for row in rows:
        cells = [wording.status(row), wording.strength(row), wording.interval(row)]
        table.add_row(row.transform.name, *cells, *([wording.agreement(row)] if seeds else []))
    console.print(table)
    evaluation = header.evaluation
    if evaluation:
        name = "accuracy" if header.classes else "variance explained"
        console.print(
            f"{name} {evaluation['score']:.3f} on {evaluation['samples']} test samples; "
            f"{evaluation['score_without_averaging']:.3f} without averaging",
            highlight=False,
        )
