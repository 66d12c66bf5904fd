"""Read run directories: settings, one typed record per epoch, and the final scores."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

from augnet.layers.state import TransformState
from augnet.paper.config import ConfigError
from augnet.paper.report import directories, states
from augnet.training import ResumableDirectory


@dataclass(frozen=True)
class Epoch:
    """Scores and transform states after one epoch: the part of a row that reports use."""

    task: float
    valid_accuracy: float
    test_accuracy: float
    test_balanced_accuracy: float | None = None
    transforms: tuple[TransformState, ...] = ()
    invariance: Mapping[str, float] = field(default_factory=dict)
    """Median invariance by the name of the transform (eq. 4)."""
    stopped_accuracy: float | None = None
    """Test accuracy of the epoch with the best validation accuracy so far (figure 6a)."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Read a row of `rows.jsonl`."""
        return cls(
            task=float(row["task"]),
            valid_accuracy=float(row["valid_accuracy"]),
            test_accuracy=float(row["test_accuracy"]),
            test_balanced_accuracy=row.get("test_balanced_accuracy"),
            transforms=tuple(TransformState(**state) for state in row.get("transforms", ())),
            invariance=dict(row.get("invariance", {})),
        )

    def strength(self, transform: str) -> float | None:
        """Return the strength of a transform in the layer that uses it most."""
        return states.strength(self.transforms, transform)


class Run(NamedTuple):
    """One run: its settings, and one record per epoch."""

    path: Path
    config: dict[str, Any]
    seed: int
    epochs: list[Epoch]
    measured: list[dict[str, Any]]
    versions: dict[str, str]
    kept: Epoch | None = None  # the epoch of the saved model; None while the run is unfinished
    scored: list[dict[str, Any]] = []  # noqa: RUF012
    times: list[dict[str, Any]] = []  # noqa: RUF012

    @property
    def variant(self) -> str:
        """The variant of the experiment."""
        return str(self.config["variant"])

    @property
    def study(self) -> tuple[str, str]:
        """Experiment and protocol: runs that share both are compared in one table."""
        return str(self.config["experiment"]), str(self.config["protocol"])

    @property
    def sweep(self) -> dict[str, Any]:
        """The swept settings of this run and their values."""
        return dict(self.config.get("sweep") or {})

    @property
    def label(self) -> str:
        """The variant, and the point of the sweep."""
        return label(self.variant, self.sweep)

    @property
    def layers(self) -> list[list[TransformState]]:
        """The weighted transforms after the last epoch, by layer."""
        return states.layers(self.epochs[-1].transforms)

    @property
    def widths(self) -> dict[str, float]:
        """The widths of Augerino after the last epoch."""
        return states.widths(self.epochs[-1].transforms)

    def selects(self, transform: str) -> bool:
        """Whether the saved net uses the transform; Augerino uses all it has."""
        last = self.kept or self.epochs[-1]
        used = (
            state.name for layer in states.layers(last.transforms) for state in states.parts(layer)
        )
        return transform in used or transform in self.widths

    @property
    def keeps_all(self) -> bool:
        """Whether layers keep all transforms that have a range, and are not asked to select."""
        return bool(self.config.get("tuner", {}).get("select") == "all")


def label(variant: str, point: Mapping[str, Any]) -> str:
    """Name a variant at a point of a sweep: "one-layer, regularizer.weight=0.2"."""
    return ", ".join((variant, *(f"{key}={value}" for key, value in point.items())))


def with_stopped(epochs: Sequence[Epoch]) -> list[Epoch]:
    """Add to each epoch the test accuracy that early stopping would report at that point."""
    found: list[Epoch] = []
    best: Epoch | None = None
    for epoch in epochs:
        if best is None or epoch.valid_accuracy > best.valid_accuracy:
            best = epoch
        found.append(replace(epoch, stopped_accuracy=best.test_accuracy))
    return found


def find(paths: Sequence[Path]) -> list[Run]:
    """Read all runs below some directories, in the order of their names."""
    runs = [run for run in map(read, directories.find(paths, "run")) if run.epochs]
    if not runs:
        directories.refuse_old(paths)
        raise ConfigError(f"no runs with rows below {', '.join(map(str, paths))}")
    refuse_duplicates(runs)
    return runs


def refuse_duplicates(runs: Iterable[Run]) -> None:
    """Raise ConfigError if two directories hold the same variant and seed."""
    known: dict[tuple[Any, ...], Path] = {}
    for run in runs:
        first = known.setdefault((run.study, run.label, run.seed), run.path)
        if first != run.path:
            raise ConfigError(
                f"{first} and {run.path} are both {run.label}, seed {run.seed}: report one of them"
            )


def read(path: Path) -> Run:
    """Read one run directory."""
    with directories.one_line_errors(path):
        directory = ResumableDirectory.existing(path, "run")
        rows = directories.read_lines(directory, "rows.jsonl")
        result = json.loads(directory.read("result.json") or b"{}")
        return Run(
            path,
            directory.settings["config"],
            directory.settings["seed"],
            with_stopped([Epoch.from_row(row) for row in rows]),
            result.get("measured", []),
            directory.about,
            Epoch.from_row(result["kept"]) if "kept" in result else None,
            result.get("scored", []),
            result.get("times", []),
        )
