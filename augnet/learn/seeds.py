"""Join the results of several seeds."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from augnet.learn.result import Invariance


def join_seeds(results: Sequence[Sequence[Invariance]]) -> list[Invariance]:
    """Join the results of each seed about each transform, in the same order of transforms.

    A transform is kept if more than half of the seeds keep it, and has reached its limit if more
    than half of those say so. Its strength is the median of theirs, and its interval goes from the
    least of their lower ends to the largest of their upper ends: it holds for other samples and
    for other seeds. Its cost is the median of theirs. Ties are decided with caution: not kept, or
    bounded. What is not kept is unclear if at least half of the seeds that do not keep it say so.
    """
    return [_join(rows) for rows in zip(*results, strict=True)]


def _join(rows: Sequence[Invariance]) -> Invariance:
    kept = [row for row in rows if row.kept]
    if 2 * len(kept) <= len(rows):
        return _join_not_kept(rows)
    agreeing = (len(kept), len(rows))
    costs = [row.cost for row in kept if row.cost is not None]
    cost = median(costs) if costs else None
    reached = [row for row in kept if row.status == "reached_limit"]
    ends = (min(row.interval[0] for row in kept), max(row.interval[1] for row in kept))
    if 2 * len(reached) > len(kept):
        return replace(reached[0], interval=ends, seeds_agreeing=agreeing, cost=cost)
    strength = median(row.strength for row in kept)
    return replace(
        kept[0],
        status="bounded",
        strength=strength,
        interval=ends,
        seeds_agreeing=agreeing,
        cost=cost,
    )


def _join_not_kept(rows: Sequence[Invariance]) -> Invariance:
    unclear = [row for row in rows if row.status == "unclear"]
    refused = [row for row in rows if row.status == "not_invariant"]
    majority = unclear if len(unclear) >= len(refused) else refused
    return replace(majority[0], seeds_agreeing=(len(majority), len(rows)))
