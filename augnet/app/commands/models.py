"""Use a model: predict, inspect, export; list the transforms."""

import math
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from augnet.app.commands.screen import USER_ERRORS, console, report_errors, say, show
from augnet.app.settings import MAX_SEED
from augnet.data import InputSpec, ReadOptions
from augnet.model import Model
from augnet.model.header import MAX_COPIES, Header
from augnet.net import TOLERANCE
from augnet.text import printable
from augnet.transforms import TRANSFORMS

HELP = {each.name: each.metadata["help"] for each in fields(ReadOptions)}
ModelFile = Annotated[Path, typer.Argument(help="A model file, or the directory of augnet learn.")]
TrunkOption = Annotated[
    str | None, typer.Option(help="module:Class, for a model whose trunk is not one of augnet's.")
]


def _load(path: Path, trunk: str | None) -> Model:
    from augnet.model import load, read_header
    from augnet.trunks import build_trunk

    if trunk is None:
        return load(path)
    header = read_header(path)
    outputs = len(header.classes) or math.prod(header.values or ())
    return load(path, build_trunk(trunk, header.shape, outputs))


def _input_spec(header: Header) -> InputSpec | None:
    """Return how samples are read; by their shape, if the model was not learned from files."""
    from augnet.data.input_spec import DIMENSIONS

    kind = DIMENSIONS.get(len(header.shape))
    if header.input_spec is not None or kind is None:
        return header.input_spec
    return InputSpec(kind=kind, shape=header.shape)


def predict(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Data as for augnet learn, without labels.")],
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file. Default: CSV on stdout.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="One seed gives one result.")] = 0,
    copies: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_COPIES, help="Average at most this many copies. Default: the model's."
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0.0,
            help="Add no more copies of a sample once its prediction is this certain: in "
            "probability, or in standard deviations of values. 0: all copies.",
        ),
    ] = TOLERANCE,
    max_samples: Annotated[
        int, typer.Option(min=1, help="Read at most this many samples.")
    ] = 10_000_000,
    trunk: TrunkOption = None,
    kind: Annotated[str, typer.Option(help=HELP["kind"])] = "auto",
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help=HELP["follow_links"])
    ] = False,
) -> None:
    """Predict samples, with the probability of each class.

    In CSV, names that a spreadsheet would take for a formula begin with an apostrophe.
    """
    from augnet.app.predict import as_csv, check, predictions, write
    from augnet.data import read

    with report_errors(*USER_ERRORS):
        if out is not None:
            check(out)
        loaded = _load(model, trunk)
        options: dict[str, Any] = {
            "max_samples": max_samples,
            "kind": kind,
            "follow_links": follow_links,
        }
        samples = read(data, loaded.header.input_spec, labeled=False, **options)
        for line in samples.log:
            say(line)
        columns = predictions(loaded, samples, seed, copies, tolerance)
        if out is None:
            typer.echo(as_csv(columns), nl=False)
        else:
            write(columns, out)
            say(f"{len(samples)} predictions are in {out}")


def list_transforms() -> None:
    """List all transforms."""
    table = Table("transform", "description", "input", "unit of the limit")
    for name, cls in TRANSFORMS.items():
        table.add_row(name, (cls.__doc__ or "").splitlines()[0], str(cls.domain), cls.unit)
    console.print(table)


def inspect(model: ModelFile) -> None:
    """Show the invariances of a model, and how it was learned."""
    from augnet.model import load_augment, read_header

    with report_errors(*USER_ERRORS):
        header = read_header(model)
        spec = header.input_spec
        table = Table("", "", show_header=False)
        for name, value in (
            ("made by", f"augnet {header.augnet}, schema {header.schema_version}"),
            ("samples", f"{spec.kind if spec else 'samples'} {header.shape}"),
            ("predicts", ", ".join(header.classes) or "values"),
            ("trunk", header.trunk),
            ("copies", f"{header.net.copies}, aggregated as {header.net.aggregate}"),
            ("settings", ", ".join(f"{k}={v}" for k, v in header.settings.items() if v)),
        ):
            table.add_row(name, Text(printable(value)))
        console.print(table)
        show(header)
        if header.layers:
            console.print(
                "The model averages over copies that are transformed by these layers, in order:"
            )
            console.print(str(load_augment(model)), markup=False, highlight=False)


def export(
    model: ModelFile,
    to: Annotated[
        str,
        typer.Option(
            help="The measured ranges, as code: kornia, torchvision or albumentations (images), "
            "braindecode (signals); or as JSON: policy. The whole model, as a program: onnx or pt2."
        ),
    ],
    out: Annotated[Path | None, typer.Option(help="A file. Default: stdout, for text.")] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="In code and JSON: how many transforms are drawn per sample. Default: as many as "
            "the net draws, and at least one.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, max=MAX_SEED, help="The seed of the copies of onnx and pt2.")
    ] = 0,
    copies: Annotated[
        int | None,
        typer.Option(
            min=1, max=MAX_COPIES, help="The number of these copies. Default: the model's."
        ),
    ] = None,
    trunk: TrunkOption = None,
) -> None:
    """Export the measured ranges of a model for another library, or the model as a program."""
    from augnet import files
    from augnet.export import LIBRARIES, PROGRAMS, measured, program
    from augnet.export import export as to_snippet
    from augnet.model import load_augment, read_header

    with report_errors(*USER_ERRORS):
        choices = (*LIBRARIES, "policy", *PROGRAMS)
        if to not in choices:
            raise ValueError(f"--to is one of {', '.join(choices)}; got {to!r}")
        if to in PROGRAMS:
            if out is None:
                raise ValueError(f"--to {to} writes a file: add --out model.{to}")
            if draws is not None:
                raise ValueError(f"--to {to} writes the model as it is: leave out --draws")
            made = program(_load(model, trunk), to, seed, copies)
            files.write(out, made.content)
            for note in made.notes:
                say(note)
            say(f"The model is {out}")
            return
        header = read_header(model)
        ranges = measured(header, load_augment(model), draws)
        snippet = to_snippet(ranges.augment, to, _input_spec(header), ranges.notes)
        for note in ranges.notes:
            say(note)
        for transform in snippet.missing:
            say(f"{to} has no transform for {transform}: it is omitted")
        if out is None:
            typer.echo(snippet.text, nl=False)
        else:
            files.write(out, snippet.text)
