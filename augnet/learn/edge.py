"""The edge rule: a range grows while samples at its edge cost less than a tolerance."""

import math
from dataclasses import dataclass, field

MIN_RANGE = 1e-3
"""The least range, as a fraction of the limit."""

DECAY = 0.2
"""By how much each turn slows down a range, so that it settles (Kesten 1958)."""


@dataclass
class EdgeRule:
    """A range that follows measured costs, and the history of both.

    Each measurement moves the logarithm of the range by at most `rate`: up if the cost at the edge
    is below the tolerance, down if it is above. So the range settles where the cost is the
    tolerance. Until the cost exceeds the tolerance for the first time, it grows by `growth`.
    """

    tolerance: float
    start: float
    rate: float
    growth: float
    smoothing: float
    border: float = 1.0
    """The range does not go beyond it."""
    ranges: list[float] = field(default_factory=list)
    excesses: list[float] = field(default_factory=list)
    """Costs in tolerances."""
    turns: int = 0
    """How often the range began to grow or to shrink."""
    means: list[float] = field(default_factory=list)
    """The running mean of each part of the cost."""

    @property
    def range(self) -> float:
        """The range now."""
        return self.ranges[-1] if self.ranges else self.start

    def update(self, *parts: float, allowed: float = 0.0, settling: bool = True) -> None:
        """Move the range by what was measured at its edge: the cost is the largest part.

        `allowed` is the cost that is allowed now, if that is more than the tolerance. Before the
        range is `settling`, turns do not slow it down.
        """
        kept = self.smoothing
        means = self.means or list(parts)
        self.means = [
            kept * mean + (1 - kept) * part for mean, part in zip(means, parts, strict=True)
        ]
        cost = max(self.means)
        tolerance = max(self.tolerance, allowed)
        self.excesses.append(cost / tolerance)
        if settling:
            self.turns += len({excess > 1 for excess in self.excesses[-2:]}) - 1
        rate = self.growth if max(self.excesses) <= 1 else self.rate / (1 + DECAY * self.turns)
        step = rate * max(-1.0, min(1.0, 1 - self.excesses[-1]))
        self.ranges.append(self._bounded(self.range * math.exp(step)))

    def restart(self, range: float) -> None:
        """Continue from another range."""
        self.ranges.append(self._bounded(range))

    def _bounded(self, range: float) -> float:
        return min(self.border, max(MIN_RANGE, range))

    def at_end(self, count: int) -> bool:
        """Whether the last ranges are all the limit or the border, or all close to 0."""
        last = self.ranges[-count:]
        return len(last) == count and (min(last) == self.border or max(last) < 5 * MIN_RANGE)

    def steady(self, count: int, deviation: float) -> bool:
        """Whether the logarithms of the last ranges deviate from their mean by little."""
        logs = [math.log(each) for each in self.ranges[-count:]]
        mean = _mean(logs)
        return len(logs) == count and _mean([(e - mean) ** 2 for e in logs]) < deviation**2

    def drift(self) -> float:
        """Return by how much the logarithm of the range rose from the third quarter to the last."""
        quarter = max(1, len(self.ranges) // 4)
        logs = [math.log(each) for each in self.ranges]
        return _mean(logs[-quarter:]) - _mean(logs[-2 * quarter : -quarter] or logs[:1])

    def settled(self) -> tuple[float, float]:
        """Return the mean of the last third of the ranges, and the deviation of its logarithm."""
        third = max(1, len(self.ranges) // 3)
        logs = [math.log(each) for each in self.ranges[-third:]]
        mean = _mean(logs)
        variance = _mean([(each - mean) ** 2 for each in logs])
        return math.exp(mean), math.sqrt(variance)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
