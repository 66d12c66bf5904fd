"""The result of `learn`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import Literal, TypeAlias

from augnet.layers import AugmentationModule
from augnet.learn.parts import CurvePoint, PartRange
from augnet.net import AugNet
from augnet.training import Row
from augnet.transforms import Bernoulli, Multiplicative, Transform

Status: TypeAlias = Literal["not_invariant", "bounded", "reached_limit", "unclear"]


@dataclass(frozen=True)
class Invariance:
    """Up to which strength a transform preserves the label.

    `not_invariant`: at no strength; `bounded`: up to `strength`; `reached_limit`: up to the limit
    of the transform, where the search ends; `unclear`: the data, the network or the budget cannot
    tell, for the given `reason`. `interval` holds the strength with a confidence of 90 %.
    """

    transform: Transform
    status: Status
    strength: float
    interval: tuple[float, float]
    weight: float | None = None
    """In selective layers: the weight of the transform in its layer."""
    seeds_agreeing: tuple[int, int] = (1, 1)
    """How many seeds have this status, of how many."""
    cost: float | None = None
    """The error that the transform adds at `strength`, on held-out samples; None if unknown."""
    reason: str = ""
    """Why the status is `unclear`."""
    benefit: float | None = None
    """By how much training with the transform brings the predictions of held-out samples, as they
    are, closer to the truth: the fall of the Brier score, or for values of the variance that is not
    explained. None if it was not measured."""
    by_class: tuple[PartRange, ...] = ()
    """The range of each class, with `by_class=True`."""
    by_direction: tuple[PartRange, ...] = ()
    """The ranges of the two directions of a signed transform, if they differ beyond intervals."""
    curve: tuple[CurvePoint, ...] = field(default=(), repr=False)
    """The error that each strength adds to the network that measured, with `by_class=True`."""
    response: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    """The response curve: strengths, and the error that each adds on held-out samples. A Bernoulli
    transform has two: 0 for samples as they are, 1 for transformed ones."""

    @property
    def kept(self) -> bool:
        """Whether the transform preserves the label at some strength."""
        return self.status in ("bounded", "reached_limit")

    @property
    def includes_zero(self) -> bool:
        """Whether the interval includes the strength at which the transform changes nothing."""
        return self.interval[0] <= float(self.transform.strength(0.0))

    @property
    def unit(self) -> str:
        """The unit of `strength` and `interval`."""
        return self.transform.unit

    @property
    def magnitude(self) -> float:
        """The magnitude at which the transform has this strength; 0 if it is not kept."""
        if not self.kept:
            return 0.0
        if isinstance(self.transform, Multiplicative):
            return min(1.0, log(self.strength) / log(self.transform.limit))
        return min(1.0, self.strength / self.transform.limit)

    def __str__(self) -> str:
        text = f"{self.transform.name}: {self.status.replace('_', ' ')}"
        if self.kept:
            text += f", {self._describe_strength()}"
        if self.cost is not None and self.status != "unclear":
            text += f", error {_signed(self.cost)}"
        if self.reason:
            text += f", {self.reason}"
        if self.weight is not None:
            text += f" (weight {self.weight:.2f})"
        agreeing, seeds = self.seeds_agreeing
        return text if seeds == 1 else f"{text}, {agreeing} of {seeds} seeds"

    def _describe_strength(self) -> str:
        if isinstance(self.transform, Bernoulli):
            return f"with probability {self.strength:.2f}"
        low, high = (f"{end:.3g}" for end in self.interval)
        interval = "the interval includes 0" if self.includes_zero else f"{low} to {high}"
        if self.unit == "probability":
            return f"probability {self.strength:.2f} ({interval})"
        prefix = self.transform.prefix or "up to "
        return f"{prefix}{self.strength:.3g} {self.unit} ({interval})"


def name_classes(rows: Iterable[Invariance], names: Sequence[str]) -> list[Invariance]:
    """Give the ranges of classes that are known by their numbers the names of these classes."""
    known = {str(number): name for number, name in enumerate(names)}

    def named(row: Invariance) -> Invariance:
        if {part.name for part in row.by_class} <= set(names):
            return row
        parts = (replace(part, name=known.get(part.name, part.name)) for part in row.by_class)
        return replace(row, by_class=tuple(parts))

    return [named(row) for row in rows]


@dataclass(frozen=True)
class Gain:
    """What transforms brought to a net, on held-out samples.

    Nets were trained on the other samples, from the same weights and with the same steps. The best
    of them was chosen on the held-out samples too, so that the difference is rather too large.
    """

    draws: int
    """How many transforms the net draws per sample; 0: it has no augmentation."""
    score: float
    """Accuracy, each class weighted the same, averaged over copies; of values the variance
    explained."""
    plain_score: float
    """The same without any augmentation."""
    difference: float
    """The first less the second."""
    interval: tuple[float, float]
    """The difference with a confidence of 90 %."""
    averaging: float
    """By how much the score is above that of one view without augmentation."""
    scores: tuple[float, ...]
    """The scores of all nets that were compared."""
    compared: tuple[int, ...]
    """How many transforms each of them draws."""

    def __str__(self) -> str:
        if not self.draws:
            score = f"{self.plain_score:.3f} held-out"
            return f"the net has no augmentation: none made it better ({score})"
        low, high = map(_signed, self.interval)
        return (
            f"the net draws {self.draws} per sample: {self.score:.3f} held-out, without "
            f"augmentation {self.plain_score:.3f} (difference {low} to {high}); "
            f"averaging {_signed(self.averaging)}"
        )


@dataclass(frozen=True)
class InvarianceResult:
    """One `Invariance` per transform, and a network that has these invariances built in."""

    invariances: tuple[Invariance, ...]
    net: AugNet
    history: list[Row] = field(repr=False)
    score: float | None = None
    """Accuracy on held-out samples without any transform, each class weighted the same; for values,
    the variance explained."""
    chance: float | None = None
    """The score of a constant prediction."""
    steps: int = 0
    """Training steps of all networks together."""
    warnings: tuple[str, ...] = ()
    """What limits the result, such as a budget that was too short."""
    gain: Gain | None = None
    """What transforms brought to the net; None if there were none to compare."""

    def __str__(self) -> str:
        lines = [f"warning: {text}" for text in self.warnings]
        lines += map(str, self.invariances)
        if self.score is not None:
            values = self.net.meaning == "values"
            name = "variance explained" if values else "accuracy"
            chance = "" if self.chance is None else f", chance {self.chance:.3f}"
            lines.append(f"held-out {name} {self.score:.3f}{chance}")
        if self.gain is not None:
            lines.append(str(self.gain))
        if self.left_out:
            names = ", ".join(row.transform.name for row in self.left_out)
            lines.append(f"not in the net, because they made predictions worse: {names}")
        return "\n".join(lines)

    @property
    def left_out(self) -> list[Invariance]:
        """The transforms that preserve the label, but that a net with others does not use."""
        layers = list(self.net.augment) if isinstance(self.net.augment, AugmentationModule) else []
        used = [each for layer in layers for each in layer.transforms]
        helped = (row for row in self.invariances if row.kept and row.benefit is not None)
        return [row for row in helped if used and row.transform not in used]

    def __getitem__(self, name: str) -> Invariance:
        """Return the invariance of a transform by its name."""
        for row in self.invariances:
            if row.transform.name == name.replace("-", "_"):
                return row
        raise KeyError(
            f"{name!r}; transforms are {', '.join(r.transform.name for r in self.invariances)}"
        )


def _signed(value: float) -> str:
    """Write a number with its sign; what rounds to zero is positive."""
    return f"{round(value, 3) + 0.0:+.3f}"
