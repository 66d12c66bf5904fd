"""What is kept of a run for good: small enough for the repository, enough to judge every claim.

The page and `docs/results.md` are both made from records, the first from those of run directories,
the second from those in `results/`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field

from augnet.config import Section
from augnet.report.command import leaves
from augnet.report.runs import Run, half_width, label
from augnet.train import Row

IDENTITY = 0.05  # a magnitude below leaves the data alone


class Learned(Section):
    """What was learned about a word: the mean over the last fifth of the epochs."""

    word: str
    weight: float
    magnitude: float
    strength: float


class Layer(Section):
    """The words of a layer, and the epoch, from 1, since which the heaviest of them leads."""

    words: list[Learned]
    leads_from: int

    @property
    def selected(self) -> Learned:
        """The heaviest word."""
        return max(self.words, key=lambda learned: learned.weight)

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

    def strength(self, word: str) -> float | None:
        """Give the strength of a word in the layer that uses most of it; None without the word."""
        if word in self.widths:
            return half_width(word, self.widths[word])
        found = [known for layer in self.layers for known in layer.words if known.word == word]
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
    swept: dict[str, set[str]] = {}
    for run in runs:
        if len(run.sweep) == 1:  # a grid of several keys has no place for a run beside it
            swept.setdefault(run.variant, set()).update(run.sweep)

    def usual(run: Run) -> dict[str, Any]:
        keys = set() if run.sweep else swept.get(run.variant, set())
        known = (leaf for leaf in leaves(run.config) if leaf[0] in keys)
        return {key: value for key, value in known if isinstance(value, int | float | str)}

    return [record(run, usual(run)) for run in runs if run.kept is not None]


def on_grids(records: Sequence[Record]) -> list[Record]:
    """Give the records of grids, and those of the usual settings as one more point of each."""
    return [
        each.model_copy(update={"sweep": point})
        for each in records
        for point in (
            [each.sweep] if each.sweep else [{key: each.usual[key]} for key in each.usual]
        )
    ]


def _layer(run: Run, number: int) -> Layer:
    def learned(word: str) -> Learned:
        key = f"layer{number}.{word}"
        parts = ("weight", "magnitude", "strength")
        return Learned(
            word=word, **{part: round(run.learned(f"{key}.{part}"), 4) for part in parts}
        )

    words = run.words(number)
    layer = Layer(words=list(map(learned, words)), leads_from=1)
    leaders = [max(words, key=lambda word: row[f"layer{number}.{word}.weight"]) for row in run.rows]
    others = [epoch for epoch, leader in enumerate(leaders, 1) if leader != layer.selected.word]
    return layer.model_copy(update={"leads_from": max(others, default=0) + 1})
