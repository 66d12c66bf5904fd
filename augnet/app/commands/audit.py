"""augnet audit: compare a trained model with what its labels allow."""

from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from augnet.app.audit_settings import OPTIONS, AuditSettings
from augnet.app.commands.learn import Data, follow, parameter
from augnet.app.commands.screen import USER_ERRORS, console, output, report_errors, stderr
from augnet.app.settings import ARGUMENTS, Settings, parse_names
from augnet.data import ReadOptions
from augnet.text import printable

STYLES = {"fragile": "red", "blind": "magenta", "matches": "green", "unclear": "yellow"}
ModelName = Annotated[
    str,
    typer.Argument(
        help="The directory of augnet learn or its model, an .onnx file, a torch.export .pt2 "
        "program (with --trust), or module:function that builds a callable or is one."
    ),
]
EXTRA: dict[str, tuple[Any, Any, str]] = {
    "learned": (Path | None, None, "A directory of augnet learn: how far labels allow transforms. "
                "Default: learn that from DATA, within --budget."),
    "input": (str, "auto", "What the model takes: 0-1, 0-255, standardized or raw. auto: raw for "
              "models that augnet wrote, else images from 0 to 1 and standardized signals."),
    "mean": (str, "", "Mean per channel of standardized values, separated by commas."),
    "std": (str, "", "Standard deviation per channel."),
    "layout": (str, "channels_first", "channels_first or channels_last."),
    "order": (str, "RGB", "RGB or BGR."),
    "input_size": (str, "", "Height,width of the model's input, if it is not that of the data."),
    "outputs": (str, "", "Names of the model's outputs in order, separated by commas. Default: "
                "the sorted classes, or what augnet wrote into the model."),
    "trust": (bool, False, "Load a .pt2 program, which torch unpickles: it can run anything."),
    "fail_on": (str, "", "Exit with status 1 if there is such a finding: fragile, blind, or both."),
    "to": (str, "", "pytest: also write test_invariance.py, which fails if a later model is less "
           "invariant."),
    "out": (Path, Path("audited"), "The directory of the page and other results."),
}  # fmt: skip


def audit(model: ModelName, data: Data, **options: Any) -> None:
    """Compare how far labels allow transforms with how far a trained model holds."""
    from augnet.app.audit_job import TEST, AuditJob

    with report_errors(*USER_ERRORS):
        fail_on = parse_names(options["fail_on"])
        for name in fail_on:
            if name not in ("fragile", "blind"):
                raise ValueError(f"--fail-on takes fragile, blind, or both; got {name!r}")
        if options["to"] not in ("", "pytest"):
            raise ValueError(f"--to is pytest; got {options['to']!r}")
        job = AuditJob(_settings(model, data, options), options["out"])
        samples = job.read()
        with job.open():
            if not job.finished:
                for line in samples.log:
                    stderr.print(line, markup=False, highlight=False, soft_wrap=True)
                follow(job, job.auditor.history if job.auditor else [], "step")
                job.finish()
            if options["to"]:
                job.write_test()
            values = job.values()
        show(values)
        if options["to"]:
            output(f"The test file is {printable(options['out'] / TEST)}")
        output(f"The page is {printable(options['out'] / 'index.html')}")
    if any(row["finding"] in fail_on for row in values["transforms"]):
        raise typer.Exit(1)


def _settings(model: str, data: Path, options: dict[str, Any]) -> AuditSettings:
    from augnet.audit import ModelInput

    parsed = {
        name: ARGUMENTS[name].parse(value) if name in ARGUMENTS else value
        for name, value in options.items()
        if name not in EXTRA
    }
    size = _numbers(options["input_size"], "input-size")
    if len(size) not in (0, 2) or any(each % 1 for each in size):
        raise ValueError(f"--input-size is height,width; got {options['input_size']!r}")
    return AuditSettings(
        model,
        Settings.of(str(data), **parsed),
        None if options["learned"] is None else str(options["learned"]),
        ModelInput(
            options["input"],
            _numbers(options["mean"], "mean"),
            _numbers(options["std"], "std"),
            options["layout"],
            options["order"],
            (int(size[0]), int(size[1])) if size else None,
        ),
        parse_names(options["outputs"]),
        options["trust"],
    )


def _numbers(text: str, name: str) -> tuple[float, ...]:
    try:
        return tuple(map(float, parse_names(text)))
    except ValueError:
        raise ValueError(f"--{name} takes numbers, separated by commas; got {text!r}") from None


def show(values: dict[str, Any]) -> None:
    """Print the findings of an audit as a table."""
    from augnet.app import audit_wording as wording

    for warning in values["warnings"]:
        output(Text.assemble(("warning: ", "bold yellow"), printable(warning)))
    table = Table("transform", "finding", "labels allow", "model holds to", "cost")
    table.columns[0].no_wrap = True
    for row in values["transforms"]:
        finding = Text(row["finding"], STYLES[row["finding"]])
        cells = wording.labels(row), wording.model(row), wording.cost(row, values["classes"])
        table.add_row(row["name"], finding, *cells)
    console.print(table)
    output(wording.headline(values))
    output(f"{printable(values['model'])}: {wording.score(values)} on {values['samples']} samples")


def _option(name: str) -> Parameter:
    kind, default, text = EXTRA[name]
    option = typer.Option(f"--{name.replace('_', '-')}", help=text)
    annotation: Any = Annotated[kind, option]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


READ = tuple(ReadOptions.__dataclass_fields__)
audit.__signature__ = Signature([  # type: ignore[attr-defined]
    Parameter("model", Parameter.POSITIONAL_OR_KEYWORD, annotation=ModelName),
    Parameter("data", Parameter.POSITIONAL_OR_KEYWORD, annotation=Data),
    *map(_option, EXTRA),
    *map(parameter, (*OPTIONS, *READ)),
])  # fmt: skip
