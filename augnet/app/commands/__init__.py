"""The commands for a user's data. No training code.

learn    learn invariances from data
audit    compare a trained model with what its labels allow
models   use a model: predict, inspect, export
screen   output and errors
"""

import typer

from augnet.app.commands.audit import audit
from augnet.app.commands.learn import learn
from augnet.app.commands.models import export, inspect, predict

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.command("learn")(learn)
    app.command("audit")(audit)
    app.command("predict")(predict)
    app.command("inspect")(inspect)
    app.command("export")(export)
