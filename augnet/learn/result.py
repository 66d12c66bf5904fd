"""What was found."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from augnet.net import AugNet
from augnet.transforms import Bernoulli, Transform

Verdict: TypeAlias = Literal["none", "within", "at least"]
Row: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Invariance:
    """How far a transform leaves the label alone.

    `none`: it does not; `within`: up to `strength`; `at least`: up to its limit, where the search
    ended. `interval` holds the strength with a confidence of 90 %.
    """

    transform: Transform
    verdict: Verdict
    strength: float
    interval: tuple[float, float]
    weight: float | None = None
    """In selective layers: the weight of the transform in its layer."""
    agree: tuple[int, int] = (1, 1)
    """How many seeds say so, of how many."""

    @property
    def unit(self) -> str:
        """The unit of `strength` and `interval`."""
        return self.transform.unit

    def __str__(self) -> str:
        weight = "" if self.weight is None else f" (weight {self.weight:.2f})"
        if self.agree[1] > 1:
            weight += f", {self.agree[0]} of {self.agree[1]} seeds"
        if self.verdict == "none":
            return f"{self.transform.name}: none{weight}"
        low, high = (f"{end:.3g}" for end in self.interval)
        if self.unit == "probability":
            said = f"with probability {self.strength:.2f}"
            if not isinstance(self.transform, Bernoulli):
                said = f"probability {self.strength:.2f} ({low} to {high})"
            return f"{self.transform.name}: {self.verdict} {said}{weight}"
        said = f"{self.transform.prefix}{self.strength:.3g} {self.unit} ({low} to {high})"
        return f"{self.transform.name}: {self.verdict} {said}{weight}"


@dataclass(frozen=True)
class Found:
    """What `learn` found: an invariance per transform, and a network that has them built in."""

    invariances: tuple[Invariance, ...]
    net: AugNet
    history: list[Row] = field(repr=False)

    def __str__(self) -> str:
        return "\n".join(map(str, self.invariances))

    def __getitem__(self, name: str) -> Invariance:
        """Give the invariance of a transform by its name."""
        for row in self.invariances:
            if row.transform.name == name:
                return row
        raise KeyError(
            f"{name!r}; transforms are {', '.join(r.transform.name for r in self.invariances)}"
        )
