"""The commands of `augnet paper`."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from augnet.app.commands.screen import console, report_errors
from augnet.paper import config
from augnet.paper.config import Config, ConfigError, Experiment
from augnet.paper.launch import (
    PRECISIONS,
    Machine,
    in_group,
    in_this_group,
    on_ray,
    on_this_machine,
)
from augnet.paper.run import RunDirectory
from augnet.paper.train import Row, transforms_of
from augnet.training import DirectoryError, NonFiniteError
from augnet.validation import nearest

app = typer.Typer(
    help="Reproduce the paper: run its experiments, searches and reports.", no_args_is_help=True
)


@app.command("list")
def list_experiments() -> None:
    """List the experiments of the paper and their variants."""
    table = Table("experiment", "question", "variants", "protocols", "section")
    for name in config.names():
        experiment = config.read(name)
        lists = map("\n".join, (experiment.variants, ("ours", *experiment.protocols)))
        table.add_row(name, experiment.question, *lists, experiment.section)
    console.print(table)


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="An experiment; see augnet paper list.")],
    variant: Annotated[
        list[str] | None, typer.Option(help="A variant; may be given again. Default: all.")
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="ours, paper, or another of augnet paper list; a+b combines.")
    ] = "ours",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds, from 0.")] = 1,
    set: Annotated[
        list[str] | None, typer.Option(help="A change, such as train.epochs=10; may be repeated.")
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(help="Values to try: regularizer.weight=0.1,0.5; may be repeated."),
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many runs at a time.")] = 1,
    devices: Annotated[
        int, typer.Option(min=1, help="GPUs per run; processes on a machine without GPUs.")
    ] = 1,
    precision: Annotated[str, typer.Option(help=f"One of {', '.join(PRECISIONS)}.")] = "32-true",
    ray: Annotated[
        str | None, typer.Option(help="Send each run to the Ray cluster at this address.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where run directories go.")] = Path("runs"),
) -> None:
    """Run the variants of an experiment over seeds; skip finished runs, resume others.

    Under torchrun, all of its processes share each run.
    """
    interrupted = "The same command resumes after the last epoch."
    with report_errors(ConfigError, DirectoryError, NonFiniteError, interrupted=interrupted):
        experiment = config.read(name)
        changes = dict(map(config.parse_change, set or []))
        configs = [
            config.resolve(name, experiment, each, protocol=protocol, changes=changes, sweep=point)
            for each in variant or experiment.variants
            for point in config.parse_sweep(sweep or [])
        ]
        runs = [
            RunDirectory(out / name / protocol / folder(each) / f"seed-{seed}", each, seed)
            for each in configs
            for seed in range(seeds)
        ]
        if ray and (devices > 1 or jobs > 1):
            raise ConfigError("--ray distributes runs itself: leave out --devices and --jobs")
        processes = int(os.environ["LOCAL_WORLD_SIZE"]) if in_group() else jobs * devices
        machine = Machine(devices, precision, threads(processes))
        if in_group():
            show_progress(runs, lambda missing: in_this_group(missing, machine))
            if os.environ["RANK"] != "0":
                return
        else:
            for each in runs:
                each.check()
            if ray:
                show_progress(runs, lambda missing: on_ray(missing, ray, precision))
            else:
                show_progress(runs, lambda missing: on_this_machine(missing, jobs, machine))
        console.print(summarize(experiment, runs))


@app.command()
def search(
    method: Annotated[
        str, typer.Argument(help="A search, such as adda; or a variant, to compare with.")
    ],
    name: Annotated[str, typer.Argument(help="An experiment; see augnet paper list.")],
    variant: Annotated[
        str | None,
        typer.Option(help="Whose transforms are searched. Default: the first with layers."),
    ] = None,
    protocol: Annotated[str, typer.Option(help="As in augnet paper run.")] = "ours",
    seeds: Annotated[int, typer.Option(min=1, help="How many folds or seeds, from 0.")] = 1,
    set: Annotated[
        list[str] | None,
        typer.Option(help="A change, such as search.options.adda.epochs=5; may be repeated."),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(help="Where trials are kept, such as postgresql://...; default: a file."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where search directories go.")] = Path("searches"),
) -> None:
    """Search a policy for an experiment, and retrain with it. What was killed resumes."""
    from augnet.paper.search import SEARCHES
    from augnet.paper.search.directory import SearchDirectory, uses_trials
    from augnet.paper.search.trials import SearchError

    last = "trial" if uses_trials(method) else "point"
    resumes = f"The same command resumes after the last {last}."
    refusals = (ConfigError, DirectoryError, NonFiniteError, SearchError)
    with report_errors(*refusals, interrupted=resumes):
        experiment = config.read(name)
        if method not in SEARCHES and method not in experiment.variants:
            known = (*SEARCHES, *experiment.variants)
            raise ConfigError(f"unknown search {method!r}{nearest(method, known)}")
        changes = dict(map(config.parse_change, set or []))
        asked = [variant] if variant else list(experiment.variants)
        configs = [
            config.resolve(name, experiment, each, protocol=protocol, changes=changes)
            for each in (asked if method in SEARCHES else [method])
        ]
        settings = next((each for each in configs if each.augment.name == "layers"), configs[0])
        for seed in range(seeds):
            path = out / name / protocol / method / f"seed-{seed}"
            for point in SearchDirectory(path, method, settings, seed).run(storage):
                console.print(
                    f"{method}, seed {seed}: {point.passes:.0f} passes, {point.seconds:.0f} s, "
                    f"valid {point.valid:.3f}, test {point.test:.3f}"
                )


@app.command()
def report(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Where pages, figures and tables go.")] = Path("report"),
) -> None:
    """Write a page, figures and a table for each experiment in some run directories."""
    from augnet.paper.report import directories, find, searches, write

    with report_errors(ConfigError, DirectoryError):
        searched = searches.find(runs)
        has_runs = not searched or directories.find(runs, "run")
        pages = searches.write(searched, out)
        for page in (*(write(find(runs), out) if has_runs else ()), *pages):
            console.print(f"The report is in {page}", markup=False, highlight=False, soft_wrap=True)


def threads(processes: int) -> int:
    """Return the threads per process: OMP_NUM_THREADS, or an equal part of the cores."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdigit() and int(said) else max(1, (os.cpu_count() or 1) // processes)


