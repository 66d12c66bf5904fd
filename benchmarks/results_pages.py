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
    return "\n".join(
        (INTRODUCTION, table.markdown, f"```{{toctree}}\n:hidden:\n\n{entries}\n```\n")
    )


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
