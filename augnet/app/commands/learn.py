"""augnet learn: data becomes a model and a page."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Literal

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from augnet.app.commands.screen import MISTAKES, aside, console, one_clear_line, show
from augnet.data import DataError

Data = Annotated[
    Path,
    typer.Argument(
        help="A folder of images with one sub-folder per class, a .csv or .parquet table of paths "
        "and labels, .npz, .npy or .safetensors with x and y, or EDF/FIF recordings."
    ),
]


def learn(
    data: Data,
    transforms: Annotated[
        str,
        typer.Option(help="Names, with commas between; see augnet transforms. auto: all that fit."),
    ] = "auto",
    layers: Annotated[
        Path | None,
        typer.Option(help="A TOML file with layers of transforms, of which each selects one."),
    ] = None,
    trunk: Annotated[str, typer.Option(help="small, resnet18 or module:Class.")] = "small",
    budget: Annotated[
        str | None,
        typer.Option(help="90s, 10m, 1h, or a number of epochs. Default: a minute or so."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="One seed gives one result.")] = 0,
    seeds: Annotated[
        int, typer.Option(min=1, help="Measure with so many seeds, and join what they find.")
    ] = 1,
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
    from augnet.app.job import Job
    from augnet.app.settings import Settings, layers_of
    from augnet.learn.config import parse_budget
    from augnet.model import read_header

    with one_clear_line(*MISTAKES):
        parse_budget(budget)
        kinds: tuple[Literal["auto", "classes", "values"], ...] = ("auto", "classes", "values")
        if task not in kinds:
            raise DataError(f"--task is one of {', '.join(kinds)}; got {task!r}")
        named = (
            ()
            if transforms == "auto"
            else tuple(w.strip() for w in transforms.split(",") if w.strip())
        )
        settings = Settings(
            data=str(data),
            transforms=named,
            layers=layers_of(layers),
            trunk=trunk,
            budget=budget,
            seed=seed,
            seeds=seeds,
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
                aside.print(line, markup=False, highlight=False, soft_wrap=True)
            _follow(job)
            job.finish()
        show(read_header(out))
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
            seed = f", seed {row['seed']}" if "seed" in row else ""
            text = f"{row['phase']}{seed}, loss {row['loss']:.3f}"
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