def folder(each: Config) -> str:
    """Return the name of a config's directory: its variant, and its values in a sweep."""
    point = "".join(f",{key}={value}" for key, value in each.sweep.items())
    return each.variant + re.sub(r"[^\w.,=-]+", "_", point)


def show_progress(
    runs: list[RunDirectory], perform: Callable[[list[RunDirectory]], Iterator[None]]
) -> None:
    """Perform the runs that are not finished; show a progress bar for each run."""
    columns = (
        TextColumn("{task.fields[run]:<28}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}  {task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        bars = {
            each: progress.add_task(
                "", total=each.config.train.epochs, run=f"{folder(each.config)}, seed {each.seed}"
            )
            for each in runs
        }
        watched = list(runs)
        for _ in perform([each for each in runs if not each.finished]):
            finished = [each for each in watched if each.finished]  # before their rows are read
            for each in watched:
                if rows := each.rows():
                    text = headline(rows[-1])
                    progress.update(bars[each], completed=len(rows), description=text)
            watched = [each for each in watched if each not in finished]


def headline(row: Row) -> str:
    """Describe an epoch: loss, accuracy, and the transform with the largest weight."""
    text = f"loss {row['loss']:.3f}  accuracy {row['valid_accuracy']:.3f}"
    leader = leading(row)
    return f"{text}  {leader}" if leader else text


def leading(row: Row) -> str:
    """Return the name of the transform with the largest weight in the first layer, if any."""
    first = {
        state.name: state.weight
        for state in transforms_of(row)
        if state.layer == 1 and state.weight is not None
    }
    return max(first, key=first.__getitem__) if first else ""


def summarize(experiment: Experiment, runs: list[RunDirectory]) -> Table:
    """Return a table of what each run learned."""
    from augnet.paper.report.records import records
    from augnet.paper.report.runs import read
    from augnet.paper.report.tables import runs_table

    found = runs_table(records([read(each.path) for each in runs]))
    table = Table(*found.columns, title=experiment.title)
    for row in found.rows:
        table.add_row(*row)
    return table
