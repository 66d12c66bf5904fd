"""The commands for a user's data. No training code.

learn    learn invariances from data
audit    compare a trained model with what its labels allow
models   use a model: predict, inspect, export; list the transforms
screen   output and errors
"""

import typer

from augnet.app.lazy import add_command

__all__ = ["register"]

COMMANDS = {
    "learn": (
        "learn:learn",
        "Learn to which transforms the labels of your data are invariant, and how far.",
    ),
    "audit": (
        "audit:audit",
        "Compare how far labels allow transforms with how far a trained model holds.",
    ),
    "predict": ("models:predict", "Predict samples, with the probability of each class."),
    "inspect": ("models:inspect", "Show the invariances of a model, and how it was learned."),
    "export": (
        "models:export",
        "Export the measured ranges of a model for another library, or the model as a program.",
    ),
    "transforms": ("models:list_transforms", "List all transforms."),
}


def register(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for name, (target, help) in COMMANDS.items():
        add_command(app, name, f"{__name__}.{target}", help)
