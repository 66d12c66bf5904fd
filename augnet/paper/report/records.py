"""What is kept of a run for good: small enough for the repository, enough to judge every claim.

The page and `docs/results.md` are both made from records, the first from those of run directories,
the second from those in `results/`.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import Field

from augnet.paper.config import Section
from augnet.paper.datasets import DATASETS
from augnet.paper.report.command import leaves
from augnet.paper.report.runs import Run, half_width, label
from augnet.paper.run import AUGMENTS
from augnet.paper.train import Row
from augnet.trunks import TRUNKS

REGISTRIES: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "augment": AUGMENTS, "data": DATASETS, "trunk": TRUNKS,
}  # fmt: skip
IDENTITY = 0.05  # a magnitude below leaves the data alone


class Learned(Section):
    """What was learned about a transform: the mean over the last fifth of the epochs."""

    transform: str
    weight: float
    magnitude: float
    strength: float


class Layer(Section):
    """The transforms of a layer, and the epoch, from 1, since which the heaviest of them leads."""

    transforms: list[Learned]
    leads_from: int

    @property
    def selected(self) -> Learned:
        """The heaviest transform."""
        return max(self.transforms, key=lambda learned: learned.weight)

    @property
    def used(self) -> bool:
        """Whether this is anything but the identity."""
        return self.selected.magnitude >= IDENTITY


class Measured(Section):
    """Invariance with its 75 % interval, and accuracy, with so many copies."""

    copies: int
    invariance: float
    low: float
    high: float
    accuracy: float


class Scored(Section):
    """Accuracy on the test set with views of a kind, `plain` or `own`, and so many copies."""

    views: str
    copies: int
    accuracy: float


class Timed(Section):
    """Time of a forward pass over so many own views, that of the trunk alone being 1."""

    copies: int
    time: float


class Record(Section):
    """What one run came to."""

    variant: str
    seed: int
    sweep: dict[str, Any] = Field(default={})
    usual: dict[str, Any] = Field(default={})  # where others of its variant are swept, its own
    epochs: int
    task: float
    valid_accuracy: float
    test_accuracy: float
    balanced_accuracy: float | None = None  # of the test set, where that is what counts
    layers: list[Layer] = Field(default=[])
    widths: dict[str, float] = Field(default={})
    measured: list[Measured] = Field(default=[])
    scored: list[Scored] = Field(default=[])
    times: list[Timed] = Field(default=[])

    @property
    def label(self) -> str:
        """The variant, and the point of the grid."""
        return label(self.variant, self.sweep)

    def accuracy_over(self, views: str, copies: int = 1) -> float | None:
        """Give the test accuracy with views of a kind and so many copies; None if not scored."""
        rows = (row for row in self.scored if (row.views, row.copies) == (views, copies))
        return next((row.accuracy for row in rows), None)

    @property
    def most_copies(self) -> int:
        """How many own views it was scored with at most; 0 if it was not."""
        return max((row.copies for row in self.scored if row.views == "own"), default=0)

    @property
    def net_accuracy(self) -> float:
        """Test accuracy as the paper has it: what learns its views averages over them.

        Policies, fixed or searched, are for training alone.
        """
        learns = bool(self.layers or self.widths)
        views = ("own", self.most_copies) if learns else ("plain", 1)
        found = self.accuracy_over(*views)
        return self.test_accuracy if found is None else found

    def strength(self, transform: str) -> float | None:
        """Give the strength of a transform in the layer that uses most of it; None without the transform."""
        if transform in self.widths:
            return half_width(transform, self.widths[transform])
        found = [
            known
            for layer in self.layers
            for known in layer.transforms
            if known.transform == transform
        ]
        most = max(found, key=lambda known: known.weight * known.strength, default=None)
        return most.strength if most else None


def record(run: Run, usual: Mapping[str, Any] | None = None) -> Record:
    """Sum up a run that is over."""
    last = run.kept or run.rows[-1]
    start, end = "augerino.", ".width"
    widths = [key for key in last if key.startswith(start) and key.endswith(end)]
    return Record(
        variant=run.variant,
        seed=run.seed,
        sweep=run.sweep,
        usual=dict(usual or {}),
        epochs=len(run.rows),
        task=round(last["task"], 4),
        valid_accuracy=round(last["valid_accuracy"], 4),
        test_accuracy=round(last["test_accuracy"], 4),
        balanced_accuracy=_balanced(run, last),
        layers=[_layer(run, number) for number in range(1, run.layers + 1)],
        widths={
            key.removeprefix(start).removesuffix(end): round(run.learned(key), 4) for key in widths
        },
        measured=[Measured.model_validate(row) for row in run.measured],
        scored=[Scored.model_validate(row) for row in run.scored],
        times=[Timed.model_validate(row) for row in run.times],
    )


def _balanced(run: Run, last: Row) -> float | None:
    counts = run.config["train"].get("metric") == "balanced_accuracy"
    return round(last["test_balanced_accuracy"], 4) if counts else None


def records(runs: Sequence[Run]) -> list[Record]:
    """Sum up the runs that are over."""
    return [record(run, _usual(run, runs)) for run in runs if run.kept is not None]


def _usual(run: Run, runs: Sequence[Run]) -> dict[str, Any]:
    """Give the settings that others of a run's variant are swept over, all else being equal.

    What a run from another version does not know is taken for equal. A grid of several keys has no
    place for a run beside it.
    """
    beside = [other for other in runs if other.variant == run.variant and len(other.sweep) == 1]
    mine, found = dict(leaves(run.config)), {}
    for other in beside if not run.sweep else ():
        (key,) = other.sweep
        theirs = dict(leaves(other.config))
        shared = {name for name in mine.keys() & theirs.keys() if not name.startswith("sweep")}
        value = mine.get(key, _default(run, key))
        if isinstance(value, int | float | str) and all(
            mine[name] == theirs[name] for name in shared - {key}
        ):
            found[key] = value
    return found


def _default(run: Run, key: str) -> Any:
    """Give what an argument is where the config does not say."""
    section, _, name = key.partition(".")
    registry: Mapping[str, Callable[..., Any]] = REGISTRIES.get(section, {})
    made = registry.get(run.config.get(section, {}).get("name", ""))
    known = inspect.signature(made).parameters if made else {}
    return known[name].default if name in known else None


def on_grids(records: Sequence[Record]) -> list[Record]:
    """Give the records of grids, and those of the usual settings as one more point of each."""
    swept = [each for each in records if each.sweep]
    known = [(each.variant, each.sweep, each.seed) for each in swept]
    return swept + [
        each.model_copy(update={"sweep": {key: value}})
        for each in records
        for key, value in each.usual.items()
        if (each.variant, {key: value}, each.seed) not in known
    ]


def _layer(run: Run, number: int) -> Layer:
    def learned(transform: str) -> Learned:
        key = f"layer{number}.{transform}"
        parts = ("weight", "magnitude", "strength")
        return Learned(
            transform=transform, **{part: round(run.learned(f"{key}.{part}"), 4) for part in parts}
        )

    transforms = run.build_transforms(number)
    layer = Layer(transforms=list(map(learned, transforms)), leads_from=1)
    leaders = [
        max(transforms, key=lambda transform: row[f"layer{number}.{transform}.weight"])
        for row in run.rows
    ]
    others = [
        epoch for epoch, leader in enumerate(leaders, 1) if leader != layer.selected.transform
    ]
    return layer.model_copy(update={"leads_from": max(others, default=0) + 1})
