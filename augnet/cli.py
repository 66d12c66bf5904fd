"""The command line: one function per verb, no training code."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from augnet import VOCABULARY, __version__, config
from augnet.config import ConfigError, Experiment
from augnet.run import RunDirectory, complete
from augnet.train import Row

app = typer.Typer(
    help="Learn which transformations data is invariant to, how far, and build that in.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
console = Console()


@contextmanager
def one_clear_line() -> Iterator[None]:
    """Turn what a user can mend into one line and exit code 2."""
    try:
        yield
    except (ConfigError, OSError) as error:
        Console(stderr=True).print(f"[bold red]augnet:[/] {error}", highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        Console(stderr=True).print("Interrupted. The same command goes on from the last epoch.")
        raise typer.Exit(130) from None


def version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Say which version.")
    ] = False,
) -> None:
    """Learn which transformations data is invariant to, how far, and build that in."""


@app.command("list")
def list_experiments() -> None:
    """List the experiments of the paper and their variants."""
    table = Table("experiment", "question", "variants", "section")
    for name in config.names():
        experiment = config.read(name)
        table.add_row(name, experiment.question, "\n".join(experiment.variants), experiment.section)
    console.print(table)


@app.command("words")
def list_words() -> None:
    """List the vocabulary: what layers and policies are made of."""
    table = Table("word", "what it does", "takes", "unit of its limit")
    for name, cls in VOCABULARY.items():
        table.add_row(name, (cls.__doc__ or "").splitlines()[0], str(cls.domain), cls.unit)
    console.print(table)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="An experiment; see augnet list.")],
    variant: Annotated[
        list[str] | None, typer.Option(help="A variant; may be given again. Default: all.")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="ours, or paper for the paper's settings.")
    ] = "ours",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")] = 1,
    set: Annotated[
        list[str] | None, typer.Option(help="A change, such as train.epochs=10; may be repeated.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many runs at a time.")] = 1,
    out: Annotated[Path, typer.Option(help="Where run directories go.")] = Path("runs"),
) -> None:
    """Run an experiment: its variants, over some seeds. What is finished is not run again."""
    with one_clear_line():
        experiment = config.read(name)
        changes = dict(map(config.parse_change, set or []))
        configs = [
            config.resolve(name, experiment, each, protocol=protocol, changes=changes)
            for each in variant or experiment.variants
        ]
        runs = [
            RunDirectory(out / name / protocol / each.variant / f"seed-{seed}", each, seed)
            for each in configs
            for seed in range(seeds)
        ]
        perform(runs, jobs)
        console.print(summarise(experiment, runs))


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Where pages, figures and tables go.")] = Path("report"),
) -> None:
    """Write a page, figures and a table for each experiment among some runs."""
    from augnet.report import find, write

    with one_clear_line():
        for page in write(find(runs), out):
            console.print(f"The report is in {page}")


def perform(runs: list[RunDirectory], jobs: int) -> None:
    """Bring all runs to their end, some at a time, each with a bar."""
    columns = (
        TextColumn("{task.fields[run]:<28}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}  {task.description}"),
        TimeRemainingColumn(),
    )
    threads = max(1, (os.cpu_count() or 1) // jobs)
    with (
        Progress(*columns, console=console, disable=not sys.stdout.isatty()) as progress,
        ProcessPoolExecutor(
            jobs,
            mp_context=multiprocessing.get_context("spawn"),
            # Ctrl-C reaches the workers too: they may go at once, at any moment.
            initializer=signal.signal,
            initargs=(signal.SIGINT, signal.SIG_DFL),
        ) as pool,
    ):
        bars = {
            each.path: progress.add_task(
                "", total=each.config.train.epochs, run=f"{each.config.variant}, seed {each.seed}"
            )
            for each in runs
        }
        pending = {
            pool.submit(complete, each.path, each.config, each.seed, threads)
            for each in runs
            if not each.finished
        }
        try:
            while pending:
                done, pending = wait(pending, timeout=0.5, return_when=FIRST_EXCEPTION)
                for each in runs:
                    if rows := each.rows():
                        text = headline(rows[-1])
                        progress.update(bars[each.path], completed=len(rows), description=text)
                for future in done:
                    future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # begin nothing more
            raise


def headline(row: Row) -> str:
    """Say how an epoch went: loss, accuracy, and the leading word."""
    text = f"loss {row['loss']:.3f}  accuracy {row['valid_accuracy']:.3f}"
    leader = leading(row)
    return f"{text}  {leader}" if leader else text


def leading(row: Row) -> str:
    """Name the word with the largest weight in the first layer."""
    weights = {key: v for key, v in row.items() if key.startswith("layer1.") and "weight" in key}
    return max(weights, key=weights.__getitem__).split(".")[1] if weights else ""


def summarise(experiment: Experiment, runs: list[RunDirectory]) -> Table:
    """Put the last row of each run into a table."""
    table = Table(
        "variant", "seed", "test accuracy", "selected", "strength", title=experiment.title
    )
    for each in runs:
        row = each.rows()[-1]
        word = leading(row)
        strength = f"{row[f'layer1.{word}.strength']:.3g}" if word else "-"
        table.add_row(
            each.config.variant,
            str(each.seed),
            f"{row['test_accuracy']:.3f}",
            word or "-",
            strength,
        )
    return table
