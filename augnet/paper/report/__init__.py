"""Turn run directories into tables, figures and one self-contained page per study.

    runs ──► records ──► judged claims ──► tables ──► study ──► page, Markdown, JSON
      └────────────────────────────────────────────► figures ──┘

A study is the runs of one experiment under one protocol. A record is what is kept of a run.
Everything but the curves is made from records, so that the pages in `docs/results/` are made from
those in `results/` in the same way.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from augnet.app.html import render
from augnet.app.style import Drawn
from augnet.paper.report.command import flatten, to_toml
from augnet.paper.report.drawings import draw
from augnet.paper.report.runs import Run, find
from augnet.paper.report.study import (
    CLAIMS_TITLE,
    COMPARISON_TITLE,
    MEANS_NOTE,
    ProtocolComparison,
    Study,
    compare_protocols,
    studies,
)
from augnet.paper.report.tables import CLAIMS_COLUMNS, NOT_MEASURED, by_label, runs_table
from augnet.paper.report.wording import describe_criterion, describe_findings

__all__ = ["Run", "find", "write"]


def write(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write a page, PNG files, Markdown and JSON for each study; return the pages."""
    pages = []
    groups = studies(runs)
    comparisons = compare_protocols(study for study, _ in groups)
    for study, group in groups:
        target = folder / study.label
        target.mkdir(parents=True, exist_ok=True)
        figures = draw(study, group)
        study = study._replace(figures={each.name: [each.title, each.caption] for each in figures})
        for each in figures:
            each.figure.savefig(target / f"{each.name}.png", dpi=150)
        comparison = comparisons.get(study.name)
        texts = {
            "summary.md": markdown(study, figures, comparison),
            "summary.json": json.dumps(study.summary(), indent=1) + "\n",
            "index.html": page(study, group, figures, comparison),
        }
        for name, text in texts.items():
            (target / name).write_text(text, encoding="utf-8")
        pages.append(target / "index.html")
    return pages


def markdown(
    study: Study, figures: Sequence[Drawn], comparison: ProtocolComparison | None = None
) -> str:
    """Write the page as Markdown that shows the PNG files next to it."""
    parts = [f"# {study.experiment.title}\n", f"{study.experiment.question}\n", study.outcome]
    parts += [f"\n## {COMPARISON_TITLE}\n\n{comparison.markdown}"] if comparison else []
    parts += [f"\n## {title}\n\n{table.markdown}" for title, table in study.tables.items()]
    parts += [f"\n## {each.title}\n\n![{each.title}]({each.name}.png)\n\n{each.caption}"
              for each in figures]  # fmt: skip
    commands = "\n".join(f"    {command}" for command in study.commands)
    parts += [f"\n## How to reproduce\n\n{commands}\n\n{study.provenance}\n"]
    return "\n".join(parts)


def page(
    study: Study,
    runs: Sequence[Run],
    figures: Sequence[Drawn],
    comparison: ProtocolComparison | None = None,
) -> str:
    """Write the page as one self-contained HTML file."""
    return render(
        "paper/report/page.html",
        study=study,
        comparison=comparison,
        comparison_title=COMPARISON_TITLE,
        means_note=MEANS_NOTE,
        claims_title=CLAIMS_TITLE,
        claims_columns=CLAIMS_COLUMNS,
        not_measured=NOT_MEASURED,
        describe_criterion=describe_criterion,
        describe_findings=describe_findings,
        tables={title: table for title, table in study.tables.items() if title != CLAIMS_TITLE},
        figures=figures,
        all_runs=runs_table(study.records),
        unfinished=sum(run.kept is None for run in runs),
        settings="\n".join(_line(key, value) for key, value in flatten(runs[0].config)),
        first=runs[0].label,
        differences=differences(runs),
    )


def differences(runs: Sequence[Run]) -> dict[str, list[str]]:
    """List for each variant the settings that differ from those of the first."""
    base = dict(flatten(runs[0].config))

    def differs(run: Run) -> list[str]:
        settings = dict(flatten(run.config))
        keys = [key for key in settings if settings[key] != base.get(key) and key != "variant"]
        return [_line(key, settings[key]) for key in keys]

    return {label: differs(group[0]) for label, group in list(by_label(runs).items())[1:]}


def _line(key: str, value: Any) -> str:
    return f"{key} = {'not set' if value is None else to_toml(value)}"
