"""What the verbs say, and how: findings on the screen, everything else aside."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from augnet.data import DataError
from augnet.model import Header, ModelError

console = Console()
aside = Console(stderr=True)
MISTAKES = (ValueError, TypeError)
"""By which `augnet.learn` and its neighbors refuse what they are given."""


@contextmanager
def one_clear_line(*more: type[Exception], interrupted: str = "") -> Iterator[None]:
    """Turn what a user can mend into one line and exit code 2.

    Which is what refuses by an error of ours, what the system says, and `more` that a verb knows
    of; all else is a mistake of ours, whose traceback is wanted. `interrupted` is what Ctrl-C says.
    """
    mistakes: tuple[type[Exception], ...] = (DataError, ModelError, OSError, *more)
    try:
        yield
    except mistakes as error:
        aside.print(f"[bold red]augnet:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        if not interrupted:
            raise
        aside.print(f"Interrupted. {interrupted}", highlight=False, soft_wrap=True)
        raise typer.Exit(130) from None


def show(header: Header) -> None:
    """Print what was found, as a table."""
    from augnet.app import wording

    rows = [answer.build() for answer in header.answers]
    several = any(row.seeds_agreeing[1] > 1 for row in rows)
    table = Table("transformation", "found", "90 % interval", *(["seeds"] if several else []))
    for row in rows:
        agree = [wording.agree(row)] if several else []
        table.add_row(row.transform.name, wording.found(row), wording.sure(row), *agree)
    console.print(table)
    measured = header.measured
    if measured:
        name = "accuracy" if header.classes else "variance explained"
        console.print(
            f"{name} {measured['score']:.3f} on {measured['samples']} samples set aside; "
            f"{measured['score_without_averaging']:.3f} without averaging",
            highlight=False,
        )
