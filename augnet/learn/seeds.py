"""The findings of several seeds as one."""

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from augnet.learn.result import Invariance


def joined(findings: Sequence[Sequence[Invariance]]) -> list[Invariance]:
    """Join what each seed found about each transform, in the same order of transforms.

    A transform is kept if more than half of the seeds keep it, and reaches its limit if more than half
    of those say so. Its strength is the median of theirs, and its interval goes from the least of
    their lower ends to the largest of their upper ends: it holds for other samples and for other
    seeds alike. Ties go the careful way: not kept, or within.
    """
    return [_join(rows) for rows in zip(*findings, strict=True)]


def _join(rows: Sequence[Invariance]) -> Invariance:
    kept = [row for row in rows if row.status != "not_invariant"]
    said = (
        kept
        if 2 * len(kept) > len(rows)
        else [row for row in rows if row.status == "not_invariant"]
    )
    agree = (len(said), len(rows))
    if said is not kept:
        return replace(said[0], seeds_agreeing=agree)
    reached = [row for row in kept if row.status == "reached_limit"]
    ends = (min(row.interval[0] for row in kept), max(row.interval[1] for row in kept))
    if 2 * len(reached) > len(kept):
        return replace(reached[0], interval=ends, seeds_agreeing=agree)
    strength = median(row.strength for row in kept)
    return replace(
        kept[0], status="bounded", strength=strength, interval=ends, seeds_agreeing=agree
    )
