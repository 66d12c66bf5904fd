"""The result of `learn`: one invariance per transform, and a network."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from augnet.net import AugNet
from augnet.transforms import Bernoulli, Transform

Status: TypeAlias = Literal["not_invariant", "bounded", "reached_limit", "unclear"]
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Invariance:
    """How far a transform may go before the label is lost.

    `not_invariant`: not at all; `bounded`: up to `strength`; `reached_limit`: up to the limit of
    the transform, where the search ended; `unclear` is reserved. `interval` contains the strength
    with a confidence of 90 %.
    """

    transform: Transform
    status: Status
    strength: float
    interval: tuple[float, float]
    weight: float | None = None
    """In selective layers: the weight of the transform in its layer."""
    seeds_agreeing: tuple[int, int] = (1, 1)
    """How many seeds have this status, of how many."""

    @property
    def unit(self) -> str:
        """The unit of `strength` and `interval`."""
        return self.transform.unit

    def __str__(self) -> str:
        status = self.status.replace("_", " ")
        weight = "" if self.weight is None else f" (weight {self.weight:.2f})"
        if self.seeds_agreeing[1] > 1:
            weight += f", {self.seeds_agreeing[0]} of {self.seeds_agreeing[1]} seeds"
        if self.status == "not_invariant":
            return f"{self.transform.name}: {status}{weight}"
        low, high = (f"{end:.3g}" for end in self.interval)
        strength = f"{self.transform.reach}{self.strength:.3g} {self.unit}"
        if self.unit == "probability":
            strength = f"probability {self.strength:.2f}"
        interval = "" if isinstance(self.transform, Bernoulli) else f" ({low} to {high})"
        return f"{self.transform.name}: {status}, {strength}{interval}{weight}"


@dataclass(frozen=True)
class InvarianceResult:
    """One invariance per transform, and a network that has them built in."""

    invariances: tuple[Invariance, ...]
    net: AugNet
    history: list[Row] = field(repr=False)

    def __str__(self) -> str:
        return "\n".join(map(str, self.invariances))

    def __getitem__(self, name: str) -> Invariance:
        """Return the invariance of a transform by its name."""
        for row in self.invariances:
            if row.transform.name == name:
                return row
        raise KeyError(
            f"{name!r}; transforms are {', '.join(r.transform.name for r in self.invariances)}"
        )
