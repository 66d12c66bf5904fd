"""The command `augnet`, without the commands of the paper."""

from typing import Annotated

import typer

from augnet import __version__
from augnet.app import commands

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
