"""Commands that are imported when they are called, so that `augnet --help` imports no torch."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typer.main import get_command, get_group


def add_command(app: typer.Typer, name: str, target: str, help: str) -> None:
    """Add a command `module:name`, a function or an application with commands of its own.

    `help` is what the list of commands says: the first line of the command's own help.
    """

    class Command(TyperCommand):
        def make_context(
            self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
        ) -> Any:
            return _load(name, target).make_context(info_name, args, parent, **extra)

    def imported_when_called() -> None:
        """Stand for the command in the list."""

    app.command(name, cls=Command, help=help)(imported_when_called)


def _load(name: str, target: str) -> Any:
    """Import a command and build it."""
    module, attribute = target.split(":")
    command = getattr(import_module(module), attribute)
    if isinstance(command, typer.Typer):
        return get_group(command)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(command)
    return get_command(alone)
