"""Sleep staging (section 5.2): windows of 30 s of EEG, and their stages W, N1, N2, N3, REM.

Synthetic nights need no files and are the default. Recordings are MASS session 3 (the paper's, on
request), Sleep Physionet (open), and the windows of Zhang and Wamsley (2019) and of UCDDB.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from augnet import validation
from augnet.paper.datasets.sleep import sources, synthetic
from augnet.paper.datasets.sleep.errors import BadRecordingError, SkippedRecordingWarning
from augnet.paper.datasets.sleep.folds import FOLDS, NIGHTS, fold
from augnet.paper.datasets.sleep.recording import Preprocessing, Standard, standardize
from augnet.paper.datasets.sleep.sources import Bad, Nights
from augnet.paper.datasets.sleep.synthetic import CHANNELS, Night
from augnet.paper.datasets.splits import Samples, Splits

__all__ = ["BadRecordingError", "Preprocessing", "SkippedRecordingWarning", "describe", "load"]

Source = Literal["synthetic", "mass", "physionet", "dream", "ucddb"]
SOURCES: dict[str, str] = {
    "synthetic": "synthetic nights, made by augnet: no real EEG",
    "mass": "real EEG: MASS session 3 (O'Reilly et al. 2014)",
    "physionet": "real EEG: Sleep Physionet (Kemp et al. 2000)",
    "dream": "real EEG: 308 windows of 28 subjects (Zhang and Wamsley 2019), N3 counted as N2",
    "ucddb": "real EEG: wake, S3 and S4 of 25 subjects (UCDDB, one channel)",
}


def describe(source: Source = "synthetic", **_: object) -> str:
    """Describe the data in a few words."""
    return SOURCES.get(source, source)


def load(
    seed: int = 0,
    *,
    source: Source = "synthetic",
    root: str | None = None,
    nights: tuple[int, int, int] = NIGHTS,
    windows: int | tuple[int, int, int] | None = None,
    sizes: tuple[int, int, int] | None = None,
    channels: Sequence[str] = CHANNELS,
    reference: str | None = "A2",
    band: tuple[float | None, float | None] = (0.3, 30.0),
    standard: Standard = "window",
    bad: Bad = "refuse",
    cache: str | None = None,
) -> Splits:
    """Return standardized windows (N, C, 3000) at 100 Hz of the fold with number `seed`.

    Train, valid and test share no subject. `windows` limits the windows of each night, which are
    evenly spaced: one number, or one each for train, valid and test; `sizes` limits those of each
    part. Recordings are read from `root`; Sleep Physionet is downloaded if there is no root. Bad
    recordings are refused, or skipped with a warning (`bad="skip"`).
    """
    if sizes is not None:
        validation.sizes(sizes)
    if windows is not None and not isinstance(windows, int):
        validation.sizes(windows)
    per_night = windows if isinstance(windows, Sequence) else (windows,) * 3
    if source not in SOURCES:
        raise ValueError(f"source is one of {', '.join(SOURCES)}; got {source!r}")
    how = Preprocessing(tuple(channels), reference or None, band=band, standard=standard)
    if source == "synthetic":
        if tuple(channels) != CHANNELS:
            raise ValueError(f"synthetic nights have the channels {', '.join(CHANNELS)}")
        # As many as five folds with different test subjects need.
        subjects = max(sum(nights), FOLDS * nights[2])
        found = [_synthetic(subjects, count, standard) for count in per_night]
    else:
        found = [_real(source, root, how, sum(nights), bad, cache)] * 3
    parts = fold(list(found[0]), seed, nights)
    limits = zip(found, parts, per_night, sizes or (None, None, None), strict=True)
    return Splits(
        *(
            _gather([read[subject]() for subject in part], count, limit, seed)
            for read, part, count, limit in limits
        )
    )


def _synthetic(subjects: int, windows: int | None, standard: Standard) -> Nights:
    def read(subject: int) -> Night:
        night = synthetic.night(np.random.default_rng([2022, subject]), windows=windows)
        return Night(standardize(night.x, standard), night.y)

    return {f"{n:04d}": (lambda n=n: read(n)) for n in range(subjects)}  # type: ignore[misc]


def _real(
    source: str, root: str | None, how: Preprocessing, subjects: int, bad: Bad, cache: str | None
) -> Nights:
    folder = sources.cache_folder(cache)
    if root is None and source != "physionet":
        raise ValueError(f"{source} needs its directory: --set data.root=DIR")
    if root is not None and not Path(root).exists():
        raise ValueError(f"data.root={root} does not exist: name the directory of the recordings")
    if source == "dream":
        return sources.dream(Path(root or ""), how)
    if source == "ucddb":
        return sources.ucddb(Path(root or ""), how)
    if source == "mass":
        files = sources.mass(Path(root or ""), bad)
    elif root is not None:
        files = sources.physionet(Path(root), bad)
    else:
        files = sources.fetched(subjects, folder)
    return sources.from_files(files, how, folder, bad)


def _gather(nights: list[Night], windows: int | None, limit: int | None, seed: int) -> Samples:
    """Join the windows of nights to one part; draw `limit` of them by the seed."""

    def spaced(night: Night) -> Night:
        if windows is None or len(night.y) <= windows:
            return night
        chosen = np.linspace(0, len(night.y) - 1, windows).round().astype(int)
        return Night(night.x[chosen], night.y[chosen])

    x, y = (np.concatenate(each) for each in zip(*map(spaced, nights), strict=True))
    if limit is not None:
        chosen = np.sort(np.random.default_rng(seed).permutation(len(y))[:limit])
        x, y = x[chosen], y[chosen]
    return Samples(torch.from_numpy(np.ascontiguousarray(x)), torch.from_numpy(y).long())
