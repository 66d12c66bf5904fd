"""Find the recordings of each source, and read the nights of every subject."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from augnet.paper.datasets.sleep.cache import cached_night
from augnet.paper.datasets.sleep.errors import BadRecordingError, skip
from augnet.paper.datasets.sleep.recording import Preprocessing, standardize
from augnet.paper.datasets.sleep.synthetic import Night

Bad: TypeAlias = Literal["refuse", "skip"]
Nights: TypeAlias = dict[str, Callable[[], Night]]  # by subject, read when called
DREAM = "dream-zhang-wamsley-30s.npz"
UCDDB = "ucddb-wake-deep-30s.npz"
MISSING = (39, 68, 69, 78, 79)  # subjects missing in the age study of Sleep Physionet


class Files(NamedTuple):
    """The subject, the recording and the hypnogram of a night."""

    subject: str
    recording: Path
    hypnogram: Path


def mass(root: Path, bad: Bad = "refuse") -> list[Files]:
    """Find the nights of MASS: `01-03-0001 PSG.edf` beside `01-03-0001 Base.edf`."""
    pairs = [
        (file.name.removesuffix(" PSG.edf"), file, file.with_name(file.name.replace("PSG", "Base")))
        for file in sorted(root.rglob("* PSG.edf"))
    ]
    return _both(pairs, root, "01-03-0001 PSG.edf and 01-03-0001 Base.edf", bad)


def physionet(root: Path, bad: Bad = "refuse") -> list[Files]:
    """Find the nights of Sleep-EDF: `SC4001E0-PSG.edf` beside `SC4001EC-Hypnogram.edf`."""
    pairs = []
    for file in sorted(root.rglob("*-PSG.edf")):
        hypnograms = sorted(file.parent.glob(f"{file.name[:7]}*-Hypnogram.edf"))
        absent = file.with_name(f"{file.name[:7]}?-Hypnogram.edf")
        pairs.append((file.name[:5], file, hypnograms[0] if hypnograms else absent))
    return _both(pairs, root, "SC4001E0-PSG.edf and SC4001EC-Hypnogram.edf", bad)


def fetched(subjects: int, cache: Path) -> list[Files]:
    """Download the first night of some subjects of Sleep Physionet through MNE, once."""
    from mne.datasets.sleep_physionet.age import fetch_data

    chosen = [number for number in range(83) if number not in MISSING][:subjects]
    try:
        found = fetch_data(chosen, recording=[1], path=str(cache), on_missing="warn")
    except OSError as error:
        raise ValueError(
            f"Sleep Physionet cannot be downloaded ({error}): download it on another machine and "
            "name the directory by --set data.root=DIR"
        ) from error
    return [Files(Path(psg).name[:5], Path(psg), Path(hypnogram)) for psg, hypnogram in found]


def _both(
    pairs: Sequence[tuple[str, Path, Path]], root: Path, expected: str, bad: Bad
) -> list[Files]:
    if not pairs:
        raise ValueError(f"no recordings below {root}, such as {expected}: is data.root right?")
    found = []
    for subject, recording, hypnogram in pairs:
        if hypnogram.exists():
            found.append(Files(subject, recording, hypnogram))
            continue
        error = BadRecordingError(recording, f"has no hypnogram {hypnogram.name} beside it")
        if bad == "refuse":
            raise error
        skip(error)
    return found


def from_files(
    files: Iterable[Files], how: Preprocessing, cache: Path, bad: Bad = "refuse"
) -> Nights:
    """Return the nights of files by subject, all nights of a subject joined.

    All files are checked now. With `bad="refuse"` a bad recording raises BadRecordingError; with
    "skip" it is skipped with a warning.
    """
    nights: dict[str, list[Night]] = {}
    for subject, recording, hypnogram in files:
        try:
            night = cached_night(recording, hypnogram, how, cache)
        except BadRecordingError as error:
            if bad == "refuse":
                raise
            skip(error)
        else:
            nights.setdefault(subject, []).append(night)
    return {subject: _joined(found) for subject, found in nights.items()}


def _joined(nights: list[Night]) -> Callable[[], Night]:
    def read() -> Night:
        return Night(*map(np.concatenate, zip(*nights, strict=True)))

    return read


def dream(root: Path, how: Preprocessing, merged: bool = True) -> Nights:
    """Read the windows of Zhang and Wamsley (2019), recorded before reports of dreams.

    They are filtered and at 100 Hz already. There are only five windows of N3, so N3 counts as N2
    (`merged`), and the classes are W, N1, N2, REM.
    """
    file = root if root.suffix == ".npz" else root / DREAM
    parts = _arrays(file, {"x", "stage", "subject", "channels", "uV_per_step"})
    names = [str(name) for name in parts["channels"]]
    for name in (*how.channels, *([how.reference] if how.reference else [])):
        if name not in names:
            raise BadRecordingError(file, f"has no channel {name}. There are: {', '.join(names)}")
    microvolts = parts["x"].astype(np.float32) * np.float32(parts["uV_per_step"])
    x = microvolts[:, [names.index(name) for name in how.channels]]
    if how.reference:
        x = x - microvolts[:, [names.index(how.reference)]]
    known = np.array([0, 1, 2, 2, -1, 3] if merged else [0, 1, 2, 3, -1, 4])
    return _by_subject(x, known[parts["stage"].astype(int)], parts["subject"].astype(str), how)


def ucddb(root: Path, how: Preprocessing) -> Nights:
    """Read the windows of wake and deep sleep of UCDDB: one channel, classes W, S3, S4.

    The other stages were scored in two subjects only and are left out, and so are windows of which
    more than half is flat. Windows are filtered and resampled one by one.
    """
    import mne

    if len(how.channels) != 1 or how.reference:
        raise ValueError(
            "UCDDB has one channel, which is referenced already; got channels "
            f"{', '.join(how.channels)} and reference {how.reference!r}: --protocol ucddb sets both"
        )
    file = root if root.suffix == ".npz" else root / UCDDB
    parts = _arrays(file, {"x", "stage", "subject", "flat", "sfreq"})
    known = np.array([0, -1, -1, -1, 1, 2])[parts["stage"].astype(int)]
    rows = (known >= 0) & (parts["flat"] <= 0.5)
    x = parts["x"][rows].astype(np.float64)
    x = x - x.mean(1, keepdims=True)
    rate = float(parts["sfreq"])
    x = mne.filter.resample(x, up=how.sfreq, down=rate, npad="auto", verbose="error")
    x = mne.filter.filter_data(x, how.sfreq, *how.band, verbose="error")
    windows = x[:, None].astype(np.float32)
    return _by_subject(windows, known[rows], parts["subject"][rows].astype(str), how)


def _arrays(file: Path, needed: set[str]) -> dict[str, Any]:
    """Read the arrays of a file; refuse it if some are missing."""
    try:
        with np.load(file, allow_pickle=False) as found:
            parts: dict[str, Any] = {key: found[key] for key in found.files}
    except (OSError, ValueError) as error:
        raise BadRecordingError(file, f"is no readable .npz file ({error})") from None
    if missing := needed - set(parts):
        raise BadRecordingError(file, f"lacks the arrays {', '.join(sorted(missing))}")
    return parts


def _by_subject(
    x: NDArray[np.float32], y: NDArray[Any], subjects: NDArray[Any], how: Preprocessing
) -> Nights:
    """Return the windows of each subject."""

    def read(subject: str) -> Callable[[], Night]:
        mine = subjects == subject
        return lambda: Night(standardize(x[mine], how.standard), y[mine])

    return {str(subject): read(str(subject)) for subject in np.unique(subjects)}


def cache_folder(named: str | None) -> Path:
    """Return the folder of cached windows: as named, in AUGNET_CACHE, or in the user's cache."""
    if named or (named := os.environ.get("AUGNET_CACHE")):
        return Path(named)
    import pooch

    return Path(pooch.os_cache("augnet"))
