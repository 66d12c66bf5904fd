"""Join the results of several seeds."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from augnet.learn.parts import PartRange
from augnet.learn.result import Invariance

DISAGREE = "seeds disagree"


def join_seeds(results: Sequence[Sequence[Invariance]]) -> list[Invariance]:
    """Join the results of each seed about each transform, in the same order of transforms.

    More than half of the seeds have to keep a transform, to call it not invariant, or to find it
    unclear; else it is unclear, because seeds disagree. A kept transform has reached its limit if
    more than half of those seeds say so. Its strength, cost and benefit are the median of theirs,
    and its interval goes from the least of their lower ends to the largest of their upper ends: it
    holds for other samples and for other seeds. Its response curve is that of the seed whose
    strength is nearest. Ranges of classes are joined in the same way.
    """
    return [
        replace(_join(rows), by_class=_join_classes(rows)) if len(rows) > 1 else rows[0]
        for rows in zip(*results, strict=True)
    ]


def _join_classes(rows: Sequence[Invariance]) -> tuple[PartRange, ...]:
    """Join the ranges of each class, which all rows have in the same order."""
    return tuple(_join_parts(parts) for parts in zip(*(row.by_class for row in rows), strict=True))


def _join_parts(parts: Sequence[PartRange]) -> PartRange:
    """Join the ranges of a class as those of a transform."""
    kinds = ("not_invariant", "unclear")
    kept = [part for part in parts if part.kept]
    same = [[part for part in parts if part.status == kind] for kind in kinds]
    majority = max(*same, kept, key=len)
    if 2 * len(majority) <= len(parts):
        return PartRange(parts[0].name, "unclear", 0.0, (0.0, 0.0), parts[0].samples, DISAGREE)
    if majority is not kept:
        return majority[0]
    ends = (min(part.interval[0] for part in kept), max(part.interval[1] for part in kept))
    reached = [part for part in kept if part.status == "reached_limit"]
    if 2 * len(reached) > len(kept):
        return replace(reached[0], interval=ends)
    strength = median(part.strength for part in kept)
    return replace(kept[0], status="bounded", strength=strength, interval=ends)


def _join(rows: Sequence[Invariance]) -> Invariance:
    kinds = ("not_invariant", "unclear")
    parts = [[row for row in rows if row.status == kind] for kind in kinds]
    kept = [row for row in rows if row.kept]
    majority = max(*parts, kept, key=len)
    agreeing = (len(majority), len(rows))
    cost = _median([row.cost for row in majority if row.cost is not None])
    if 2 * len(majority) <= len(rows):
        nothing = Invariance(rows[0].transform, "unclear", 0.0, (0.0, 0.0), reason=DISAGREE)
        return replace(nothing, seeds_agreeing=agreeing)
    if majority is not kept:
        return replace(majority[0], cost=cost, seeds_agreeing=agreeing)
    reached = [row for row in kept if row.status == "reached_limit"]
    ends = (min(row.interval[0] for row in kept), max(row.interval[1] for row in kept))
    benefit = _median([row.benefit for row in kept if row.benefit is not None])
    joined = replace(kept[0], interval=ends, cost=cost, benefit=benefit, seeds_agreeing=agreeing)
    if 2 * len(reached) > len(kept):
        joined = replace(joined, status="reached_limit", strength=reached[0].strength)
    else:
        joined = replace(joined, status="bounded", strength=median(row.strength for row in kept))
    nearest = min(kept, key=lambda row: abs(row.strength - joined.strength))
    return replace(joined, response=nearest.response)


def _median(values: list[float]) -> float | None:
    return median(values) if values else None
