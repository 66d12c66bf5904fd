"""Run directories as they are read back: config, seed and rows."""

import json
import math
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from augnet.paper.config import ConfigError
from augnet.paper.run import SCHEMA
from augnet.paper.train import Row

TAIL = 0.2  # what was learned is the mean over the last fifth of the epochs


class Run(NamedTuple):
    """One run: what was asked, and one row per epoch."""

    path: Path
    config: dict[str, Any]
    seed: int
    rows: list[Row]
    measured: list[Row]
    versions: dict[str, str]
    kept: Row | None = None  # the row of the model that was kept; None while it is not over
    scored: list[dict[str, Any]] = []  # noqa: RUF012
    times: list[Row] = []  # noqa: RUF012

    @property
    def variant(self) -> str:
        """Which variant of its experiment this is."""
        return str(self.config["variant"])

    @property
    def study(self) -> tuple[str, str]:
        """Experiment and protocol: what may stand in one table."""
        return str(self.config["experiment"]), str(self.config["protocol"])

    @property
    def sweep(self) -> dict[str, Any]:
        """The point of a grid, of which older runs know nothing."""
        return dict(self.config.get("sweep") or {})

    @property
    def label(self) -> str:
        """The variant, and the point of the grid."""
        return label(self.variant, self.sweep)

    def build_transforms(self, layer: int = 1) -> list[str]:
        """Name the transforms of a layer, in their order; none if there is no such layer."""
        start, end = f"layer{layer}.", ".weight"
        keys = (key for key in self.rows[-1] if key.startswith(start) and key.endswith(end))
        return [key.removeprefix(start).removesuffix(end) for key in keys]

    @property
    def layers(self) -> int:
        """How many augmentation layers there are."""
        return len({key.split(".")[0] for key in self.rows[-1] if key.startswith("layer")})

    def learned(self, key: str) -> float:
        """Average a value over the last epochs: magnitudes keep moving."""
        tail = self.rows[-max(1, round(TAIL * len(self.rows))) :]
        return statistics.fmean(row[key] for row in tail)

    def selects(self, transform: str) -> bool:
        """Whether the transform is the heaviest of some layer in the end; Augerino uses all it has."""
        last = self.rows[-1]
        heaviest = (
            max(self.build_transforms(n), key=lambda each: last[f"layer{n}.{each}.weight"])
            for n in range(1, self.layers + 1)
        )
        return transform in heaviest or f"augerino.{transform}.width" in last


def label(variant: str, point: Mapping[str, Any]) -> str:
    """Name a variant at a point of a grid: one-layer, penalty.weight=0.2."""
    return ", ".join((variant, *(f"{key}={value}" for key, value in point.items())))


def strength(row: Row, transform: str) -> float | None:
    """Read off a row how strong a transform is, in the layer that uses most of it."""
    if f"augerino.{transform}.width" in row:
        return half_width(transform, row[f"augerino.{transform}.width"])
    keys = [key for key in row if key.endswith(f".{transform}.strength")]
    if not keys:
        return None
    return row[max(keys, key=lambda key: row[key] * row[key.replace(".strength", ".weight")])]


def half_width(transform: str, width: float) -> float:
    """Turn the width of Augerino's uniform distribution into a strength; angles into degrees."""
    return math.degrees(width / 2) if transform == "rotate" else width / 2


def with_stopped(rows: list[Row]) -> list[Row]:
    """Add to each row the test accuracy of the best validation accuracy so far (figure 6a)."""
    best: list[Row] = []
    for row in rows:
        better = not best or row["valid_accuracy"] > best[-1]["valid_accuracy"]
        best.append(row if better else best[-1])
    return [
        row | {"stopped_accuracy": leader["test_accuracy"]}
        for row, leader in zip(rows, best, strict=True)
    ]


def find(paths: Iterable[Path]) -> list[Run]:
    """Read all runs below some directories, in the order of their names."""
    files = sorted({file for path in paths for file in Path(path).rglob("run.json")})
    runs = [run for run in (read(file.parent) for file in files) if run.rows]
    if not runs:
        raise ConfigError(f"no runs with rows below {', '.join(map(str, paths))}")
    known: dict[tuple[Any, ...], Path] = {}
    for run in runs:
        first = known.setdefault((run.study, run.label, run.seed), run.path)
        if first != run.path:
            raise ConfigError(f"{first} and {run.path} are both {run.label}, seed {run.seed}")
    return runs


def read(path: Path) -> Run:
    """Read one run directory."""
    try:
        made = json.loads((path / "run.json").read_text(encoding="utf-8"))
        file = path / "rows.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        rows = with_stopped([json.loads(line) for line in lines])
        if made["schema"] != SCHEMA:
            raise ConfigError(f"{path} has schema {made['schema']}, this version reads {SCHEMA}")
        result = path / "result.json"
        over = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
        return Run(
            path,
            made["config"],
            made["seed"],
            rows,
            over.get("measured", []),
            made["versions"],
            over.get("kept"),
            over.get("scored", []),
            over.get("times", []),
        )
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} is damaged: {error}") from None
