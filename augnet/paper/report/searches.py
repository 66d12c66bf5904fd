"""Turn search directories into a page: accuracy against time and passes (figures 6b, B.10)."""

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from augnet.app.html import render
from augnet.app.style import svg
from augnet.paper.config import ConfigError, read
from augnet.paper.datasets import describe
from augnet.paper.report import directories
from augnet.paper.report.figures.searches import Curve, improvement, score_against_cost
from augnet.paper.report.records import SCHEMA, check_schema
from augnet.paper.report.search_scores import (
    NO_AUGMENTATION,
    OURS,
    clearly_better,
    compare_with_bilevel,
    gain_over_none,
    improves,
    passes_to_match_ours,
)
from augnet.paper.report.tables import Table
from augnet.paper.report.wording import median_and_range
from augnet.training import ResumableDirectory

BASELINE = "adda"  # the method that the paper compares with, fold by fold


class SearchStudy(NamedTuple):
    """All searches of one experiment under one protocol."""

    experiment: str
    protocol: str
    data: str
    metric: str
    commits: list[str]
    machines: list[str]
    curves: dict[str, dict[int, Curve]]

    @property
    def title(self) -> str:
        """The title of the page."""
        return f"{read(self.experiment).title}: searches"

    @property
    def budget(self) -> float:
        """The passes at which methods are compared: the fewest at which all have a score.

        A method that is finished by then keeps its last score.
        """
        every = (curve for seeds in self.curves.values() for curve in seeds.values())
        return float(max(curve.passes[0] for curve in every))

    @property
    def table(self) -> Table:
        """The score and the cost of each method."""
        columns = (
            "method",
            "folds",
            f"{self.metric} at the end",
            "less none, fold by fold (90 % interval)",
            f"thousand passes to the final score of {OURS}",
            "thousand passes in all",
            "seconds",
        )
        rows = []
        for method, seeds in self.curves.items():
            rows.append((
                method,
                str(len(seeds)),
                median_and_range([curve.test[-1] for curve in seeds.values()]),
                gain_over_none(self.curves, method),
                median_and_range([n / 1000 for n in passes_to_match_ours(self.curves, method)]),
                median_and_range([curve.passes[-1] / 1000 for curve in seeds.values()]),
                median_and_range([curve.seconds[-1] for curve in seeds.values()]),
            ))  # fmt: skip
        return Table(columns, rows)

    @property
    def sentences(self) -> list[str]:
        """Sentences: AugNet compared with bilevel searches, and methods that do not help."""
        found = [compare_with_bilevel(self.curves, OURS)] if OURS in self.curves else []
        if NO_AUGMENTATION in self.curves:
            named = ", ".join(clearly_better(self.curves)) or "no method"
            found.append(f"Clearly better than no augmentation, paired over folds: {named}.")
        worse = [method for method in self.curves if not improves(self.curves, method)]
        if worse:
            found.append(f"On average no better than no augmentation: {', '.join(worse)}.")
        return [sentence for sentence in found if sentence]

    @property
    def commands(self) -> list[str]:
        """The commands that repeat the searches."""
        return [
            f"augnet paper search {method} {self.experiment} --protocol {self.protocol} "
            f"--seeds {1 + max(seeds)}"
            for method, seeds in self.curves.items()
        ]

    def summary(self) -> dict[str, Any]:
        """Return the study as JSON values, from which everything can be drawn again."""
        return {
            "schema": SCHEMA,
            "experiment": self.experiment,
            "protocol": self.protocol,
            "data": self.data,
            "metric": self.metric,
            "commits": self.commits,
            "machines": self.machines,
            "commands": self.commands,
            "budget": self.budget,
            "curves": {
                method: {seed: _thinned(curve) for seed, curve in seeds.items()}
                for method, seeds in self.curves.items()
            },
        }


def _thinned(curve: Curve) -> dict[str, list[float]]:
    """Leave out points whose score is that of both neighbors."""
    test = curve.test.tolist()
    steps = {n for n, (a, b) in enumerate(pairwise(test)) if a != b}
    kept = sorted({0, len(test) - 1} | steps | {n + 1 for n in steps})
    return {
        "passes": [round(curve.passes[n]) for n in kept],
        "seconds": [round(curve.seconds[n], 1) for n in kept],
        "test": [round(test[n], 4) for n in kept],
    }


def load(path: Path) -> SearchStudy:
    """Read a study from its summary."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        check_schema(kept, path)
        curves = {
            method: {
                int(seed): Curve(*(np.array(curve[key]) for key in Curve._fields))
                for seed, curve in seeds.items()
            }
            for method, seeds in kept["curves"].items()
        }
        names = ("experiment", "protocol", "data", "metric", "commits")
        found = {name: kept[name] for name in names}
        return SearchStudy(**found, curves=curves, machines=kept.get("machines", []))
    except ConfigError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is not a summary of searches: {error!r}") from None


def find(paths: Sequence[Path]) -> list[SearchStudy]:
    """Read all searches below some directories that have points."""
    found: dict[tuple[str, str], SearchStudy] = {}
    for path in directories.find(paths, "search"):
        with directories.one_line_errors(path):
            _add(found, ResumableDirectory.existing(path, "search"))
    return [study for study in found.values() if study.curves]


def _add(found: dict[tuple[str, str], SearchStudy], directory: ResumableDirectory) -> None:
    """Add a search to the study of its experiment and protocol."""
    config, method, seed = (directory.settings[key] for key in ("config", "method", "seed"))
    points = directories.read_lines(directory, "points.jsonl")
    key, data = (config["experiment"], config["protocol"]), describe(config["data"])
    metric = config["train"]["metric"].replace("_", " ")
    study = found.setdefault(key, SearchStudy(*key, data, metric, [], [], {}))
    if study.data != data:
        raise ConfigError(
            f"{directory.path} is of other data than the other searches: {data}. "
            "Report them separately"
        )
    for named, kept in (("commit", study.commits), ("machine", study.machines)):
        value = directory.about.get(named)
        if value and value not in kept:
            kept.append(value)
    if points:
        study.curves.setdefault(method, {})[seed] = Curve.from_points(points)


def write(studies: Sequence[SearchStudy], out: Path) -> list[Path]:
    """Write one page for each experiment and protocol."""
    pages = []
    out.mkdir(parents=True, exist_ok=True)
    for study in studies:
        label, metric = f"{study.experiment}-{study.protocol}-search", study.metric
        gain = f"Gain over {BASELINE}, fold by fold, after {study.budget:.0f} passes"
        figures = {
            f"{metric} against passes": score_against_cost(study.curves, "passes", metric),
            f"{metric} against time": score_against_cost(study.curves, "seconds", metric),
            gain: improvement(study.curves, BASELINE, study.budget, metric),
        }
        drawn = {
            title: svg(figure, f"{label}-{n}")
            for n, (title, figure) in enumerate(figures.items())
            if figure
        }
        page = render("paper/report/searches.html", title=study.title, study=study, figures=drawn)
        (out / f"{label}.html").write_text(page, encoding="utf-8")
        (out / f"{label}.json").write_text(json.dumps(study.summary()) + "\n", encoding="utf-8")
        pages.append(out / f"{label}.html")
    return pages
