"""augnet learn: learn invariances from data, and write a model and a page."""

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from torch import get_num_threads

from augnet.app.commands.screen import USER_ERRORS, console, report_errors, say, show, stderr
from augnet.app.settings import ARGUMENTS, FIELDS, Argument, Settings, default
from augnet.learn.progress import Reporter, describe
from augnet.text import printable
from augnet.training import Row

Data = Annotated[
    Path,
    typer.Argument(
        help="A folder of images with one sub-folder per class, a .csv or .parquet table of paths "
        "and labels, .npz, .npy or .safetensors with x and y, or EDF/FIF recordings. "
        "Or digits, which come with augnet."
    ),
]
Out = Annotated[Path, typer.Option(help="The directory of the model, the page and other results.")]


def learn(data: Data, out: Out, **options: Any) -> None:
    """Learn to which transforms the labels of your data are invariant, and how far."""
    from augnet.app.job import Job
    from augnet.model import read_header

    with report_errors(*USER_ERRORS):
        parsed = {
            name: ARGUMENTS[name].parse(value) if name in ARGUMENTS else value
            for name, value in options.items()
        }
        settings = Settings.of(str(data), **parsed)
        job = Job(settings, out)
        split = job.read()
        with job.open():
            if not job.finished:
                for line in split.train.log:
                    say(line)
                _show_threads(job.learner)
                follow(job, job.learner.history if job.learner else [])
                job.finish()
            show(read_header(out))
        page = printable(out / "index.html")
        console.print(f"The page is {page}", markup=False, soft_wrap=True, highlight=False)


def _show_threads(learner: Any) -> None:
    """Say how many threads are used, if the load of the machine decided that."""
    if learner.config.threads is None and learner.threads < get_num_threads():
        stderr.print(f"Threads: {learner.threads}, as other processes run (--threads changes that)")


def parameter(name: str) -> Parameter:
    """Return the command-line option of a field of the settings."""
    field = FIELDS[name]
    argument = ARGUMENTS.get(name) or Argument(field.type, min=field.metadata.get("min"))
    text = f"{field.metadata['help']} {argument.help}".strip()
    option = typer.Option(
        f"--{name.replace('_', '-')}", help=text, min=argument.min, max=argument.max
    )
    kind = Parameter.KEYWORD_ONLY
    return Parameter(name, kind, default=default(name), annotation=Annotated[argument.type, option])


learn.__signature__ = Signature([  # type: ignore[attr-defined]
    Parameter("data", Parameter.POSITIONAL_OR_KEYWORD, annotation=Data),
    *map(parameter, FIELDS),
    Parameter("out", Parameter.KEYWORD_ONLY, default=Path("learned"), annotation=Out),
])  # fmt: skip


def follow(job: Any, history: Sequence[Row], part: str = "epoch") -> None:
    """Show the progress; save and stop at the first Ctrl-C, stop at once at the second.

    Where stderr is no terminal, this is a line about every ten seconds instead of a bar.
    """
    if history:
        stderr.print(f"Resuming at {history[-1]['done']:.0%}.")
    percent = TextColumn("{task.percentage:3.0f} %")
    columns = (TextColumn("{task.description}"), BarColumn(), percent, TimeRemainingColumn())
    bars = Progress(*columns, console=stderr, disable=not stderr.is_terminal)
    lines = Reporter(lambda line: None if stderr.is_terminal else _print_line(line))
    with bars as progress, lines, _first_ctrl_c(part) as interrupted:
        bar = progress.add_task("reading", total=1.0)
        rows = iter(job)
        for row in rows:
            measuring = getattr(job, "measuring", "")  # it may take minutes until the next row
            text = f"{describe(row)}; measuring {measuring}" if measuring else describe(row)
            progress.update(bar, completed=row["done"], description=text)
            lines.update(row, text)
            if interrupted():
                rows.close()
                progress.stop()
                say(
                    f"Interrupted at {row['done']:.0%}. The state is saved in "
                    f"{job.directory.path}; the same command resumes it."
                )
                raise typer.Exit(130)


def _print_line(line: str) -> None:
    stderr.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _first_ctrl_c(part: str) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; the second one interrupts."""
    pressed = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, before)
        stderr.print(f"Saving after this {part}; press Ctrl-C again to stop at once.")

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # nohup, or not in the main thread
        yield lambda: False
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
