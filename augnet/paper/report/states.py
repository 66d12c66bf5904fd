"""Read what a list of transform states says about layers, strengths and Augerino's widths."""

import math
from collections.abc import Sequence

from augnet.layers.state import TransformState

SELECTED = 0.5  # the least weight of a selected transform
NEGLIGIBLE = 0.01  # a transform of a smaller weight is not used
IDENTITY = 0.05  # a transform of a smaller magnitude counts as the identity


def layers(states: Sequence[TransformState]) -> list[list[TransformState]]:
    """Group the weighted transforms by layer; Augerino has none."""
    groups: dict[int, list[TransformState]] = {}
    for state in states:
        if state.weight is not None:
            groups.setdefault(state.layer, []).append(state)
    return [groups[number] for number in sorted(groups)]


def selected(layer: Sequence[TransformState]) -> TransformState | None:
    """Return the transform that a layer selects: its weight is at least one half, and no tie."""
    first, *others = sorted(layer, key=lambda state: -(state.weight or 0.0))
    weight = first.weight or 0.0
    tied = bool(others) and others[0].weight == first.weight
    return first if weight >= SELECTED and not tied else None


def parts(layer: Sequence[TransformState]) -> list[TransformState]:
    """Return the selected transform; where there is none, all that have weight and move the data.

    The heaviest come first.
    """
    chosen = selected(layer)
    if chosen is not None:
        return [chosen] if chosen.magnitude >= IDENTITY else []
    used = [s for s in layer if (s.weight or 0.0) >= NEGLIGIBLE and s.magnitude >= IDENTITY]
    return sorted(used, key=lambda state: -(state.weight or 0.0))


def widths(states: Sequence[TransformState]) -> dict[str, float]:
    """Return the widths of Augerino's uniform distributions by name; none for layers."""
    return {state.name: state.magnitude for state in states if state.weight is None}


def half_width(name: str, width: float) -> float:
    """Turn the width of a uniform distribution into a strength; radians into degrees."""
    return math.degrees(width / 2) if name == "rotate" else width / 2


def strength(states: Sequence[TransformState], name: str) -> float | None:
    """Return the strength of a transform in the layer that uses it most; None if it is absent."""
    found = widths(states)
    if name in found:
        return half_width(name, found[name])
    weighted = [state for layer in layers(states) for state in layer if state.name == name]
    most = max(weighted, key=lambda state: (state.weight or 0.0) * state.strength, default=None)
    return None if most is None else most.strength
