"""Run directories become tables, figures and one self-contained page per experiment and protocol.

    runs ──► records ──► claims, judged ──► tables ──► study ──► page, Markdown, JSON
      └────────────────────────────────────────────► figures ──┘

A record is what is kept of a run. Everything but the curves follows from records, so that
`docs/results.md` is made from those in `results/` in the same way.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from augnet.app.html import render
from augnet.app.style import Drawn
from augnet.paper.report.command import leaves, toml
from augnet.paper.report.drawings import draw
from augnet.paper.report.runs import Run, find
from augnet.paper.report.study import MEANS, SIDE_BY_SIDE, Beside, Study, side_by_side, studies
from augnet.paper.report.tables import by_label, runs_table
from augnet.paper.report.wording import asked, found

__all__ = ["Run", "find", "write"]


def write(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write a page, PNG files, Markdown and JSON for each experiment and protocol."""
    pages = []
    parts = studies(runs)
    beside = side_by_side(study for study, _ in parts)
    for study, mine in parts:
        target = folder / study.label
        target.mkdir(parents=True, exist_ok=True)
        figures = draw(study, mine)
        study = study._replace(figures={each.name: [each.title, each.caption] for each in figures})
        for each in figures:
            each.figure.savefig(target / f"{each.name}.png", dpi=150)
        texts = {
            "summary.md": markdown(study, figures, beside.get(study.name)),
            "summary.json": json.dumps(study.summary(), indent=1) + "\n",
            "index.html": page(study, mine, figures, beside.get(study.name)),
        }
        for name, text in texts.items():
            (target / name).write_text(text, encoding="utf-8")
        pages.append(target / "index.html")
    return pages


def markdown(study: Study, figures: Sequence[Drawn], beside: Beside | None = None) -> str:
    """Write the page as Markdown, with the PNG files beside it."""
    parts = [f"# {study.experiment.title}\n", f"{study.experiment.question}\n", study.outcome]
    parts += [f"\n## {SIDE_BY_SIDE}\n\n{beside.markdown}"] if beside else []
    parts += [f"\n## {title}\n\n{table.markdown}" for title, table in study.tables.items()]
    parts += [f"\n## {each.title}\n\n![{each.title}]({each.name}.png)\n\n{each.caption}"
              for each in figures]  # fmt: skip
    commands = "\n".join(f"    {command}" for command in study.commands)
    parts += [f"\n## How it was made\n\n{commands}\n\n{study.made}\n"]
    return "\n".join(parts)


def page(
    study: Study, runs: Sequence[Run], figures: Sequence[Drawn], beside: Beside | None = None
) -> str:
    """Write the page as HTML that needs nothing beside it."""
    tables = {
        title: table for title, table in study.tables.items() if title != "The paper and ours"
    }
    return render(
        "paper/report/page.html",
        study=study,
        beside=beside,
        side_by_side=SIDE_BY_SIDE,
        means=MEANS,
        judged=study.judged,
        asked=asked,
        found=found,
        tables=tables,
        figures=figures,
        each_run=runs_table(study.records),
        unfinished=sum(run.kept is None for run in runs),
        settings=_toml(runs[0].config),
        base=runs[0].label,
        differences=differences(runs),
    )


def differences(runs: Sequence[Run]) -> dict[str, list[str]]:
    """Say of each variant which settings are not those of the first."""
    base = dict(leaves(runs[0].config))

    def differs(run: Run) -> list[str]:
        mine = dict(leaves(run.config))
        keys = [key for key in mine if mine[key] != base.get(key) and key != "variant"]
        return [f"{key} = {_value(mine[key])}" for key in keys]

    return {label: differs(group[0]) for label, group in list(by_label(runs).items())[1:]}


def _toml(config: dict[str, Any]) -> str:
    return "\n".join(f"{key} = {_value(value)}" for key, value in leaves(config))


def _value(value: Any) -> str:
    return "not set" if value is None else toml(value)
