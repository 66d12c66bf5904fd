"""Run directories become tables, figures and one self-contained page per experiment."""

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment
from matplotlib.figure import Figure

from augnet.config import Experiment, read
from augnet.report.figures import by_variant, capacity, heat_map, over_epochs, spread, svg
from augnet.report.runs import Run, find, strength

__all__ = ["COLUMNS", "Run", "find", "summary_table", "write"]

COLUMNS = ("variant", "seeds", "selected", "strength", "paper", "test accuracy")


class Drawn(NamedTuple):
    """A figure with its words."""

    name: str
    title: str
    caption: str
    figure: Figure

    @property
    def svg(self) -> str:
        """The figure as it stands in the page."""
        return svg(self.figure)


def summary_table(experiment: Experiment, runs: Sequence[Run]) -> list[tuple[str, ...]]:
    """Sum up each variant over its seeds, beside what the paper says."""
    expected, unit = experiment.expect.get("selected"), experiment.expect.get("unit", "")
    truth = experiment.expect.get("strength")
    table: list[tuple[str, ...]] = []
    for variant, group in by_variant(runs).items():
        chosen = [run.selected() for run in group]
        counts = {word: chosen.count(word) for word in dict.fromkeys(chosen) if word}
        selected = ", ".join(f"{word} {count}×" for word, count in counts.items()) or "-"
        strengths = [run.strength(expected) for run in group] if expected else []
        known = [strength for strength in strengths if strength is not None]
        table.append((
            variant,
            str(len(group)),
            selected,
            f"{expected} {spread(known)} {unit}" if known else "-",
            f"{expected} {truth} {unit}" if expected and truth else "-",
            spread([run.rows[-1]["test_accuracy"] for run in group]),
        ))  # fmt: skip
    return table


def each_run(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Say of each run what was selected in each layer and how strong, and what was measured."""
    return [
        {
            "variant": run.variant,
            "seed": run.seed,
            "epochs": len(run.rows),
            "test_accuracy": run.rows[-1]["test_accuracy"],
            "selected": [
                {
                    "word": word,
                    "weight": round(run.learned(f"layer{layer}.{word}.weight"), 4),
                    "strength": round(run.learned(f"layer{layer}.{word}.strength"), 4),
                }
                for layer in range(1, run.layers + 1)
                if (word := run.selected(layer))
            ],
            "measured": run.measured,
        }
        for run in runs
    ]


def draw(experiment: Experiment, runs: Sequence[Run]) -> list[Drawn]:
    """Draw what an experiment is about."""
    word, unit = experiment.expect.get("selected"), experiment.expect.get("unit", "")
    drawn: list[Drawn] = []

    def add(name: str, title: str, caption: str, figure: Figure | None) -> None:
        if figure is not None:
            drawn.append(Drawn(name, title, caption, figure))

    dots = "Lines are medians over seeds, dots are the seeds."
    add("capacity", "Invariance and accuracy against the size of the trunk", dots, capacity(runs))
    band = "Lines are medians over seeds, shades all that they span."
    if word:
        truth = experiment.expect.get("strength")
        figure = over_epochs(runs, lambda row: strength(row, word), f"{word}, {unit}", truth)
        add("learned", f"Learned strength of {word}", band, figure)
    add("accuracy", "Test accuracy", band,
        over_epochs(runs, lambda row: row["test_accuracy"], "test accuracy"))  # fmt: skip
    add("loss", "Training loss of the task", band,
        over_epochs(runs, lambda row: row["task"], "cross-entropy"))  # fmt: skip
    for variant, group in by_variant(runs).items():
        caption = f"Seed {group[0].seed}. A magnitude of 1 is the word's limit."
        title = f"Weights and magnitudes: {variant}"
        add(f"words-{variant}", title, caption, heat_map(group[0]))
    return drawn


def write(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write a page, PNG files and a Markdown table for each experiment among the runs."""
    template = Environment(autoescape=True).from_string(
        (resources.files("augnet.report") / "page.html").read_text(encoding="utf-8")
    )
    pages = []
    for name in dict.fromkeys(str(run.config["experiment"]) for run in runs):
        mine = [run for run in runs if run.config["experiment"] == name]
        experiment = read(name)
        table, figures = summary_table(experiment, mine), draw(experiment, mine)
        protocols = " and ".join(dict.fromkeys(str(run.config["protocol"]) for run in mine))
        seeds = len({run.seed for run in mine})
        target = folder / name
        target.mkdir(parents=True, exist_ok=True)
        for each in figures:
            each.figure.savefig(target / f"{each.name}.png", dpi=150)
        rows = [COLUMNS, ("---",) * len(COLUMNS), *table]
        markdown = "".join(f"| {' | '.join(row)} |\n" for row in rows)
        (target / "summary.md").write_text(markdown, encoding="utf-8")
        command = f"augnet run {name} --protocol {protocols} --seeds {seeds}"
        record = {"command": command, "versions": mine[0].versions, "runs": each_run(mine)}
        (target / "summary.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        page = template.render(
            experiment=experiment,
            columns=COLUMNS,
            table=table,
            figures=figures,
            command=command,
            settings=json.dumps(mine[0].config, indent=1),
        )
        (target / "index.html").write_text(page, encoding="utf-8")
        pages.append(target / "index.html")
    return pages
