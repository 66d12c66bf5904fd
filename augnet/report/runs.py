"""Run directories as they are read back: config, seed and rows, and what their rows say."""

import json
import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from augnet.config import ConfigError
from augnet.run import SCHEMA
from augnet.train import Row

TAIL = 0.2  # what was learned is the mean over the last fifth of the epochs


class Run(NamedTuple):
    """One run: what was asked, and one row per epoch."""

    path: Path
    config: dict[str, Any]
    seed: int
    rows: list[Row]
    measured: list[Row]
    versions: dict[str, str]

    @property
    def variant(self) -> str:
        """Which variant of its experiment this is."""
        return str(self.config["variant"])

    def words(self, layer: int = 1) -> list[str]:
        """Name the words of a layer, in their order; none if there is no such layer."""
        start, end = f"layer{layer}.", ".weight"
        keys = (key for key in self.rows[-1] if key.startswith(start) and key.endswith(end))
        return [key.removeprefix(start).removesuffix(end) for key in keys]

    @property
    def layers(self) -> int:
        """How many augmentation layers there are."""
        return len({key.split(".")[0] for key in self.rows[-1] if key.startswith("layer")})

    def learned(self, key: str) -> float:
        """Average a value over the last epochs."""
        return statistics.fmean(row[key] for row in self.tail)

    def selected(self, layer: int = 1) -> str | None:
        """Name the heaviest word of a layer."""
        words = self.words(layer)
        if not words:
            return None
        return max(words, key=lambda word: self.learned(f"layer{layer}.{word}.weight"))

    def strength(self, word: str) -> float | None:
        """Average the strength of a word over the last epochs; None if there is no such word."""
        values = [strength(row, word) for row in self.tail]
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if known else None

    @property
    def tail(self) -> list[Row]:
        """The last epochs, over which what was learned is averaged: magnitudes keep moving."""
        return self.rows[-max(1, round(TAIL * len(self.rows))) :]


def strength(row: Row, word: str) -> float | None:
    """Read off a row how strong a word is, in the layer that uses most of it."""
    if f"augerino.{word}.width" in row:  # a uniform distribution on ± half its width
        return math.degrees(row[f"augerino.{word}.width"] / 2)
    keys = [key for key in row if key.endswith(f".{word}.strength")]
    if not keys:
        return None
    return row[max(keys, key=lambda key: row[key] * row[key.replace(".strength", ".weight")])]


def find(paths: Iterable[Path]) -> list[Run]:
    """Read all runs below some directories, in the order of their names."""
    files = sorted({file for path in paths for file in Path(path).rglob("run.json")})
    runs = [read(file.parent) for file in files]
    runs = [run for run in runs if run.rows]
    if not runs:
        raise ConfigError(f"no runs with rows below {', '.join(map(str, paths))}")
    return runs


def read(path: Path) -> Run:
    """Read one run directory."""
    try:
        made = json.loads((path / "run.json").read_text(encoding="utf-8"))
        file = path / "rows.jsonl"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        rows = [json.loads(line) for line in lines]
        if made["schema"] != SCHEMA:
            raise ConfigError(f"{path} has schema {made['schema']}, this version reads {SCHEMA}")
        result = path / "result.json"
        over = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
        measured = over.get("measured", [])
        return Run(path, made["config"], made["seed"], rows, measured, made["versions"])
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{path} is damaged: {error}") from None
