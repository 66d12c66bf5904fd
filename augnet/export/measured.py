"""The measured ranges of a model as an augmentation, whatever its own net uses of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from augnet.export.steps import MIN_MAGNITUDE
from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.learn.result import Invariance
from augnet.model import Header
from augnet.net import Augment
from augnet.transforms import Bernoulli

MAX_PROBABILITY = 0.5
"""The probability of a transform that is applied as a whole, at most: the default of the libraries.

With 1 each sample that draws it would be transformed, and none would stay as it is.
"""


@dataclass(frozen=True)
class MeasuredAugment:
    """An augmentation, and how it differs from that of the net."""

    augment: Augment
    notes: tuple[str, ...] = ()


def measured(header: Header, augment: Augment, draws: int | None = None) -> MeasuredAugment:
    """Return an augmentation of all transforms that preserve the label, within their ranges.

    A model has what made one small net better; other networks may gain from more. So transforms
    that the net leaves out are drawn too, and one is drawn per sample if the net draws none.
    `draws` is how many are drawn per sample. By default they are as many as in the net, but not
    more than there are transforms: the ranges of a transform that is drawn again add up.

    Layers that selected a transform each stay as they are. A model without invariances has its own
    `augment`.
    """
    rows = [record.build() for record in header.invariances]
    kept = [row for row in rows if row.kept and row.magnitude >= MIN_MAGNITUDE]
    selective = any(row.weight is not None for row in rows)
    if draws is not None and (selective or not rows):
        raise ValueError(
            "this model has layers of its own, which are exported as they are: leave out draws"
        )
    if not rows:
        return MeasuredAugment(augment)
    if selective:
        kept = [row for row in kept if (row.weight or 0.0) >= 0.5]
        return MeasuredAugment(_module([[row] for row in kept]), tuple(_probability_notes(kept)))
    count = _draws(header, draws, len(kept))
    notes = [*_notes(header, kept, draws), *_probability_notes(kept)]
    return MeasuredAugment(_module([kept] * count), tuple(notes))


def _draws_of_net(header: Header) -> int:
    """Return how many transforms the net draws per sample; files of old versions do not say it."""
    gain = header.measurement.gain
    return len(header.layers) if gain is None else gain.draws


def _draws(header: Header, draws: int | None, most: int) -> int:
    """Return how many transforms are drawn per sample, of `most`."""
    if draws is None:
        return min(max(1, _draws_of_net(header)), most)
    if not most:
        raise ValueError(f"this model has no transforms to draw; got draws={draws}")
    if not 1 <= draws <= most:
        raise ValueError(f"draws is 1 to {most}, the number of transforms; got {draws}")
    return draws


def _notes(header: Header, kept: Sequence[Invariance], draws: int | None) -> list[str]:
    """Say what the net of the model does otherwise."""
    gain, count, found = header.measurement.gain, _draws_of_net(header), []
    if kept and not count:
        why = ": none made it better on held-out samples" if gain is not None else ""
        times = "one transform is" if draws in (None, 1) else f"{draws} transforms are"
        found.append(
            f"The net of this model has no augmentation{why}. Other networks may gain from these "
            f"ranges: {times} drawn per sample."
        )
    left_out = [row for row in header.left_out if row in kept]
    if left_out:
        found.append(
            f"The net of this model does not use {_names(left_out)}: training with "
            f"{'it' if len(left_out) == 1 else 'them'} did not improve predictions on held-out "
            f"samples. Here {'it is' if len(left_out) == 1 else 'they are'} drawn, because other "
            "networks may gain."
        )
    if draws is None and 0 < len(kept) < count:
        found.append(
            f"The net of this model draws {count} transforms per sample. Here it is {len(kept)}, "
            "as many as there are: the ranges of a transform that is drawn again add up."
        )
    return found


def _probability_notes(kept: Sequence[Invariance]) -> list[str]:
    """Name the transforms that get a lower probability than the measured one."""
    rows = [row for row in kept if _is_lowered(row)]
    if not rows:
        return []
    its, it = ("Its", "it") if len(rows) == 1 else ("Their", "them")
    return [
        f"{_names(rows)} can be applied to all samples. {its} probability is {MAX_PROBABILITY} "
        f"here, so that training also sees samples without {it}."
    ]


def _is_lowered(row: Invariance) -> bool:
    return _magnitude(row) < row.magnitude


def _magnitude(row: Invariance) -> float:
    if not isinstance(row.transform, Bernoulli):
        return row.magnitude
    return min(row.magnitude, MAX_PROBABILITY / row.transform.limit)


def _module(layers: Sequence[Sequence[Invariance]]) -> Augment:
    """Build layers that each draw one of some transforms per sample."""
    if not layers:
        return identity
    built = [
        AugmentationLayer(
            *(row.transform for row in rows),
            magnitude=[_magnitude(row) for row in rows],
            mixing="drawn",
        )
        for rows in layers
    ]
    return AugmentationModule(*built).eval()


def _names(rows: Sequence[Invariance]) -> str:
    *others, last = (row.transform.name for row in rows)
    return f"{', '.join(others)} and {last}" if others else last
