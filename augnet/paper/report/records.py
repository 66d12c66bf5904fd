"""What is kept of a run for good: small enough for the repository, enough to judge every claim.

The page of a report and those in `docs/results/` are made from records: the former from those of
run directories, the latter from those in `results/`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from pydantic import Field

from augnet.layers.state import TransformState
from augnet.paper.config import ConfigError, Section
from augnet.paper.datasets import DATASETS
from augnet.paper.report import states
from augnet.paper.report.command import flatten
from augnet.paper.report.runs import Epoch, Run, label
from augnet.paper.run import AUGMENTS
from augnet.trunks import TRUNKS

SCHEMA = 2  # of summaries: records, and the curves of searches
REGISTRIES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "augment": AUGMENTS, "data": DATASETS, "trunk": TRUNKS,
}  # fmt: skip


def check_schema(summary: Mapping[str, Any], path: object) -> None:
    """Raise ConfigError unless this version wrote the summary."""
    schema = summary.get("schema", 1)
    if schema != SCHEMA:
        raise ConfigError(
            f"{path} has schema {schema!r}, and this version reads {SCHEMA}: "
            "write it again with augnet paper report"
        )


class Layer(NamedTuple):
    """The transforms of one layer, and the epoch since which it selects what it selects."""

    transforms: list[TransformState]
    leads_from: int
    """Counted from 1."""

    @property
    def selected(self) -> TransformState | None:
        """The transform with at least half of the weight, if there is one."""
        return states.selected(self.transforms)

    @property
    def parts(self) -> list[TransformState]:
        """What the layer does: its selected transform, else all it uses; none of the identity."""
        return states.parts(self.transforms)


class Measured(Section):
    """Invariance with its 75 % interval, and accuracy, for a number of copies."""

    copies: int
    invariance: float
    low: float
    high: float
    accuracy: float
    authors_invariance: float | None = None  # by the definition of the authors' code


class Scored(Section):
    """Test accuracy for a kind of views, `plain` or `own`, and a number of copies."""

    views: str
    copies: int
    accuracy: float


class Timed(Section):
    """Time of a forward pass over a number of copies, in passes of the trunk."""

    copies: int
    time: float


class Record(Section):
    """The result of one run."""

    variant: str
    seed: int
    sweep: dict[str, Any] = Field(default={})
    baseline: dict[str, Any] = Field(default={})  # its values of what other runs of it sweep
    epochs: int
    task: float
    valid_accuracy: float
    test_accuracy: float
    balanced_accuracy: float | None = None  # only if it is the metric of the run
    transforms: list[TransformState] = Field(default=[])  # of the saved net
    keeps_all: bool = False  # layers keep all transforms that have a range, and select none
    leads_from: list[int] = Field(default=[])  # for each layer
    measured: list[Measured] = Field(default=[])
    scored: list[Scored] = Field(default=[])
    times: list[Timed] = Field(default=[])

    @property
    def label(self) -> str:
        """The variant, and the point of the sweep."""
        return label(self.variant, self.sweep)

    @property
    def layers(self) -> list[Layer]:
        """The layers with their weighted transforms; none for Augerino."""
        found = states.layers(self.transforms)
        return [Layer(*each) for each in zip(found, self.leads_from, strict=True)]

    @property
    def widths(self) -> dict[str, float]:
        """The widths of Augerino's distributions by name."""
        return states.widths(self.transforms)

    def accuracy_over(self, views: str, copies: int = 1) -> float | None:
        """Return the test accuracy for a kind of views and a number of copies, if scored."""
        rows = (row for row in self.scored if (row.views, row.copies) == (views, copies))
        return next((row.accuracy for row in rows), None)

    @property
    def max_copies(self) -> int:
        """The largest number of augmented views that was scored; 0 if none was."""
        return max((row.copies for row in self.scored if row.views == "own"), default=0)

    @property
    def net_accuracy(self) -> float:
        """Test accuracy as in the paper: averaged over views only if the views are learned.

        Policies, fixed or searched, are for training alone.
        """
        views = ("own", self.max_copies) if self.transforms else ("plain", 1)
        found = self.accuracy_over(*views)
        return self.test_accuracy if found is None else found

    def strength(self, transform: str) -> float | None:
        """Return the strength of a transform in the layer that uses it most, if it is there."""
        return states.strength(self.transforms, transform)


