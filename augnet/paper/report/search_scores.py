"""Compare the scores of searches with those of AugNet and of no augmentation."""

import math
from collections.abc import Mapping
from statistics import median
from typing import TypeAlias

import numpy as np

from augnet.paper.report.figures.searches import Curve

BILEVEL = ("adda", "cadda", "dada")
NO_AUGMENTATION = "none"
OURS = "augnet"

Curves: TypeAlias = Mapping[str, Mapping[int, Curve]]  # by method and seed


def passes_to_reach(curve: Curve, score: float) -> float:
    """Return the passes after which a score is reached; infinity if it never is."""
    reached = np.flatnonzero(curve.test >= score)
    return float(curve.passes[reached[0]]) if len(reached) else math.inf


def compare_with_bilevel(curves: Curves, name: str) -> str:
    """Compare the passes that a method and bilevel searches need for the method's final score."""
    final = {seed: curve.test[-1] for seed, curve in curves[name].items()}
    needed = {
        method: median(passes_to_reach(curves[method][seed], final[seed]) for seed in common)
        for method in (name, *BILEVEL)
        if (common := set(curves.get(method, ())) & set(final))
    }
    passes, first = needed.pop(name), min(needed, key=needed.__getitem__, default="")
    if not first:
        return ""
    text = f"{name} reaches its final score after {passes:.0f} passes (median over folds)"
    if math.isinf(needed[first]):
        never = ", ".join(needed)
        return f"{text}. Never reached in half of the folds or more by: {never}."
    ratio = passes / needed[first]
    return (
        f"{text}; the fastest bilevel search, {first}, reaches it after {needed[first]:.0f} "
        f"(ratio {ratio:.2f})."
    )


def passes_to_match_ours(curves: Curves, method: str) -> list[float]:
    """Return for each fold the passes after which a method reaches the final score of AugNet."""
    ours = curves.get(OURS, {})
    seeds = [seed for seed in curves[method] if seed in ours]
    return [passes_to_reach(curves[method][seed], ours[seed].test[-1]) for seed in seeds]


def count_wins(curves: Curves, method: str) -> str:
    """Count the folds in which a method is better than no augmentation."""
    gains = _gains(curves, method)
    if not gains:
        return "-"
    return f"better than none in {sum(gain > 0 for gain in gains)} of {len(gains)}"


def improves(curves: Curves, method: str) -> bool:
    """Return whether a method is better than no augmentation on average over common folds."""
    gains = _gains(curves, method)
    return not gains or sum(gains) > 0


def _gains(curves: Curves, method: str) -> list[float]:
    """Return the gains over no augmentation on common folds; none for no augmentation itself."""
    plain = curves.get(NO_AUGMENTATION, {}) if method != NO_AUGMENTATION else {}
    common = sorted(set(curves[method]) & set(plain))
    return [float(curves[method][seed].test[-1] - plain[seed].test[-1]) for seed in common]
