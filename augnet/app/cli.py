"""The command `augnet`, without the commands of the paper."""

from typing import Annotated

import typer
from rich.table import Table

from augnet import TRANSFORMS, __version__
from augnet.app import commands
from augnet.app.commands.screen import console

app = typer.Typer(
    help="Learn which transformations data is invariant to, how far, and build that in.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
commands.register(app)


def version(requested: bool) -> None:
    """Print the version and exit."""
    if requested:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Learn which transformations data is invariant to, how far, and build that in."""


@app.command("transforms")
def list_transforms() -> None:
    """List all transforms."""
    table = Table("transform", "description", "input", "unit of the limit")
    for name, cls in TRANSFORMS.items():
        table.add_row(name, (cls.__doc__ or "").splitlines()[0], str(cls.domain), cls.unit)
    console.print(table)