def record(run: Run, baseline: Mapping[str, Any] | None = None) -> Record:
    """Sum up a finished run."""
    last = run.kept or run.epochs[-1]
    return Record(
        variant=run.variant,
        seed=run.seed,
        sweep=run.sweep,
        baseline=dict(baseline or {}),
        epochs=len(run.epochs),
        task=round(last.task, 4),
        valid_accuracy=round(last.valid_accuracy, 4),
        test_accuracy=round(last.test_accuracy, 4),
        balanced_accuracy=_balanced(run, last),
        transforms=list(map(_rounded, last.transforms)),
        keeps_all=run.keeps_all,
        leads_from=_leads_from(run),
        measured=[Measured.model_validate(row) for row in run.measured],
        scored=[Scored.model_validate(row) for row in run.scored],
        times=[Timed.model_validate(row) for row in run.times],
    )


def _balanced(run: Run, last: Epoch) -> float | None:
    is_metric = run.config["train"].get("metric") == "balanced_accuracy"
    value = last.test_balanced_accuracy
    return round(value, 4) if is_metric and value is not None else None


def _rounded(state: TransformState) -> TransformState:
    weight = None if state.weight is None else round(state.weight, 4)
    magnitude, strength = round(state.magnitude, 4), round(state.strength, 4)
    return replace(state, weight=weight, magnitude=magnitude, strength=strength)


def _leads_from(run: Run) -> list[int]:
    """Return for each layer the epoch since which it selects what it selects in the end."""
    last = run.kept or run.epochs[-1]
    selected = [_selections(epoch) for epoch in run.epochs]
    return [
        1 + max((n for n, names in enumerate(selected, 1) if names[place] != name), default=0)
        for place, name in enumerate(_selections(last))
    ]


def _selections(epoch: Epoch) -> list[str | None]:
    found = map(states.selected, states.layers(epoch.transforms))
    return [None if state is None else state.name for state in found]


def records(runs: Sequence[Run]) -> list[Record]:
    """Sum up the runs that are finished."""
    return [record(run, _baseline(run, runs)) for run in runs if run.kept is not None]


def _baseline(run: Run, runs: Sequence[Run]) -> dict[str, Any]:
    """Return a run's values of the settings that other runs of its variant sweep.

    All other settings must be equal; what a run from another version does not know counts as
    equal. A sweep of several settings has no baseline.
    """
    others = [other for other in runs if other.variant == run.variant and len(other.sweep) == 1]
    own, found = dict(flatten(run.config)), {}
    for other in others if not run.sweep else ():
        (key,) = other.sweep
        theirs = dict(flatten(other.config))
        shared = {name for name in own.keys() & theirs.keys() if not name.startswith("sweep")}
        value = own.get(key, _default(run, key))
        if isinstance(value, int | float | str) and all(
            own[name] == theirs[name] for name in shared - {key}
        ):
            found[key] = value
    return found


def _default(run: Run, key: str) -> Any:
    """Return the default of an argument that the config does not set."""
    section, _, name = key.partition(".")
    registry: Mapping[str, Callable[..., Any]] = REGISTRIES.get(section, {})
    factory = registry.get(run.config.get(section, {}).get("name", ""))
    known = inspect.signature(factory).parameters if factory else {}
    return known[name].default if name in known else None


def on_sweeps(records: Sequence[Record]) -> list[Record]:
    """Return the swept records, and the baselines as one more point of each sweep."""
    swept = [each for each in records if each.sweep]
    known = [(each.variant, each.sweep, each.seed) for each in swept]
    return swept + [
        each.model_copy(update={"sweep": {key: value}})
        for each in records
        for key, value in each.baseline.items()
        if (each.variant, {key: value}, each.seed) not in known
    ]
