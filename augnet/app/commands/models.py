"""What can be done with a model: predict, inspect, export."""

import math
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from augnet.app.commands.screen import MISTAKES, aside, console, one_clear_line, show
from augnet.model import Model

ModelFile = Annotated[Path, typer.Argument(help="A model file, or the directory of augnet learn.")]
TrunkOption = Annotated[
    str | None, typer.Option(help="module:Class, for a model whose trunk is not one of ours.")
]


def _load(path: Path, trunk: str | None) -> Model:
    from augnet.model import load, read_header
    from augnet.trunks import build_trunk

    if trunk is None:
        return load(path)
    header = read_header(path)
    outputs = len(header.classes) or math.prod(header.values or ())
    return load(path, build_trunk(trunk, header.shape, outputs))


def predict(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="As for augnet learn; labels are not needed.")],
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file. Default: CSV on the screen.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="One seed gives one answer.")] = 0,
    copies: Annotated[
        int | None, typer.Option(min=1, help="How many copies are averaged. Default: the model's.")
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(min=0.0, help="Make no more copies of a sample whose answer is this settled."),
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Read at most so many samples.")] = 10_000_000,
    trunk: TrunkOption = None,
) -> None:
    """Predict samples, with the probability of each class."""
    from augnet.app.predict import as_csv, check, predictions, write
    from augnet.data import read

    with one_clear_line(*MISTAKES):
        if out is not None:
            check(out)
        loaded = _load(model, trunk)
        found = read(data, loaded.header.reading, labeled=False, most=most)
        for line in found.account:
            aside.print(line, markup=False, highlight=False, soft_wrap=True)
        columns = predictions(loaded, found, seed, copies, tolerance)
        if out is None:
            typer.echo(as_csv(columns), nl=False)
        else:
            write(columns, out)
            aside.print(f"{len(found)} predictions are in {out}", highlight=False)


def inspect(model: ModelFile) -> None:
    """Say what a model has learned, and how."""
    from augnet.model import load_augment, read_header

    with one_clear_line(*MISTAKES):
        header = read_header(model)
        table = Table("", "", show_header=False)
        for name, value in (
            ("made by", f"augnet {header.augnet}, format {header.schema_version}"),
            ("samples", f"{header.reading.kind if header.reading else 'samples'} {header.shape}"),
            ("predicts", ", ".join(header.classes) or "values"),
            ("trunk", header.trunk),
            ("copies", f"{header.net.copies}, aggregated as {header.net.aggregate}"),
            ("settings", ", ".join(f"{k}={v}" for k, v in header.settings.items() if v)),
        ):
            table.add_row(name, str(value))
        console.print(table)
        show(header)
        if header.layers:
            console.print("The model averages over copies that pass through, in this order:")
            console.print(str(load_augment(model)), markup=False, highlight=False)


def export(
    model: ModelFile,
    to: Annotated[
        str,
        typer.Option(
            help="torchvision, kornia, albumentations, braindecode or policy: the augmentation, to "
            "paste. onnx or pt2: the whole model, to run."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="A file. Default: on the screen, where it is text.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the copies that onnx and pt2 average over.")
    ] = 0,
    copies: Annotated[
        int | None, typer.Option(min=1, help="How many copies those are. Default: the model's.")
    ] = None,
    trunk: TrunkOption = None,
) -> None:
    """Take a model away: its augmentation for another library, or all of it as a program."""
    from augnet import files
    from augnet.export import LIBRARIES, PROGRAMS, program
    from augnet.export import export as say
    from augnet.model import load_augment, read_header

    with one_clear_line(*MISTAKES):
        choices = (*LIBRARIES, "policy", *PROGRAMS)
        if to not in choices:
            raise ValueError(f"--to is one of {', '.join(choices)}; got {to!r}")
        if to in PROGRAMS:
            if out is None:
                raise ValueError(f"--to {to} writes a file: add --out model.{to}")
            made = program(_load(model, trunk), to, seed, copies)
            files.write(out, made.content)
            for note in made.notes:
                aside.print(note, markup=False, highlight=False, soft_wrap=True)
            aside.print(f"The model is {out}", highlight=False, soft_wrap=True)
            return
        snippet = say(load_augment(model), to, read_header(model).reading)
        for transform in snippet.lacks:
            aside.print(f"{to} has no transform for {transform}", highlight=False)
        if out is None:
            typer.echo(snippet.text, nl=False)
        else:
            files.write(out, snippet.text)
