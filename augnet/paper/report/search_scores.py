"""Compare the scores of searches with those of AugNet and of no augmentation."""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, median, stdev
from typing import TypeAlias

import numpy as np

from augnet.paper.report.figures.searches import Curve

BILEVEL = ("adda", "cadda", "dada")
NO_AUGMENTATION = "none"
OURS = "augnet"
# By degrees of freedom; from there on its expansion around the quantile of a normal distribution.
STUDENT_95 = (6.314, 2.920, 2.353, 2.132, 2.015)
NORMAL_95 = 1.645

Curves: TypeAlias = Mapping[str, Mapping[int, Curve]]  # by method and seed


def passes_to_reach(curve: Curve, score: float) -> float:
    """Return the passes from which on a score is kept to the end; infinity if the end is below.

    Test scores can fall again, so the first time above may be luck.
    """
    below = np.flatnonzero(curve.test < score)
    kept = below[-1] + 1 if len(below) else 0
    return float(curve.passes[kept]) if kept < len(curve.test) else math.inf


def compare_with_bilevel(curves: Curves, name: str) -> str:
    """Compare after how many passes a method and bilevel searches keep the method's final score."""
    final = {seed: curve.test[-1] for seed, curve in curves[name].items()}
    needed = {
        method: median(passes_to_reach(curves[method][seed], final[seed]) for seed in common)
        for method in (name, *BILEVEL)
        if (common := set(curves.get(method, ())) & set(final))
    }
    passes, first = needed.pop(name), min(needed, key=needed.__getitem__, default="")
    if not first:
        return ""
    text = f"{name} reaches and keeps its final score after {passes:.0f} passes (median over folds)"
    if math.isinf(needed[first]):
        never = ", ".join(needed)
        return f"{text}. Not reached and kept in half of the folds or more by: {never}."
    ratio = passes / needed[first]
    return (
        f"{text}; the fastest bilevel search, {first}, reaches it after {needed[first]:.0f} "
        f"(ratio {ratio:.2f})."
    )


def passes_to_match_ours(curves: Curves, method: str) -> list[float]:
    """Return for each fold the passes after which a method keeps the final score of AugNet."""
    ours = curves.get(OURS, {})
    seeds = [seed for seed in curves[method] if seed in ours]
    return [passes_to_reach(curves[method][seed], ours[seed].test[-1]) for seed in seeds]


def gain_over_none(curves: Curves, method: str) -> str:
    """Say by how many points a method is better than no augmentation, paired over folds."""
    gains = _gains(curves, method)
    if not gains:
        return "-"
    spread = f" ± {half:.1f}" if (half := _half_interval(gains)) is not None else ""
    wins = sum(gain > 0 for gain in gains)
    return f"{fmean(gains):+.1f}{spread} points; better in {wins} of {len(gains)}"


def clearly_better(curves: Curves) -> list[str]:
    """List the methods whose gain over no augmentation has an interval above 0."""
    found = []
    for method in curves:
        gains = _gains(curves, method)
        half = _half_interval(gains)
        if half is not None and fmean(gains) > half:
            found.append(method)
    return found


def _half_interval(gains: Sequence[float]) -> float | None:
    """Return half of the 90 % interval of the mean (Student's t); None for one value."""
    if len(gains) < 2:
        return None
    freedom, z = len(gains) - 1, NORMAL_95
    quantile = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    if freedom <= len(STUDENT_95):
        quantile = STUDENT_95[freedom - 1]
    return quantile * stdev(gains) / math.sqrt(len(gains))


def improves(curves: Curves, method: str) -> bool:
    """Return whether a method is better than no augmentation on average over common folds."""
    gains = _gains(curves, method)
    return not gains or sum(gains) > 0


def _gains(curves: Curves, method: str) -> list[float]:
    """Return the gains over no augmentation on common folds, in points; none for itself."""
    plain = curves.get(NO_AUGMENTATION, {}) if method != NO_AUGMENTATION else {}
    common = sorted(set(curves[method]) & set(plain))
    return [100 * float(curves[method][seed].test[-1] - plain[seed].test[-1]) for seed in common]
