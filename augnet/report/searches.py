"""Search directories become a page: accuracy against time and against passes (figures 5b, B.10)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from augnet.config import ConfigError, read
from augnet.report.figures.searches import Curve, against, at, improvement
from augnet.report.figures.style import svg
from augnet.report.html import render
from augnet.report.tables import Table
from augnet.report.wording import spread

REFERENCE = "adda"  # with which the paper compares, fold by fold
PLAIN = "none"  # the variant without augmentation

Curves: TypeAlias = Mapping[str, Mapping[int, Curve]]  # by method and seed


class Searched(NamedTuple):
    """All searches of one experiment under one protocol."""

    experiment: str
    protocol: str
    data: str
    metric: str
    curves: dict[str, dict[int, Curve]]

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
        columns = ("method", "folds", f"{self.metric} at the end", "best fold by fold over none",
                   "passes", "seconds")  # fmt: skip
        rows = []
        for method, seeds in self.curves.items():
            last = [curve.test[-1] for curve in seeds.values()]
            rows.append((
                method,
                str(len(seeds)),
                spread(last),
                beats(self.curves, method),
                spread([curve.passes[-1] for curve in seeds.values()]),
                spread([curve.seconds[-1] for curve in seeds.values()]),
            ))  # fmt: skip
        return Table(columns, rows)


def beats(curves: Curves, method: str) -> str:
    """Say in how many folds a method beats no augmentation."""
    common = sorted(set(curves[method]) & set(curves.get(PLAIN, {})))
    if method == PLAIN or not common:
        return "-"
    better = [curves[method][s].test[-1] > curves[PLAIN][s].test[-1] for s in common]
    return f"better in {sum(better)} of {len(better)}"


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
            study = found.setdefault(key, Searched(*key, made["data"], metric, {}))
            if study.data != made["data"]:
                raise ConfigError(f"{file} is of other data than the rest: {made['data']}")
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
        title = f"{read(study.experiment).title}: searches"
        page = render("report/searches.html", title=title, study=study, figures=drawn)
        (out / f"{label}.html").write_text(page, encoding="utf-8")
        summary = {
            "experiment": study.experiment,
            "protocol": study.protocol,
            "data": study.data,
            "budget": study.budget,
            "test": {
                method: {seed: round(at(curve, study.budget), 4) for seed, curve in seeds.items()}
                for method, seeds in study.curves.items()
            },
            "end": {
                method: round(float(np.median([c.test[-1] for c in seeds.values()])), 4)
                for method, seeds in study.curves.items()
            },
        }
        (out / f"{label}.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
        pages.append(out / f"{label}.html")
    return pages
