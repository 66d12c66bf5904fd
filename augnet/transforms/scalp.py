"""Positions of electrodes on the scalp, and the splines that interpolate between them."""

import math
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import TypeAlias

import torch
from torch import Tensor

Position: TypeAlias = tuple[float, float, float]
TERMS = 50


def cosines(first: Tensor, second: Tensor) -> Tensor:
    """Return the cosines between unit vectors (..., 3, C) and (3, C): (..., C, C)."""
    # Three products, not a matrix product, so that values do not depend on the batch size.
    x, y, z = (first[..., axis, :, None] * second[axis] for axis in range(3))
    return x + y + z


def splines(cosine: Tensor, stiffness: int = 4, terms: int = TERMS) -> Tensor:
    """Sum the Legendre series of spherical splines by Clenshaw's recurrence (Perrin et al. 1989).

    g(c) = Σ (2n + 1) / (n (n + 1))^stiffness P_n(c) / 4π, for n from 1 to `terms`.
    """
    after, beyond = torch.zeros_like(cosine), torch.zeros_like(cosine)
    for n in range(terms, 0, -1):
        coefficient = (2 * n + 1) / (n * (n + 1)) ** stiffness / (4 * math.pi)
        here = coefficient + (2 * n + 1) / (n + 1) * cosine * after - (n + 1) / (n + 2) * beyond
        after, beyond = here, after
    return cosine * after - beyond / 2


def opposite(name: str) -> str | None:
    """Return the 10-20 name on the other side of the head, or None if it is unknown."""
    if re.fullmatch(r"[A-Za-z]+[zZ]", name):
        return name
    numbered = re.fullmatch(r"([A-Za-z]+)([1-9]\d*)", name)
    if not numbered:
        return None
    area, number = numbered[1], int(numbered[2])
    return f"{area}{number + 1 if number % 2 else number - 1}"


def standard_positions(channels: Sequence[str], who: str) -> tuple[Position, ...]:
    """Look the channels up in MNE's standard montage, ignoring case."""
    try:
        import mne
    except ImportError as error:
        raise ImportError(
            f"{who} looks electrodes up in MNE: pip install 'augnet[eeg]', or give positions="
        ) from error
    # MNE 1.13 renamed its standard montage after the head that it was measured on.
    montages = mne.channels.get_builtin_montages()
    montage = "colin27_1020" if "colin27_1020" in montages else "standard_1020"
    known = mne.channels.make_standard_montage(montage).get_positions()["ch_pos"]
    spelling = {name.lower(): name for name in known}
    unknown = [name for name in channels if name.lower() not in spelling]
    if unknown:
        near = get_close_matches(unknown[0].lower(), spelling, n=1)
        hint = f" (did you mean {spelling[near[0]]!r}?)" if near else ""
        raise ValueError(
            f"{who} does not know where {', '.join(map(repr, unknown))} sits{hint}. Known: "
            f"{', '.join(known)}. For others, give positions=[(x, y, z), ...], one per channel"
        )
    return tuple(
        (float(x), float(y), float(z))
        for x, y, z in (known[spelling[name.lower()]] for name in channels)
    )
