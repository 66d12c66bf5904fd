"""Join the results of several seeds."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from augnet.learn.result import Invariance

DISAGREE = "seeds disagree"


def join_seeds(results: Sequence[Sequence[Invariance]]) -> list[Invariance]:
    """Join the results of each seed about each transform, in the same order of transforms.

    More than half of the seeds have to keep a transform, to call it not invariant, or to find it
    unclear; else it is unclear, because seeds disagree. A kept transform has reached its limit if
    more than half of those seeds say so. Its strength and cost are the median of theirs, and its
    interval goes from the least of their lower ends to the largest of their upper ends: it holds
    for other samples and for other seeds. Its response curve is that of the seed whose strength is
    nearest.
    """
    return [_join(rows) if len(rows) > 1 else rows[0] for rows in zip(*results, strict=True)]


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
    joined = replace(kept[0], interval=ends, cost=cost, seeds_agreeing=agreeing)
    if 2 * len(reached) > len(kept):
        joined = replace(joined, status="reached_limit", strength=reached[0].strength)
    else:
        joined = replace(joined, status="bounded", strength=median(row.strength for row in kept))
    nearest = min(kept, key=lambda row: abs(row.strength - joined.strength))
    return replace(joined, response=nearest.response)


def _median(values: list[float]) -> float | None:
    return median(values) if values else None
