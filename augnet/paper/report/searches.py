"""Turn search directories into a page: accuracy against time and passes (figures 6b, B.10)."""

import json
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from augnet.app.html import render
from augnet.app.style import svg
from augnet.paper.config import ConfigError, read
from augnet.paper.datasets import describe
from augnet.paper.report import directories, search_records
from augnet.paper.report.command import to_toml
from augnet.paper.report.figures.searches import Curve, improvement, score_against_cost
from augnet.paper.report.records import SCHEMA, check_schema
from augnet.paper.report.search_records import Asked, Search, differences
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
    settings: dict[str, Asked]
    """By method; files of before have none."""
    unfinished: list[str]
    """Searches that are left out."""

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
        found.append(differences(self.settings))
        if self.unfinished:
            found.append(f"Not finished, and left out: {'; '.join(self.unfinished)}.")
        return [sentence for sentence in found if sentence]

    @property
    def commands(self) -> list[str]:
        """The commands that repeat the searches."""
        return [self._command(method) for method in self.curves]

    def _command(self, method: str) -> str:
        asked = self.settings.get(method)
        parts = ["augnet", "paper", "search", method, self.experiment]
        if asked and asked.variant != method:
            parts += ["--variant", asked.variant]
        parts += ["--protocol", self.protocol, "--seeds", str(1 + max(self.curves[method]))]
        for key, value in asked.changes.items() if asked else ():
            parts += ["--set", f"{key}={to_toml(value)}"]
        return shlex.join(parts)

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
            "settings": {method: asked._asdict() for method, asked in self.settings.items()},
            "unfinished": self.unfinished,
            "budget": self.budget,
            "curves": {
                method: {seed: _kept(curve) for seed, curve in seeds.items()}
                for method, seeds in self.curves.items()
            },
        }


def _kept(curve: Curve) -> dict[str, list[float]]:
    """Return a curve as JSON values, without points whose score is that of both neighbors."""
    passes, seconds = _steps(curve.test), _steps(curve.test_by_seconds)
    return {
        "passes": [round(curve.passes[n]) for n in passes],
        "test": [round(curve.test[n], 4) for n in passes],
        "seconds": [round(curve.seconds[n], 1) for n in seconds],
        "test_by_seconds": [round(curve.test_by_seconds[n], 4) for n in seconds],
    }


def _steps(test: NDArray[np.float64]) -> list[int]:
    """List the points at both ends, and before and after each change of the score."""
    steps = {n for n, (a, b) in enumerate(pairwise(test.tolist())) if a != b}
    return sorted({0, len(test) - 1} | steps | {n + 1 for n in steps})


def _curve(kept: Mapping[str, Sequence[float]]) -> Curve:
    """Read a curve from its JSON values.

    Those of before have one score for both costs, in the order of the search. It is then the score
    of all points so far, at the highest of their costs.
    """
    passes, seconds = (np.maximum.accumulate(kept[key]) for key in ("passes", "seconds"))
    by_seconds = kept.get("test_by_seconds", kept["test"])
    return Curve(passes, np.array(kept["test"]), seconds, np.array(by_seconds))


def load(path: Path) -> SearchStudy:
    """Read a study from its summary."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        check_schema(kept, path)
        curves = {
            method: {int(seed): _curve(curve) for seed, curve in seeds.items()}
            for method, seeds in kept["curves"].items()
        }
        names = ("experiment", "protocol", "data", "metric", "commits")
        found = {name: kept[name] for name in names}
        settings = {method: Asked(**each) for method, each in kept.get("settings", {}).items()}
        later = {name: kept.get(name, []) for name in ("machines", "unfinished")}
        return SearchStudy(**found, **later, curves=curves, settings=settings)
    except ConfigError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} is not a summary of searches: {error!r}") from None


def find(paths: Sequence[Path]) -> list[SearchStudy]:
    """Read all searches below some directories that are finished and have points."""
    groups: dict[tuple[str, str], list[Search]] = {}
    for search in search_records.find(paths):
        groups.setdefault(search.study, []).append(search)
    studies = [study for group in groups.values() if (study := _study(group)) is not None]
    unfinished = [each.name for group in groups.values() for each in group if not each.finished]
    if unfinished and not studies and not directories.find(paths, "run"):
        raise ConfigError(
            f"no search is finished below {', '.join(map(str, paths))}: begun are "
            f"{'; '.join(unfinished)}. The same command of augnet paper search ends them"
        )
    return studies


def _study(group: Sequence[Search]) -> SearchStudy | None:
    """Make the study of searches of one experiment and protocol; None if none is finished."""
    done = [search for search in group if search.counts]
    if not done:
        return None
    name, protocol = done[0].study
    experiment = read(name)
    search_records.refuse_others(done, experiment)
    about = {
        key: list(dict.fromkeys(each.about[key] for each in done if each.about.get(key)))
        for key in ("commit", "machine")
    }
    curves: dict[str, dict[int, Curve]] = {}
    for each in done:
        with directories.one_line_errors(each.path):
            curves.setdefault(each.method, {})[each.seed] = Curve.from_points(each.points)
    return SearchStudy(
        name,
        protocol,
        describe(done[0].config["data"]),
        done[0].config["train"]["metric"].replace("_", " "),
        about["commit"],
        about["machine"],
        curves,
        {each.method: each.asked(experiment) for each in done},
        [each.name for each in group if not each.finished],
    )


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
