"""docs/results.md and docs/results/ are made from results/, not written."""

import json
import re
import shutil
from pathlib import Path

import pytest
import results_pages
import value
from results_files import share

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_the_pages_are_those_of_the_results():
    made = results_pages.pages()
    kept = {f"results/{page.name}" for page in (DOCS / "results").glob("*.md")}
    assert kept == set(made) - {"results.md"}, "python benchmarks/results_pages.py"
    for name, text in made.items():
        page = (DOCS / name).read_text(encoding="utf-8")
        assert page == text, f"{name}: python benchmarks/results_pages.py"


@pytest.mark.parametrize("name", sorted(set(results_pages.pages()) - {"results.md"}))
def test_a_page_says_what_it_shows_and_how_it_was_made(name):
    title, empty, *rest = results_pages.pages()[name].splitlines()
    assert title.startswith("# ")
    assert not empty
    lines = rest[: rest.index("")]
    assert 2 <= len(lines) <= 4
    shown = "\n".join(rest).partition("<details>")[0]
    made = shown.partition("## How it was made\n\n    ")[2]
    assert made.startswith(("augnet ", "make ", "python benchmarks/"))
    assert "ommit" in made


def test_every_figure_of_the_paper_that_is_listed_is_kept():
    named = [name for _, names in results_pages.FIGURES.values() for name in names]
    assert [name for name in named if not (ROOT / "results" / f"{name}.png").exists()] == []
    numbers = ["3a", "3b", "4", "6b", "A.1", "A.2", "B.1a", "B.1b", "B.2", "B.3", "2"]
    assert set(numbers) <= results_pages.FIGURES.keys()
    assert (
        "| 3b | learned shift | `sinusoids-paper-learned.png`, `sinusoids-learned.png` |"
        in results_pages.figures()
    )


def cell(data, method, seed, score):
    return {"data": data, "method": method, "seed": seed, "score": score, "passes": 100,
            "seconds": 1.0, "commit": "abc1234", "rows": []}  # fmt: skip


def test_a_page_appears_when_its_file_exists(tmp_path):
    shutil.copy(ROOT / "results" / "sinusoids.json", tmp_path)
    assert set(results_pages.pages(tmp_path)) == {"results.md", "results/sinusoids.md"}
    scores = {"none": (0.80, 0.82, 0.81), "learn": (0.90, 0.92, 0.91)}
    cells = [cell("digits", method, seed, score) for method, found in scores.items()
             for seed, score in enumerate(found)]  # fmt: skip
    table = value.table(cells)
    kept = {"summary": value.summary(table), "table": table, "cells": cells}
    made = {"command": "python benchmarks/value.py", "commit": "abc1234", "machine": "two cores"}
    (tmp_path / "value.json").write_text(json.dumps(made | kept))
    pages = results_pages.pages(tmp_path)
    assert "| digits | 91.0 | 81.0 (+10.0 ± 0.0) |" in pages["results/value.md"]
    assert "`learn` is first on 1 of 1 data sets" in pages["results.md"]
    assert "Commit abc1234; machine: two cores." in pages["results/value.md"]


def test_ranges_of_classes_are_judged_and_mistakes_are_named(tmp_path):
    def part(name, status, strength, reason=""):
        return {"name": name, "status": status, "strength": strength, "samples": 50,
                "interval": [0.8 * strength, 1.2 * strength], "reason": reason}  # fmt: skip

    def run(task, parts, truths, right, held_out=False):
        return {"task": task, "seed": 0, "transform": "rotate", "all": "", "parts": parts,
                "truths": truths, "right": right, "held_out": held_out,
                "all_right": all(right.values()), "commit": "abc1234"}  # fmt: skip

    good = [part("0", "bounded", 30.0), part("1", "reached_limit", 180.0)]
    bad = [part("0", "bounded", 9.0), part("1", "unclear", 0.0, "too few")]
    digits = {"task": "digits, rotate", "seed": 0, "transform": "rotate", "commit": "abc1234",
              "all": "rotate: bounded, ±9 degrees", "parts": 5 * good}  # fmt: skip
    check = {"transform": "rotate", "steps": 7, "commit": "def5678",
             "rows": [{"strength": 10.0, "all": 0.01, "classes": [0.02] * 10}]}  # fmt: skip
    runs = [
        run("hands", good, {"0": 28.0, "1": "limit"}, {"0": True, "1": True}),
        run("sectors", bad, {"0": 0.0, "1": 0.0}, {"0": False, "1": True}, held_out=True),
        digits,
    ]
    kept = {"runs": runs, "check": [check], "command": "python benchmarks/by_class.py"}
    (tmp_path / "by-class.json").write_text(json.dumps(kept | {"machine": "two cores"}))
    shutil.copy(ROOT / "results" / "sinusoids.json", tmp_path)
    page = results_pages.pages(tmp_path)["results/by-class.md"]
    assert re.search(r"are right in 1 of 2 \(.*\), 1 seed. Of tasks: 0 of 1", page)
    assert "3 of 4 (" in page
    assert "; 1 are wrong and not `unclear`" in page
    assert "| hands | `rotate` | 28, limit | 30, limit | 1 of 1 |" in page
    assert "| sectors * | `rotate` | 0, 0 | 9, ? | 0 of 1 |" in page
    assert "| 30 (24 to 36) | ≥ 180 (144 to 216) |" in page
    assert "| 10 | 2.0 |" in page
    assert "add a point to the error of all digits at `rotate` above 10." in page
    assert "- sectors, seed 0, 0: bounded, 9; the truth is 0.0" in page


def test_medians_of_two_seeds_are_in_the_middle(tmp_path):
    def changed(name, *runs):
        kept = json.loads((ROOT / "results" / f"{name}.json").read_text())
        first = next(run for run in kept["runs"] if run.get("truths", True))
        kept["runs"] = [first | run | {"seed": seed} for seed, run in enumerate(runs)]
        (tmp_path / f"{name}.json").write_text(json.dumps(kept))

    def part(strength):
        return {"name": "0", "status": "bounded", "strength": strength, "reason": ""}

    parts = [[part(20.0)], [part(30.0)]]
    known = {"truths": {"0": 28.0}, "right": {"0": True}}
    changed("by-class", *(known | {"parts": each} for each in parts))
    changed("audit", {"cost": 0.1}, {"cost": 0.3})
    shutil.copy(ROOT / "results" / "sinusoids.json", tmp_path)
    pages = results_pages.pages(tmp_path)
    assert "| 28 | 25 |" in pages["results/by-class.md"]
    assert "| 20.0 (10.0 to 30.0) points |" in pages["results/audit.md"]


def test_counts_have_intervals():
    assert share(0, 0) == "-"
    assert share(10, 10) == "10 of 10 (79 to 100 %)"
    assert share(5, 10) == "5 of 10 (27 to 73 %)"
