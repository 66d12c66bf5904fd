"""Write `docs/results.md`: what reproduces and what does not, from the records in `results/`."""

from collections.abc import Sequence
from pathlib import Path

from augnet.paper.config import ConfigError, names
from augnet.paper.report import searches
from augnet.paper.report.study import COMPARISON_TITLE, Study, compare_protocols, load
from augnet.paper.report.tables import NOT_MEASURED, Table

INTRODUCTION = """\
# Results

The claims of the paper about its experiments, what the authors' code gave when we ran it, and our
results: in the paper's settings, and with our own objective, the edge rule. This page is made from
the records in `results/` by `python -m augnet.paper.report results docs/results.md`. The claims,
their criteria and the facts about the authors' code are in `augnet/paper/experiments/*.toml`; the
paper gives curves and no tolerances, so the tolerances are ours.

Claims are judged strictly. A transform is selected if it has at least half of the weight of its
layer, and no tie. A strength is that of the saved net, whose augmentation has the average of its
parameters over the last quarter of training. Our values are the median over the seeds and the
range; [k of n] counts the seeds of one variant in which the claim holds.
"""

OURS, PAPER = "ours", "paper"
EARLIER = "(earlier settings)"


def results(folder: Path) -> str:
    """Write the page for all studies in a folder."""
    kept = [path for name in names() for path in sorted(folder.glob(f"{name}*.json"))]
    studies = [load(path) for path in kept if not path.stem.endswith("-search")]
    if not any(study.protocol in (OURS, PAPER) for study in studies):
        raise ConfigError(f"no *-paper.json in {folder}")
    comparisons, sections = compare_protocols(studies), []
    for study in studies:
        if comparison := comparisons.pop(study.name, None):
            title = f"{study.experiment.title}: {COMPARISON_TITLE.lower()}"
            sections.append(f"## {title}\n\n{comparison.markdown}")
        sections.append(section(study, folder))
    found = [searches.load(path) for path in sorted(folder.glob("*-search.json"))]
    sections += map(search_section, found)
    return "\n".join((INTRODUCTION, overview(studies), *sections))


def overview(studies: Sequence[Study]) -> str:
    """List all claims, and how they hold for the authors' code and in our runs."""
    verdicts: dict[tuple[str, str, str], dict[str, str]] = {}
    for study in studies:
        for each in study.judged if study.protocol in (OURS, PAPER) else ():
            claim = f"{each.claim.says} ({each.claim.source})"
            key = (study.name, claim, each.claim.authors or NOT_MEASURED)
            verdict = each.verdict + (f" {EARLIER}" if study.note else "")
            verdicts.setdefault(key, {})[study.protocol] = verdict
    rows = [
        (*key, *(found.get(protocol, "not run") for protocol in (PAPER, OURS)))
        for key, found in verdicts.items()
    ]
    columns = (
        "experiment",
        "paper says",
        "the authors' code, measured",
        "ours, the paper's settings",
    )
    table = Table((*columns, "ours, the edge rule"), rows)
    return f"## What holds, and what does not\n\n{table.markdown}"


def _protocol(study: Study) -> str:
    """Name the protocol in a title, unless it is the paper's."""
    if study.protocol == PAPER:
        return " (the paper's settings)"
    if study.protocol == OURS:
        return " (the edge rule)"
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
        *([f"{study.note}\n"] if study.note else []),
        *tables,
        *figures,
        f"{commands}\n",
        f"{study.provenance}.\n",
    ))  # fmt: skip
