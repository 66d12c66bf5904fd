"""What can be read off the record of a run, by the name that claims have for it.

A new kind of claim is a function and a line in `QUANTITIES`, and its name in `config.Claim`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from augnet.paper.config import Claim
from augnet.paper.report.records import Record

Value: TypeAlias = float | str | None


class Quantity(NamedTuple):
    """Something that a run came to: what to call it, and how to read it; None if it has none."""

    name: str
    read: Callable[[Record, Claim], Value]


def selected(record: Record, claim: Claim) -> str | None:
    """Name the transform that all layers select, or all transforms that some do."""
    return " + ".join(sorted({layer.selected.transform for layer in record.layers})) or None


def weight(record: Record, claim: Claim) -> float | None:
    """Give the largest weight that a layer has for the transform."""
    weights = [
        w.weight
        for layer in record.layers
        for w in layer.transforms
        if w.transform == claim.transform
    ]
    return max(weights, default=None)


def strength(record: Record, claim: Claim) -> float | None:
    """Give the strength of the transform, whatever its weight: what the paper's figures draw."""
    return record.strength(str(claim.transform))


def used_strength(record: Record, claim: Claim) -> float | None:
    """Give the strength of the transform where it is selected: 0 where another transform is."""
    if not record.layers:
        return strength(record, claim)
    chosen = [
        layer.selected for layer in record.layers if layer.selected.transform == claim.transform
    ]
    return max((each.strength for each in chosen), default=0.0)


def used_magnitude(record: Record, claim: Claim) -> float | None:
    """Give the largest magnitude of a selected transform: about 0 if the layers are the identity."""
    return max((layer.selected.magnitude for layer in record.layers), default=None)


def used_layers(record: Record, claim: Claim) -> float | None:
    """Count the layers that are not the identity."""
    return sum(layer.used for layer in record.layers) if record.layers else None


def leads_from(record: Record, claim: Claim) -> float | None:
    """Give the epoch from which the transform leads for good in some layer; never is infinity."""
    if not record.layers:
        return None
    mine = [
        layer.leads_from for layer in record.layers if layer.selected.transform == claim.transform
    ]
    return min(mine, default=math.inf)


def spread_widths(record: Record, claim: Claim) -> float | None:
    """Count the widths of Augerino that are at least a tenth of the largest."""
    widths = record.widths.values()
    return sum(width >= max(widths) / 10 for width in widths) if widths else None


def accuracy(record: Record, claim: Claim) -> float | None:
    """Give the test accuracy with so many copies."""
    return next((row.accuracy for row in record.measured if row.copies == claim.copies), None)


def invariance(record: Record, claim: Claim) -> float | None:
    """Give the median invariance over the test set with so many copies (eq. 4)."""
    return next((row.invariance for row in record.measured if row.copies == claim.copies), None)


def time(record: Record, claim: Claim) -> float | None:
    """Give the time of a forward pass over so many own views, in passes of the trunk."""
    return next((row.time for row in record.times if row.copies == claim.copies), None)


QUANTITIES = {
    "selected": Quantity("selected transform", selected),
    "weight": Quantity("weight of {transform}", weight),
    "strength": Quantity("strength of {transform}", strength),
    "used-strength": Quantity("strength of {transform}, 0 if not selected", used_strength),
    "used-magnitude": Quantity("magnitude of the selected transform", used_magnitude),
    "used-layers": Quantity("layers with a magnitude of 0.05 or more", used_layers),
    "leads-from": Quantity("epoch from which {transform} leads", leads_from),
    "spread-widths": Quantity("of six widths, those above a tenth of the largest", spread_widths),
    "test-accuracy": Quantity("test accuracy", lambda record, claim: record.test_accuracy),
    "balanced-accuracy": Quantity(
        "balanced test accuracy", lambda record, claim: record.balanced_accuracy
    ),
    "accuracy": Quantity("accuracy with C = {copies}", accuracy),
    "plain-accuracy": Quantity(
        "test accuracy on samples as they are", lambda record, claim: record.accuracy_over("plain")
    ),
    "net-accuracy": Quantity(
        "test accuracy, averaged over views that are learned",
        lambda record, claim: record.net_accuracy,
    ),
    "own-accuracy": Quantity(
        "test accuracy over {copies} own views",
        lambda record, claim: record.accuracy_over("own", claim.copies or 1),
    ),
    "time": Quantity("time of {copies} own views, in passes of the trunk", time),
    "invariance": Quantity("invariance with C = {copies}", invariance),
}
