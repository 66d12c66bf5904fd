"""The verbs for data of your own: learn, predict, inspect, export. No training code."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from augnet.data.own import DataError
from augnet.model import Header, Model, ModelError

console = Console()
aside = Console(stderr=True)


def register(app: typer.Typer) -> None:
    """Add the verbs to a command."""
    app.command("learn")(learn)
    app.command("predict")(predict)
    app.command("inspect")(inspect)
    app.command("export")(export)


@contextmanager
def one_clear_line() -> Iterator[None]:
    """Turn what a user can mend into one line and exit code 2."""
    try:
        yield
    except (DataError, ModelError, ValueError, TypeError, OSError) as error:
        aside.print(f"[bold red]augnet:[/] {error}", highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None


Data = Annotated[
    Path,
    typer.Argument(
        help="A folder of images with one sub-folder per class, a .csv or .parquet table of paths "
        "and labels, .npz, .npy or .safetensors with x and y, or EDF/FIF recordings."
    ),
]


def learn(
    data: Data,
    words: Annotated[
        str, typer.Option(help="Names, with commas between; see augnet words. auto: all that fit.")
    ] = "auto",
    layers: Annotated[
        Path | None,
        typer.Option(help="A TOML file with layers of words, of which each selects one."),
    ] = None,
    trunk: Annotated[str, typer.Option(help="small, resnet18 or module:Class.")] = "small",
    budget: Annotated[
        str | None,
        typer.Option(help="90s, 10m, 1h, or a number of epochs. Default: a minute or so."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="One seed gives one result.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the model, the page and the rest go.")] = Path(
        "learned"
    ),
    most: Annotated[int | None, typer.Option(min=24, help="Read at most so many samples.")] = None,
    size: Annotated[int | None, typer.Option(min=4, help="The longer side of images.")] = None,
    task: Annotated[
        str, typer.Option(help="classes or values; auto: fractions are values.")
    ] = "auto",
    column: Annotated[str | None, typer.Option(help="The column of labels in a table.")] = None,
    sfreq: Annotated[float | None, typer.Option(help="Hz of signals in arrays.")] = None,
    channels: Annotated[str, typer.Option(help="Names of channels, with commas between.")] = "",
    window: Annotated[float | None, typer.Option(help="Seconds cut out of recordings.")] = None,
) -> None:
    """Learn which transformations leave the labels of your data alone, and how far."""
    from augnet.model import read_header
    from augnet.own.job import Job
    from augnet.own.settings import Settings, layers_of
    from augnet.own.settings import budget as read_budget

    with one_clear_line():
        read_budget(budget)
        kinds: tuple[Literal["auto", "classes", "values"], ...] = ("auto", "classes", "values")
        if task not in kinds:
            raise DataError(f"--task is one of {', '.join(kinds)}; got {task!r}")
        named = () if words == "auto" else tuple(w.strip() for w in words.split(",") if w.strip())
        settings = Settings(
            data=str(data),
            words=named,
            layers=layers_of(layers),
            trunk=trunk,
            budget=budget,
            seed=seed,
            most=most,
            size=size,
            task=None if task == "auto" else next(kind for kind in kinds if kind == task),
            column=column,
            sfreq=sfreq,
            channels=tuple(name.strip() for name in channels.split(",") if name.strip()),
            window=window,
        )
        job = Job(settings, out)
        job.check()
        if not job.finished:
            parts = job.read()
            for line in parts.learned.account:
                aside.print(line, highlight=False, soft_wrap=True)
            _follow(job)
            job.finish()
        _show(read_header(out))
        console.print(f"The page is {out / 'index.html'}", soft_wrap=True, highlight=False)


def _follow(job: Any) -> None:
    """Show how far it is; leave in good order at the first Ctrl-C, at once at the second."""
    learning = job.begin()
    if learning.history:
        done = learning.history[-1]["done"]
        aside.print(f"Going on from {done:.0%}.")
    percent = TextColumn("{task.percentage:3.0f} %")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeRemainingColumn())
    with (
        Progress(*columns, console=aside, disable=not aside.is_terminal) as progress,
        _first_ctrl_c() as asked,
    ):
        bar = progress.add_task("reading", total=1.0)
        rows = iter(job)
        for row in rows:
            text = f"{row['phase']}, loss {row['loss']:.3f}"
            progress.update(bar, completed=row["done"], description=text)
            if asked():
                rows.close()
                progress.stop()
                aside.print(
                    f"Interrupted at {row['done']:.0%}. What there is is kept in {job.out}; the "
                    "same command goes on from there.",
                    soft_wrap=True,
                )
                raise typer.Exit(130)


@contextmanager
def _first_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Remember the first Ctrl-C instead of obeying it; the second is obeyed."""
    asked = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)
        aside.print("Finishing this epoch, to be able to go on; Ctrl-C again to leave at once.")

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # nohup, or not the main thread: not ours
        yield lambda: False
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: asked
    finally:
        signal.signal(signal.SIGINT, before)


def _show(header: Header) -> None:
    """Print what was found, as a table."""
    from augnet.own import wording

    table = Table("transformation", "found", "90 % interval")
    for row in (answer.build() for answer in header.answers):
        table.add_row(row.word.name, wording.found(row), wording.sure(row))
    console.print(table)
    measured = header.measured
    if measured:
        name = "accuracy" if header.classes else "variance explained"
        console.print(
            f"{name} {measured['score']:.3f} on {measured['samples']} samples set aside; "
            f"{measured['score_without_averaging']:.3f} without averaging",
            highlight=False,
        )


ModelFile = Annotated[Path, typer.Argument(help="A model file, or the directory of augnet learn.")]
TrunkOption = Annotated[
    str | None, typer.Option(help="module:Class, for a model whose trunk is not one of ours.")
]


def _load(path: Path, trunk: str | None) -> Model:
    from augnet.model import load, read_header
    from augnet.model.trunks import trunk as build

    if trunk is None:
        return load(path)
    header = read_header(path)
    outputs = len(header.classes) or max(1, sum(header.values or (1,)))
    return load(path, build(trunk, header.shape, outputs))


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
    from augnet.data.own import read
    from augnet.own.predict import as_csv, predictions, write

    with one_clear_line():
        loaded = _load(model, trunk)
        found = read(data, loaded.header.reading, labelled=False, most=most)
        for line in found.account:
            aside.print(line, highlight=False, soft_wrap=True)
        columns = predictions(loaded, found, seed, copies, tolerance)
        if out is None:
            typer.echo(as_csv(columns), nl=False)
        else:
            write(columns, out)
            aside.print(f"{len(found)} predictions are in {out}", highlight=False)


def inspect(model: ModelFile) -> None:
    """Say what a model has learned, and how."""
    from augnet.model import load_augment, read_header

    with one_clear_line():
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
        _show(header)
        if header.layers:
            console.print("The model averages over copies that pass through, in this order:")
            console.print(str(load_augment(model)), markup=False, highlight=False)


def export(
    model: ModelFile,
    to: Annotated[
        str, typer.Option(help="torchvision, kornia, albumentations, braindecode or policy.")
    ],
    out: Annotated[Path | None, typer.Option(help="A file. Default: on the screen.")] = None,
) -> None:
    """Say the learned augmentation in the terms of another library, ready to paste."""
    from augnet import files
    from augnet.export import export as say
    from augnet.model import load_augment, read_header

    with one_clear_line():
        made = say(load_augment(model), to, read_header(model).reading)
        for word in made.lacks:
            aside.print(f"{to} has no word for {word}", highlight=False)
        if out is None:
            typer.echo(made.text, nl=False)
        else:
            files.write(out, made.text)
