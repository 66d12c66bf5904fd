"""Quantities that can be read off the record of a run, by the names that claims use.

A new quantity is a function, a line in `QUANTITIES`, and its name in `config.Claim`.
"""

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from augnet.paper.config import Claim
from augnet.paper.report.records import Record

NOTHING = "none"  # what a layer selects in which no transform has half of the weight
SELECTIONS = ("selected", "weight", "leads-from")
"""Quantities that ask for one transform per layer."""

Value: TypeAlias = float | str | None


class Quantity(NamedTuple):
    """A name for the reader, and a function that reads the value; None if a run has none."""

    name: str
    read: Callable[[Record, Claim], Value]


def selected(record: Record, claim: Claim) -> str | None:
    """Return the names of the transforms that the layers select, each once."""
    names = {layer.selected.name if layer.selected else NOTHING for layer in record.layers}
    return " + ".join(sorted(names)) or None


def weight(record: Record, claim: Claim) -> float | None:
    """Return the largest weight that a layer gives the transform."""
    states = (state for layer in record.layers for state in layer.transforms)
    weights = (state.weight for state in states if state.name == claim.transform)
    return max((value for value in weights if value is not None), default=None)


def strength(record: Record, claim: Claim) -> float | None:
    """Return the strength of the transform, whatever its weight, as in the paper's figures."""
    return record.strength(str(claim.transform))


def used_strength(record: Record, claim: Claim) -> float | None:
    """Return the sum of the strengths of the transform in the layers that use it."""
    if not record.layers:
        return strength(record, claim)
    chosen = (layer.transforms if record.keeps_all else [layer.selected] for layer in record.layers)
    return math.fsum(
        state.strength
        for layer in chosen
        for state in layer
        if state is not None and state.name == claim.transform and state.weight
    )


def used_magnitude(record: Record, claim: Claim) -> float | None:
    """Return the largest magnitude of a selected transform: near 0 if all are the identity.

    A layer that selects none counts with all of its transforms.
    """
    chosen = ([layer.selected] if layer.selected else layer.transforms for layer in record.layers)
    return max((state.magnitude for layer in chosen for state in layer), default=None)


def used_layers(record: Record, claim: Claim) -> float | None:
    """Count the layers that are not the identity."""
    return sum(bool(layer.parts) for layer in record.layers) if record.layers else None


def leads_from(record: Record, claim: Claim) -> float | None:
    """Return the epoch since which a layer selects the transform; infinity if none does."""
    if not record.layers:
        return None
    epochs = [
        each.leads_from
        for each in record.layers
        if each.selected is not None and each.selected.name == claim.transform
    ]
    return min(epochs, default=math.inf)


def spread_widths(record: Record, claim: Claim) -> float | None:
    """Count the widths of Augerino that are at least a tenth of the largest."""
    widths = record.widths.values()
    return sum(width >= max(widths) / 10 for width in widths) if widths else None


def accuracy(record: Record, claim: Claim) -> float | None:
    """Return the test accuracy with the claim's number of copies."""
    return next((row.accuracy for row in record.measured if row.copies == claim.copies), None)


def invariance(record: Record, claim: Claim) -> float | None:
    """Return the median invariance over the test set with that number of copies (eq. 4)."""
    return next((row.invariance for row in record.measured if row.copies == claim.copies), None)


def authors_invariance(record: Record, claim: Claim) -> float | None:
    """Return the same by the definition of the authors' code."""
    rows = (row for row in record.measured if row.copies == claim.copies)
    return next((row.authors_invariance for row in rows), None)


def time(record: Record, claim: Claim) -> float | None:
    """Return the time of a forward pass with that number of copies, in passes of the trunk."""
    return next((row.time for row in record.times if row.copies == claim.copies), None)


QUANTITIES = {
    "selected": Quantity("selected transform", selected),
    "weight": Quantity("weight of {transform}", weight),
    "strength": Quantity("strength of {transform}", strength),
    "used-strength": Quantity("strength of {transform} where it is selected", used_strength),
    "used-magnitude": Quantity("magnitude of the selected transform", used_magnitude),
    "used-layers": Quantity("number of layers with a magnitude of 0.05 or more", used_layers),
    "leads-from": Quantity("epoch since which {transform} is selected", leads_from),
    "spread-widths": Quantity("number of widths above a tenth of the largest", spread_widths),
    "test-accuracy": Quantity("test accuracy", lambda record, claim: record.test_accuracy),
    "balanced-accuracy": Quantity(
        "balanced test accuracy", lambda record, claim: record.balanced_accuracy
    ),
    "accuracy": Quantity("accuracy with C = {copies}", accuracy),
    "plain-accuracy": Quantity(
        "test accuracy on plain samples", lambda record, claim: record.accuracy_over("plain")
    ),
    "net-accuracy": Quantity(
        "test accuracy, averaged over views if the views are learned",
        lambda record, claim: record.net_accuracy,
    ),
    "own-accuracy": Quantity(
        "test accuracy over {copies} augmented views",
        lambda record, claim: record.accuracy_over("own", claim.copies or 1),
    ),
    "time": Quantity("time of {copies} augmented views, in passes of the trunk", time),
    "invariance": Quantity("invariance with C = {copies}", invariance),
    "authors-invariance": Quantity(
        "invariance with C = {copies}, as the authors' code defines it", authors_invariance
    ),
}
