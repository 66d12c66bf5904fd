"""Recordings with annotations, EDF or FIF: windows of signals, labeled by what was annotated."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch

from augnet.data.account import Account, DataError
from augnet.data.collection import MOST, Collection, encode, some
from augnet.data.folders import walk
from augnet.data.reading import Reading

SUFFIXES = (".edf", ".bdf", ".fif", ".fif.gz")
LONGEST, SHORTEST = 30.0, 1.0
"""Seconds of a window, if nobody says so: as long as most annotations, within these."""
IGNORED = ("BAD", "EDGE")
"""Annotations that begin like this say what not to use."""

Mark: TypeAlias = tuple[float, float, str]
"""Onset and duration in seconds, and what it says."""
Opened: TypeAlias = tuple[Path, Any, Sequence[Mark]]


def recordings(
    path: Path,
    reading: Reading | None = None,
    labeled: bool = True,
    most: int = MOST,
    seed: int = 0,
    channels: tuple[str, ...] = (),
    window: float | None = None,
) -> Collection:
    """Cut a recording, or all those in a folder, into windows.

    An annotation gives as many windows as fit into it; one without a duration gives the window that
    begins there. If no recording has any, but they lie in one sub-folder per class, those are the
    labels. Without labels, windows follow each other from the beginning to the end.
    """
    account = Account()
    files = [path] if path.is_file() else [f for f in walk(path, account) if is_recording(f)]
    raws = [(file, _open(file, account)) for file in files]
    opened: list[Opened] = [(file, raw, _marks(raw)) for file, raw in raws if raw is not None]
    if labeled and not any(marks for _, _, marks in opened):
        opened = _by_folder(path, opened, account)
    parts: list[np.ndarray[Any, Any]] = []
    labels: list[str] = []
    names: list[str] = []
    groups: list[int] = []
    for file, raw, marks in opened:
        if labeled and not marks:
            account.skip("recordings without annotations", file.name)
            continue
        if reading is None:
            reading = _decide(raw, marks, channels, window, file)
        cut = _cut(raw, marks if labeled else None, reading, file, account)
        if cut is None:
            continue
        onsets, mine, data = cut
        parts.append(data)
        labels += mine
        names += [f"{file.name} at {onset:g} s" for onset in onsets]
        groups += [len(parts) - 1] * len(data)
    if reading is None or not names:
        hint = ". Labels are annotations, or one sub-folder per class" if labeled else ""
        raise DataError(f"no windows in {path}: {'; '.join(account) or 'no recordings'}{hint}")
    y, classes = encode(labels, "classes") if labeled else (None, ())
    x = torch.from_numpy(np.concatenate(parts))
    whole = Collection(x, y, classes, tuple(names), reading, account, torch.tensor(groups))
    rows = some(y, len(x), most, seed)
    if len(rows) < len(x):
        account.note(f"{len(rows)} of {len(x)} windows were drawn (--most {most})")
        whole = whole[rows]
    return whole.finite()


def is_recording(path: Path) -> bool:
    """Whether a file is named like a recording."""
    return path.name.lower().endswith(SUFFIXES)


def _open(path: Path, account: Account) -> Any:
    try:
        import mne
    except ImportError:
        raise DataError(f"reading {path} takes MNE: pip install 'augnet[eeg]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of file names and missing headers, which do no harm
            return mne.io.read_raw(path, preload=False, verbose="error")
    except (OSError, ValueError, RuntimeError, KeyError, IndexError, TypeError) as error:
        account.skip("recordings that cannot be read", f"{path.name}: {error}")
        return None


def _marks(raw: Any) -> list[Mark]:
    """Give onset, duration and text of the annotations, from the first sample on."""
    first = raw.first_samp / raw.info["sfreq"] if raw.info["meas_date"] is not None else 0.0
    return [
        (float(each["onset"]) - first, float(each["duration"]), str(each["description"]))
        for each in raw.annotations
        if not str(each["description"]).upper().startswith(IGNORED)
    ]


def _by_folder(path: Path, opened: Sequence[Opened], account: Account) -> list[Opened]:
    """Label whole recordings by the first folder below `path`, if there are two or more."""
    if path.is_file() or any(file.parent == path for file, _, _ in opened):
        return list(opened)
    names = [file.relative_to(path).parts[0] for file, _, _ in opened]
    if len(set(names)) < 2:
        return list(opened)
    account.note("recordings have no annotations: they are labeled by their folders")
    return [
        (file, raw, [(0.0, raw.n_times / raw.info["sfreq"], name)])
        for (file, raw, _), name in zip(opened, names, strict=True)
    ]


def _decide(
    raw: Any,
    marks: Sequence[Mark],
    channels: tuple[str, ...],
    window: float | None,
    file: Path,
) -> Reading:
    """Let the first recording decide on channels, rate and window."""
    import mne

    known = [raw.ch_names[i] for i in mne.pick_types(raw.info, eeg=True, meg=True, seeg=True)]
    missing = [name for name in channels if name not in raw.ch_names]
    if missing or not (channels or known):
        raise DataError(
            f"{file} has the channels {', '.join(raw.ch_names)}; expected "
            f"{', '.join(missing) or 'some that are EEG or MEG: name them with --channels'}"
        )
    if window is None:
        lasting = [duration for _, duration, _ in marks if duration > 0]
        window = float(np.clip(np.median(lasting), 0.1, LONGEST)) if lasting else SHORTEST
    sfreq = float(raw.info["sfreq"])
    picked = channels or tuple(known)
    shape = (len(picked), max(1, round(window * sfreq)))
    return Reading(kind="signals", shape=shape, sfreq=sfreq, channels=picked, window=window)


def _cut(
    raw: Any,
    marks: Sequence[Mark] | None,
    reading: Reading,
    file: Path,
    account: Account,
) -> tuple[list[float], list[str], np.ndarray[Any, Any]] | None:
    """Give the onsets, labels and windows (N, C, T) of one recording."""
    assert reading.sfreq is not None
    assert reading.window is not None
    missing = [name for name in reading.channels if name not in raw.ch_names]
    if missing:
        account.skip("recordings that lack channels", f"{file.name}: {', '.join(missing)}")
        return None
    try:
        raw = raw.pick(list(reading.channels)).load_data(verbose="error")
        if abs(raw.info["sfreq"] - reading.sfreq) > 1e-6:
            account.note(f"some recordings were resampled to {reading.sfreq:g} Hz")
            raw = raw.resample(reading.sfreq, verbose="error")
        data = raw.get_data(picks=list(reading.channels)).astype(np.float32)
    except (OSError, ValueError, RuntimeError) as error:
        account.skip("recordings that cannot be read", f"{file.name}: {error}")
        return None
    length = reading.shape[1]
    if marks is None:
        marks = [(0.0, data.shape[1] / reading.sfreq, "")]
    onsets, labels = [], []
    for onset, duration, text in marks:
        count = 1 if duration == 0 else int(duration / reading.window + 1e-6)
        account.skip(
            "annotations shorter than a window", f"{text!r} in {file.name}", int(not count)
        )
        onsets += [onset + number * reading.window for number in range(count)]
        labels += [text] * count
    starts = np.round(np.asarray(onsets) * reading.sfreq).astype(int)
    whole = (starts >= 0) & (starts + length <= data.shape[1])
    account.skip("windows that reach beyond their recording", file.name, int((~whole).sum()))
    if not whole.any():
        return None
    windows = data[:, starts[whole, None] + np.arange(length)].swapaxes(0, 1)
    kept = np.flatnonzero(whole)
    return [onsets[i] for i in kept], [labels[i] for i in kept], np.ascontiguousarray(windows)
