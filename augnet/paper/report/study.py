"""Sum up the runs of one experiment under one protocol, and read and write them as JSON."""

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from augnet.paper.config import ConfigError, Experiment, explain, read
from augnet.paper.datasets import describe
from augnet.paper.report.claims import JudgedClaim, judge
from augnet.paper.report.command import changes, commands, to_toml
from augnet.paper.report.quantities import Value
from augnet.paper.report.records import SCHEMA, Record, check_schema, records
from augnet.paper.report.runs import Run
from augnet.paper.report.tables import (
    Table,
    claims_table,
    protocols_table,
    sweep_table,
    variants_table,
)
from augnet.paper.report.wording import describe_criterion

MEANS_NOTE = "Means over the seeds, and their range."
CLAIMS_TITLE = "Claims of the paper"
COMPARISON_TITLE = "Comparison of protocols"


class ProtocolComparison(NamedTuple):
    """The protocols of an experiment in one table, and an explanation of each."""

    table: Table
    explained: dict[str, str]

    @property
    def markdown(self) -> str:
        """The table and the explanations in Markdown."""
        lines = [f"- **{name}**: {text}" for name, text in self.explained.items()]
        return "\n".join((self.table.markdown, f"{MEANS_NOTE}\n", *lines, ""))


class Study(NamedTuple):
    """Records of the runs of one experiment and protocol, and what follows from them."""

    name: str
    protocol: str
    experiment: Experiment
    commands: list[str]
    changes: dict[str, str]
    versions: dict[str, str]
    records: list[Record]
    data: str = ""  # a description
    figures: dict[str, list[str]] = {}  # noqa: RUF012  # a title and a caption, by name
    note: str = ""  # what to know about records of an older version, written by hand
    part: str = ""  # what distinguishes it from other files of the same protocol, written by hand

    @property
    def label(self) -> str:
        """The name of its files, with the protocol unless it is ours, and with the part."""
        protocol = "" if self.protocol == "ours" else self.protocol
        return "-".join(filter(None, (self.name, protocol, self.part.replace(" ", "-"))))

    @property
    def seeds(self) -> str:
        """The number of seeds of the variants as text."""
        seeds: dict[str, set[int]] = {}
        for record in self.records:
            seeds.setdefault(record.variant, set()).add(record.seed)
        least, most = (pick(map(len, seeds.values()), default=0) for pick in (min, max))
        count = f"{most}" if least == most else f"{least} to {most}"
        return f"{count} seed{'' if most == 1 else 's'}"

    @property
    def judged(self) -> list[JudgedClaim]:
        """The paper's claims with verdicts; none if all runs belong to a sweep."""
        if self.records and all(record.sweep for record in self.records):
            return []
        return judge(self.experiment, self.records)

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of the study by their titles."""
        found = {
            CLAIMS_TITLE: claims_table(self.judged),
            "What was learned": variants_table(self.experiment.expect, self.records),
            "Sweeps": sweep_table(self.experiment.expect, self.records),
        }
        return {title: table for title, table in found.items() if table and table.rows}

    @property
    def provenance(self) -> str:
        """Data, changed settings, versions and machine as text."""
        settings = ", ".join(f"`{key} = {value}`" for key, value in self.changes.items())
        data = f"Data: {self.data}. " if self.data else ""
        changed = f"Changed from the file's settings: {settings}. " if settings else ""
        return data + changed + ", ".join(f"{key} {value}" for key, value in self.versions.items())

    @property
    def outcome(self) -> str:
        """The number of claims by verdict as text."""
        kinds = [each.kind for each in self.judged]
        if not kinds:
            return ""
        texts = {
            "some": "in some", "none": "in none", "unknown": "not judged", "unasked": "not asked",
        }  # fmt: skip
        counts = [f"{kinds.count(kind)} {text}" for kind, text in texts.items() if kind in kinds]
        first = f"{kinds.count('all')} of {len(kinds)} claims of the paper hold in all runs"
        return ", ".join((first, *counts)) + "."

    def summary(self) -> dict[str, Any]:
        """Return the study as JSON values: the records, and the verdicts that follow from them."""
        return {
            "schema": SCHEMA,
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


def compare_protocols(studies: Iterable[Study]) -> dict[str, ProtocolComparison]:
    """Compare the protocols of each experiment that has several, by their main files."""
    found: dict[str, dict[str, Study]] = {}
    for study in studies:
        if not study.part:
            found.setdefault(study.name, {})[study.protocol] = study
    comparisons = {}
    for name, protocols in found.items():
        experiment = next(iter(protocols.values())).experiment
        kept = {protocol: study.records for protocol, study in protocols.items()}
        if table := protocols_table(experiment.variants, kept):
            comparisons[name] = ProtocolComparison(table, experiment.explained(protocols))
    return comparisons


def _as_json(judged: JudgedClaim) -> dict[str, Any]:
    findings = []
    for finding in judged.findings:
        found: dict[str, Any] = {
            "variant": finding.variant,
            "held": list(finding.held.values()),
            "values": list(map(_finite, finding.values.values())),
        }
        if finding.reference:
            found["reference"] = finding.reference
            found["reference_values"] = list(map(_finite, finding.reference_values.values()))
        findings.append(found)
    return {
        "says": judged.claim.says,
        "source": judged.claim.source,
        "criterion": describe_criterion(judged.claim),
        "verdict": judged.verdict,
        "findings": findings,
    }


def _finite(value: Value) -> Value:
    """Write infinity as "never": JSON has no infinity."""
    return "never" if isinstance(value, float) and math.isinf(value) else value


def studies(runs: Sequence[Run]) -> list[tuple[Study, list[Run]]]:
    """Group runs by experiment and protocol, and sum up each group."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault(run.study, []).append(run)
    return [(_study(*key, group), group) for key, group in groups.items()]


def _study(name: str, protocol: str, runs: list[Run]) -> Study:
    experiment = read(name)
    order = list(experiment.variants)
    runs.sort(key=lambda run: order.index(run.variant) if run.variant in order else len(order))
    changed: dict[str, dict[str, None]] = {}
    for run in runs:
        for key, value in changes(experiment, run).items():
            changed.setdefault(key, {})[to_toml(value)] = None
    versions = {key: _join(run.versions.get(key, "?") for run in runs) for key in runs[0].versions}
    settings = {key: _join(values) for key, values in changed.items()}
    data = _join(describe(run.config["data"]) for run in runs)
    return Study(
        name,
        protocol,
        experiment,
        commands(experiment, runs),
        settings,
        versions,
        records(runs),
        data,
    )


def _join(values: Iterable[str]) -> str:
    return " or ".join(dict.fromkeys(values))


def load(path: Path) -> Study:
    """Read a study from its JSON; the claims of this version are judged again."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        check_schema(kept, path)
        runs = [Record(**each) for each in kept["runs"]]
        name, settings = kept["experiment"], (kept["commands"], kept["changes"], kept["versions"])
        more = {key: kept[key] for key in ("data", "figures", "note", "part") if key in kept}
        return Study(name, kept["protocol"], read(name), *settings, runs, **more)
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error, Record)}") from None
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} is not a summary of a report: {error!r}") from None
