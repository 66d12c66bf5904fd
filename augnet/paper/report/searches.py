"""Search directories become a page: accuracy against time and against passes (figures 6b, B.10)."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from augnet.app.html import render
from augnet.app.style import svg
from augnet.paper.config import ConfigError, read
from augnet.paper.report.figures.searches import Curve, against, improvement
from augnet.paper.report.tables import Table
from augnet.paper.report.wording import spread

REFERENCE = "adda"  # with which the paper compares, fold by fold
BILEVEL = ("adda", "cadda", "dada")
PLAIN = "none"  # the variant without augmentation
OURS = "augnet"

Curves: TypeAlias = Mapping[str, Mapping[int, Curve]]  # by method and seed


class Searched(NamedTuple):
    """All searches of one experiment under one protocol."""

    experiment: str
    protocol: str
    data: str
    metric: str
    commits: list[str]
    curves: dict[str, dict[int, Curve]]

    @property
    def title(self) -> str:
        """The headline."""
        return f"{read(self.experiment).title}: searches"

    @property
    def budget(self) -> float:
        """The passes at which methods are compared: the fewest with which all have a score.

        Who is over by then keeps the score of its end.
        """
        every = (curve for seeds in self.curves.values() for curve in seeds.values())
        return float(max(curve.passes[0] for curve in every))

    @property
    def table(self) -> Table:
        """Say what each method came to, and what it took."""
        columns = ("method", "folds", f"{self.metric} at the end", "fold by fold",
                   f"thousand passes to the end of {OURS}", "in all", "seconds")  # fmt: skip
        rows = []
        for method, seeds in self.curves.items():
            rows.append((
                method,
                str(len(seeds)),
                spread([curve.test[-1] for curve in seeds.values()]),
                beats(self.curves, method),
                spread([passes / 1000 for passes in catches_up(self.curves, method)]),
                spread([curve.passes[-1] / 1000 for curve in seeds.values()]),
                spread([curve.seconds[-1] for curve in seeds.values()]),
            ))  # fmt: skip
        return Table(columns, rows)

    @property
    def said(self) -> list[str]:
        """Say in sentences how AugNet compares with bilevel searches, and what is no better."""
        found = [race(self.curves, OURS)] if OURS in self.curves else []
        worse = [method for method in self.curves if not helps(self.curves, method)]
        if worse:
            found.append(f"On average no better than no augmentation: {', '.join(worse)}.")
        return [sentence for sentence in found if sentence]

    @property
    def commands(self) -> list[str]:
        """What makes all of it again."""
        return [
            f"augnet paper search {method} {self.experiment} --protocol {self.protocol} "
            f"--seeds {1 + max(seeds)}"
            for method, seeds in self.curves.items()
        ]

    def summary(self) -> dict[str, Any]:
        """Give it as JSON, from which all can be drawn again."""
        return {
            "experiment": self.experiment,
            "protocol": self.protocol,
            "data": self.data,
            "metric": self.metric,
            "commits": self.commits,
            "commands": self.commands,
            "budget": self.budget,
            "curves": {
                method: {seed: _steps(curve) for seed, curve in seeds.items()}
                for method, seeds in self.curves.items()
            },
        }


def _steps(curve: Curve) -> dict[str, list[float]]:
    """Leave out points that say the same as their neighbors."""
    test = curve.test.tolist()
    inner = {n for n, (a, b) in enumerate(pairwise(test)) if a != b}
    kept = sorted({0, len(test) - 1} | inner | {n + 1 for n in inner})
    return {
        "passes": [round(curve.passes[n]) for n in kept],
        "seconds": [round(curve.seconds[n], 1) for n in kept],
        "test": [round(test[n], 4) for n in kept],
    }


def load(path: Path) -> Searched:
    """Read what a summary keeps."""
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        curves = {
            method: {
                int(seed): Curve(*(np.array(curve[key]) for key in Curve._fields))
                for seed, curve in seeds.items()
            }
            for method, seeds in kept["curves"].items()
        }
        names = ("experiment", "protocol", "data", "metric", "commits")
        return Searched(**{name: kept[name] for name in names}, curves=curves)
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no summary of searches: {error!r}") from None


def reach(curve: Curve, score: float) -> float:
    """Give the passes after which a score is there; infinity is never."""
    there = np.flatnonzero(curve.test >= score)
    return float(curve.passes[there[0]]) if len(there) else math.inf


def race(curves: Curves, name: str) -> str:
    """Say how soon a method has its final score, and which bilevel search is first to have it."""
    end = {seed: curve.test[-1] for seed, curve in curves[name].items()}
    soonest = {
        method: median(reach(curves[method][seed], end[seed]) for seed in common)
        for method in (name, *BILEVEL)
        if (common := set(curves.get(method, ())) & set(end))
    }
    mine, first = soonest.pop(name), min(soonest, key=soonest.__getitem__, default="")
    if not first:
        return ""
    said = f"{name} has its final score after {mine:.0f} passes (median over folds); "
    if math.isinf(soonest[first]):
        return f"{said}{', '.join(soonest)} in half of the folds or more never."
    part = mine / soonest[first]
    return f"{said}{first}, first of the bilevel searches, after {soonest[first]:.0f}: {part:.2f}."


def catches_up(curves: Curves, method: str) -> list[float]:
    """Give, fold by fold, the passes after which a method has the final score of AugNet."""
    ours = curves.get(OURS, {})
    return [reach(curves[method][s], ours[s].test[-1]) for s in curves[method] if s in ours]


def beats(curves: Curves, method: str) -> str:
    """Say in how many folds a method beats no augmentation."""
    common = sorted(set(curves[method]) & set(curves.get(PLAIN, {})))
    if method == PLAIN or not common:
        return "-"
    better = [curves[method][s].test[-1] > curves[PLAIN][s].test[-1] for s in common]
    return f"over none in {sum(better)} of {len(better)}"


def helps(curves: Curves, method: str) -> bool:
    """Whether a method is better than no augmentation, on average over the folds of both."""
    common = set(curves[method]) & set(curves.get(PLAIN, {}))
    gains = [curves[method][s].test[-1] - curves[PLAIN][s].test[-1] for s in common]
    return method == PLAIN or not common or sum(gains) > 0


def find(paths: Iterable[Path]) -> list[Searched]:
    """Read all searches below some directories that have points."""
    found: dict[tuple[str, str], Searched] = {}
    for file in sorted({file for path in paths for file in Path(path).rglob("search.json")}):
        try:
            made = json.loads(file.read_text(encoding="utf-8"))
            config = made["config"]
            lines = file.with_name("points.jsonl")
            text = lines.read_text(encoding="utf-8") if lines.exists() else ""
            rows = [json.loads(line) for line in text.splitlines()]
            key = (config["experiment"], config["protocol"])
            metric = config["train"]["metric"].replace("_", " ")
            study = found.setdefault(key, Searched(*key, made["data"], metric, [], {}))
            if study.data != made["data"]:
                raise ConfigError(f"{file} is of other data than the rest: {made['data']}")
            commit = made.get("versions", {}).get("commit")
            if commit and commit not in study.commits:
                study.commits.append(commit)
            if rows:
                study.curves.setdefault(made["method"], {})[made["seed"]] = Curve.of(rows)
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"{file} is damaged: {error!r}") from None
    return [study for study in found.values() if study.curves]


def write(studies: Sequence[Searched], out: Path) -> list[Path]:
    """Write one page for each experiment and protocol."""
    pages = []
    out.mkdir(parents=True, exist_ok=True)
    for study in studies:
        label = f"{study.experiment}-{study.protocol}-search"
        figures = {
            f"{study.metric} against passes": against(study.curves, "passes", study.metric),
            f"{study.metric} against time": against(study.curves, "seconds", study.metric),
            f"Fold by fold over {REFERENCE}, after {study.budget:.0f} passes": improvement(
                study.curves, REFERENCE, study.budget, study.metric
            ),
        }
        drawn = {
            title: svg(figure, f"{label}-{n}")
            for n, (title, figure) in enumerate(figures.items())
            if figure
        }
        page = render("paper/report/searches.html", title=study.title, study=study, figures=drawn)
        (out / f"{label}.html").write_text(page, encoding="utf-8")
        text = json.dumps(study.summary()) + "\n"
        (out / f"{label}.json").write_text(text, "utf-8")
        pages.append(out / f"{label}.html")
    return pages
