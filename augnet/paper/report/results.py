"""`docs/results.md`: what reproduces and what does not, from the records in `results/`."""

from collections.abc import Sequence
from pathlib import Path

from augnet.paper.config import ConfigError
from augnet.paper.report import searches
from augnet.paper.report.claims import Judged
from augnet.paper.report.study import SIDE_BY_SIDE, Study, load, side_by_side

INTRODUCTION = """\
# Results

What the paper claims of its controlled experiments, and what we find in its own settings. Made
from the records in `results/` by `python -m augnet.paper.report results docs/results.md`. The claims, and
what counts as holding, are in `augnet/experiments/*.toml`: the paper gives curves, so tolerances
are ours. Ours is the median over the seeds, and all that they span; [k of n] counts the seeds of
one variant.
"""

KINDS = {
    "all": "Holds in every run",
    "some": "Holds in some runs",
    "none": "Holds in no run",
    "unknown": "Not judged, for lack of runs",
}


def results(folder: Path) -> str:
    """Write the page for all studies in a folder."""
    studies = [load(path) for path in sorted(folder.glob("*-paper.json"))]
    if not studies:
        raise ConfigError(f"no *-paper.json in {folder}")
    forms = {*folder.glob("*-fair*.json"), *folder.glob("*-paper+*.json")}
    all_studies = [*studies, *map(load, sorted(forms))]
    beside, sections = side_by_side(all_studies), []
    for study in all_studies:
        if both := beside.pop(study.name, None):
            title = f"{study.experiment.title}: {SIDE_BY_SIDE.lower()}"
            sections.append(f"## {title}\n\n{both.markdown}")
        sections.append(section(study, folder))
    sections += [compared(searches.load(path)) for path in sorted(folder.glob("*-search.json"))]
    return "\n".join((INTRODUCTION, overview(studies), *sections))


def overview(studies: Sequence[Study]) -> str:
    """List all claims by their verdict."""
    judged = [(study, each) for study in studies for each in study.judged]
    parts = ["## What reproduces, what does not\n"]
    for kind, title in KINDS.items():
        lines = [_line(study, each) for study, each in judged if each.kind == kind]
        if lines:
            parts.append(f"{title} ({len(lines)} of {len(judged)} claims):\n\n" + "".join(lines))
    return "\n".join(parts)


def _line(study: Study, judged: Judged) -> str:
    return f"- {study.name}: {judged.claim.says} ({judged.claim.source}): {judged.verdict}\n"


def _protocol(study: Study) -> str:
    """Say which settings, where they are not just the paper's."""
    if study.protocol == "paper":
        return ""
    whose = "" if "paper" in study.protocol.split("+") else ", not the paper's"
    return f" (protocol {study.protocol}{whose})"


def compared(study: searches.Searched) -> str:
    """Write what searches came to, and what they cost."""
    commands = "\n".join(f"    {command}" for command in study.commands)
    return "\n".join((
        f"## {study.title} (protocol {study.protocol}, not the paper's)\n",
        f"Data: {study.data}. Medians over folds, and all that they span. Passes are samples that "
        "went forwards and backwards through the trunk, pretraining and retraining included.\n",
        f"{study.table.markdown}",
        *(f"{sentence}\n" for sentence in study.said),
        f"{commands}\n",
        f"commit {' or '.join(study.commits)}.\n",
    ))  # fmt: skip


def section(study: Study, folder: Path) -> str:
    """Write what one study found, and how; with the figures that are kept beside its records."""
    figures = [
        f"### {title}\n\n![{title}](../{folder.name}/{file})\n\n{caption}\n"
        for name, (title, caption) in study.figures.items()
        if (folder / (file := f"{study.label}-{name}.png")).exists()
    ]
    tables = [f"### {title}\n\n{table.markdown}" for title, table in study.tables.items()]
    commands = "\n".join(f"    {command}" for command in study.commands)
    return "\n".join((
        f"## {study.experiment.title}{_protocol(study)}\n",
        f"{study.experiment.question} {study.outcome} {study.seeds}.\n",
        *tables,
        *figures,
        f"{commands}\n",
        f"{study.made}.\n",
    ))  # fmt: skip
