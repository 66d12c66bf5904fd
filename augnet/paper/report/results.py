"""Write `docs/results.md`: what reproduces and what does not, from the records in `results/`."""

from collections.abc import Sequence
from pathlib import Path

from augnet.paper.config import ConfigError
from augnet.paper.report import searches
from augnet.paper.report.claims import JudgedClaim
from augnet.paper.report.study import COMPARISON_TITLE, Study, compare_protocols, load

INTRODUCTION = """\
# Results

The claims of the paper about its controlled experiments, and our results in its settings. This page
is made from the records in `results/` by `python -m augnet.paper.report results docs/results.md`.
The claims and their criteria are in `augnet/paper/experiments/*.toml`; the paper gives curves and
no tolerances, so the tolerances are ours. Our values are the median over the seeds and the range;
[k of n] counts the seeds of one variant in which the claim holds. Names and keys in these records
were rewritten in the current vocabulary; the numbers are unchanged. Figures of curves and heat maps
are as they were drawn: they write `-` where names of transforms now have `_`.
"""

KINDS = {
    "all": "Holds in every run",
    "some": "Holds in some runs",
    "none": "Holds in no run",
    "unknown": "Not judged, because runs are missing",
    "unasked": "Not asked, because layers keep all transforms that have a range",
}


def results(folder: Path) -> str:
    """Write the page for all studies in a folder."""
    studies = [load(path) for path in sorted(folder.glob("*-paper.json"))]
    if not studies:
        raise ConfigError(f"no *-paper.json in {folder}")
    others = {*folder.glob("*-fair*.json"), *folder.glob("*-paper+*.json")}
    all_studies = [*studies, *map(load, sorted(others))]
    comparisons, sections = compare_protocols(all_studies), []
    for study in all_studies:
        if comparison := comparisons.pop(study.name, None):
            title = f"{study.experiment.title}: {COMPARISON_TITLE.lower()}"
            sections.append(f"## {title}\n\n{comparison.markdown}")
        sections.append(section(study, folder))
    found = [searches.load(path) for path in sorted(folder.glob("*-search.json"))]
    sections += map(search_section, found)
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


def _line(study: Study, judged: JudgedClaim) -> str:
    return f"- {study.name}: {judged.claim.says} ({judged.claim.source}): {judged.verdict}\n"


def _protocol(study: Study) -> str:
    """Name the protocol in a title, unless it is the paper's."""
    if study.protocol == "paper":
        return ""
    whose = "" if "paper" in study.protocol.split("+") else ", not the paper's"
    return f" (protocol {study.protocol}{whose})"


def search_section(study: searches.SearchStudy) -> str:
    """Write the scores of searches, and their cost."""
    commands = "\n".join(f"    {command}" for command in study.commands)
    return "\n".join((
        f"## {study.title} (protocol {study.protocol}, not the paper's)\n",
        f"Data: {study.data}. Medians over folds, and the range. One pass is one sample that goes "
        "forward and backward through the trunk; pretraining and retraining are included.\n",
        f"{study.table.markdown}",
        *(f"{sentence}\n" for sentence in study.sentences),
        f"{commands}\n",
        f"commit {' or '.join(study.commits)}.\n",
    ))  # fmt: skip


def section(study: Study, folder: Path) -> str:
    """Write the results of one study, with the figures that are kept next to its records."""
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
        f"{study.provenance}.\n",
    ))  # fmt: skip
