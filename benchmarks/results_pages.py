"""Make docs/results.md and docs/results/*.md from the files in results/.

    python benchmarks/results_pages.py

A file that is not there yet has no page. Figures that follow from the files alone are drawn next to
them. A test compares the pages with what this script would write.
"""

from pathlib import Path

from results_by_class import by_class
from results_models import audit, digits, trunks, value
from results_recovery import draw_recovery_real, recovery, recovery_real

from augnet.paper.report import kept_figures, results
from augnet.paper.report.result_page import ResultPage
from augnet.paper.report.tables import Table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
INDEX = "results.md"
BENCHMARKS = {
    "digits": digits,
    "recovery": recovery,
    "recovery-real": recovery_real,
    "value": value,
    "trunks": trunks,
    "audit": audit,
    "by-class": by_class,
}
"""What makes a page, by the name of its file in results/."""
INTRODUCTION = """\
# Results

What was measured, one page per experiment. Each page says in three lines what it shows, then has a
figure, a table, the command, the commit and the machine. Details are folded.
All pages are made from the files in `results/` by `python benchmarks/results_pages.py`: no number
is written by hand. [Performance](performance.md) has times, and the [studies](studies/index.md) say
how the results came about.
"""
FIGURES = {
    "2": ("how the regularizer selects", ["selectivity"]),
    "3a": ("learned angle", ["mario-iggy-paper-learned", "mario-iggy-learned"]),
    "3b": ("learned shift", ["sinusoids-paper-learned", "sinusoids-learned"]),
    "4": (
        "weights and magnitudes, by the paper's and by Augerino's regularizer",
        ["mario-iggy-paper-transforms-augnet", "mario-iggy-paper-transforms-augerino-regularizer"],
    ),
    "5, B.4": (
        "invariance and accuracy by capacity and copies",
        ["capacity-paper-capacity", "capacity-paper+authors-capacity", "capacity-capacity"],
    ),
    "6a": ("CIFAR-10 over the epochs, small", ["cifar10-paper+small-stopped"]),
    "6b": ("sleep staging against time, small", ["sleep-small-search-seconds"]),
    "A.1": ("data of Mario-Iggy, our two pictures", ["mario-iggy-data"]),
    "A.2": ("widths of Augerino", ["mario-iggy-paper-widths"]),
    "B.1a": ("weights and magnitudes, one layer", ["sinusoids-paper-transforms-one-layer"]),
    "B.1b": ("training", ["sinusoids-paper-accuracy", "sinusoids-paper-loss"]),
    "B.2": ("weights and magnitudes, two layers", ["sinusoids-paper-transforms-two-layers"]),
    "B.3": ("weights and magnitudes, four layers", ["sinusoids-paper-transforms-four-layers"]),
}
"""Figures of the paper, by number: what they show, and ours in results/."""


def pages(folder: Path = RESULTS) -> dict[str, str]:
    """Return all pages, by their name in docs/."""
    ours = [make(folder) for name, make in BENCHMARKS.items() if (folder / f"{name}.json").exists()]
    of_the_paper = results.pages(folder)
    texts = {f"results/{each.name}.md": each.markdown for each in (*ours, *of_the_paper)}
    return {INDEX: index(ours, of_the_paper), **texts}


def index(ours: list[ResultPage], of_the_paper: list[ResultPage]) -> str:
    """Return the page that leads to the others."""
    every = (*ours, *of_the_paper)
    rows = [(f"[{each.title}](results/{each.name}.md)", each.asked, each.brief or each.shows[0])
            for each in every]  # fmt: skip
    table = Table(("page", "asked", "came out"), rows)
    entries = "\n".join(f"results/{each.name}" for each in every)
    toctree = f"```{{toctree}}\n:hidden:\n\n{entries}\n```\n"
    return "\n".join((INTRODUCTION, table.markdown, figures(), toctree))


def figures() -> str:
    """List the figures of the paper, and where ours are."""
    rows = [
        (number, shows, ", ".join(f"`{name}.png`" for name in names))
        for number, (shows, names) in FIGURES.items()
    ]
    table = Table(("figure of the paper", "shows", "ours"), rows)
    where = (
        "Ours are in `results/`, and on the page of their experiment; figure 2 is on that of the"
    )
    return f"## Figures of the paper\n\n{where} [objective](objective.md).\n\n{table.markdown}"


def main() -> None:
    """Draw the figures and write the pages."""
    kept_figures.draw(RESULTS)
    if (RESULTS / "recovery-real.json").exists():
        draw_recovery_real(RESULTS)
    docs = ROOT / "docs"
    (docs / "results").mkdir(exist_ok=True)
    made = pages()
    for page in (docs / "results").glob("*.md"):
        if f"results/{page.name}" not in made:
            page.unlink()
    for name, text in made.items():
        (docs / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
