"""A study: the runs of one experiment under one protocol, summed up; as text and as JSON."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from augnet.paper.config import ConfigError, Experiment, explain, read
from augnet.paper.datasets import describe
from augnet.paper.report.claims import Judged, judge
from augnet.paper.report.command import changes, commands, toml
from augnet.paper.report.quantities import Value
from augnet.paper.report.records import Record, records
from augnet.paper.report.runs import Run
from augnet.paper.report.tables import (
    Table,
    claims_table,
    grid_table,
    protocols_table,
    variants_table,
)
from augnet.paper.report.wording import asked

MEANS = "Means over the seeds, and all that they span."
SIDE_BY_SIDE = "Protocols side by side"


class Beside(NamedTuple):
    """The protocols of an experiment side by side, and what each of them is."""

    table: Table
    explained: dict[str, str]

    @property
    def markdown(self) -> str:
        """The same in Markdown."""
        lines = [f"- **{name}**: {says}" for name, says in self.explained.items()]
        return "\n".join((self.table.markdown, f"{MEANS}\n", *lines, ""))


class Study(NamedTuple):
    """All that is kept of some runs, and what follows from it."""

    name: str
    protocol: str
    experiment: Experiment
    commands: list[str]
    changes: dict[str, str]
    versions: dict[str, str]
    records: list[Record]
    data: str = ""  # what it was made from, in transforms
    figures: dict[str, list[str]] = {}  # noqa: RUF012  # a title and a caption, by name

    @property
    def label(self) -> str:
        """The name of its files; the protocol is said unless it is ours."""
        return self.name if self.protocol == "ours" else f"{self.name}-{self.protocol}"

    @property
    def seeds(self) -> str:
        """How many seeds variants have, in transforms."""
        mine: dict[str, set[int]] = {}
        for record in self.records:
            mine.setdefault(record.variant, set()).add(record.seed)
        least, most = (pick(map(len, mine.values()), default=0) for pick in (min, max))
        count = f"{most}" if least == most else f"{least} to {most}"
        return f"{count} seed{'' if most == 1 else 's'}"

    @property
    def judged(self) -> list[Judged]:
        """The paper's claims and what became of them; a mere grid is not asked."""
        if self.records and all(record.sweep for record in self.records):
            return []
        return judge(self.experiment, self.records)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of the study by their titles."""
        found = {
            "The paper and ours": claims_table(self.judged),
            "What was learned": variants_table(self.experiment.expect, self.records),
            "The grid": grid_table(self.experiment.expect, self.records),
        }
        return {title: table for title, table in found.items() if table and table.rows}

    @property
    def made(self) -> str:
        """Say which settings were changed, and on what it was run."""
        settings = ", ".join(f"`{key} = {value}`" for key, value in self.changes.items())
        data = f"Data: {self.data}. " if self.data else ""
        changed = f"Changed from the file's settings: {settings}. " if settings else ""
        return data + changed + ", ".join(f"{key} {value}" for key, value in self.versions.items())

    @property
    def outcome(self) -> str:
        """Count the verdicts."""
        kinds = [each.kind for each in self.judged]
        if not kinds:
            return ""
        said = {"some": "in some", "none": "in none", "unknown": "not judged"}
        counts = [f"{kinds.count(kind)} {text}" for kind, text in said.items() if kind in kinds]
        first = f"{kinds.count('all')} of {len(kinds)} claims of the paper hold in all runs"
        return ", ".join((first, *counts)) + "."

    def summary(self) -> dict[str, Any]:
        """Give it as JSON: the records, from which all can be judged again, and the verdicts."""
        return {
            "experiment": self.name,
            "protocol": self.protocol,
            "data": self.data,
            "commands": self.commands,
            "changes": self.changes,
            "versions": self.versions,
            "figures": self.figures,
            "claims": [_as_json(each) for each in self.judged],
            "runs": [record.model_dump(exclude_defaults=True) for record in self.records],
        }


def side_by_side(studies: Iterable[Study]) -> dict[str, Beside]:
    """Put the protocols of each experiment beside each other, where there are several."""
    found: dict[str, dict[str, Study]] = {}
    for study in studies:
        found.setdefault(study.name, {})[study.protocol] = study
    beside = {}
    for name, mine in found.items():
        if len(mine) > 1:
            experiment = next(iter(mine.values())).experiment
            kept = {protocol: study.records for protocol, study in mine.items()}
            if table := protocols_table(experiment.variants, kept):
                beside[name] = Beside(table, experiment.explained(mine))
    return beside


def _as_json(judged: Judged) -> dict[str, Any]:
    return {
        "says": judged.claim.says,
        "source": judged.claim.source,
        "asked": asked(judged.claim),
        "verdict": judged.verdict,
        "found": [
            {
                "variant": finding.variant,
                "held": list(finding.held.values()),
                "values": list(map(_plain, finding.values.values())),
                **({"other": finding.other} if finding.other else {}),
                **({"others": list(map(_plain, finding.others.values()))} if finding.other else {}),
            }
            for finding in judged.findings
        ],
    }


def _plain(value: Value) -> Value:
    """JSON has no infinity."""
    return "never" if isinstance(value, float) and math.isinf(value) else value


def studies(runs: Sequence[Run]) -> list[tuple[Study, list[Run]]]:
    """Part runs by experiment and protocol, and sum up each part."""
    parts: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        parts.setdefault(run.study, []).append(run)
    return [(_study(*key, part), part) for key, part in parts.items()]


def _study(name: str, protocol: str, runs: list[Run]) -> Study:
    experiment = read(name)
    order = list(experiment.variants)
    runs.sort(key=lambda run: order.index(run.variant) if run.variant in order else len(order))
    changed: dict[str, dict[str, None]] = {}
    for run in runs:
        for key, value in changes(experiment, run).items():
            changed.setdefault(key, {})[toml(value)] = None
    versions = {key: _all(run.versions.get(key, "?") for run in runs) for key in runs[0].versions}
    settings = {key: _all(values) for key, values in changed.items()}
    made = commands(experiment, runs)
    data = _all(describe(run.config["data"]) for run in runs)
    return Study(name, protocol, experiment, made, settings, versions, records(runs), data)


def _all(values: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(values))


def load(path: Path) -> Study:
    """Read a study from its JSON; all is judged again, by the claims of this version."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        runs = [Record(**each) for each in kept["runs"]]
        name, settings = kept["experiment"], (kept["commands"], kept["changes"], kept["versions"])
        more = kept.get("data", ""), kept.get("figures", {})
        return Study(name, kept["protocol"], read(name), *settings, runs, *more)
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, Record)}") from None
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} is no summary of a report: {error!r}") from None
