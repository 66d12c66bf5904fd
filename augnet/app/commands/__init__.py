"""The verbs for data of your own. No training code.

learn    data becomes a model and a page
models   what can be done with a model: predict, inspect, export
screen   what the verbs say, and how
"""

import typer

from augnet.app.commands.learn import learn
from augnet.app.commands.models import export, inspect, predict

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the verbs to a command."""
    app.command("learn")(learn)
    app.command("predict")(predict)
    app.command("inspect")(inspect)
    app.command("export")(export)
