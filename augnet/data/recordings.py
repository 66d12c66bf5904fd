"""Read recordings, EDF or FIF: windows of signals, labeled by annotations."""

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch

from augnet.data.collection import Collection, draw_rows, encode
from augnet.data.folders import walk
from augnet.data.input_spec import InputSpec
from augnet.data.options import ReadOptions
from augnet.data.read_log import DataError, ReadLog
from augnet.text import one_line, printable

SUFFIXES = (".edf", ".bdf", ".fif", ".fif.gz")
MAX_LENGTH = 2**31 - 1
"""Samples of a window, at most."""
MAX_TIME = 1e9
"""Seconds of an onset: thirty years."""
MAX_WINDOW, EVENT_WINDOW = 30.0, 1.0
"""Seconds of a window: at most, and for annotations without a duration."""
BAD = re.compile(r"(bad|edge)([ _].*)?", re.IGNORECASE | re.DOTALL)
"""The text of annotations that mark data that should not be used."""

Mark: TypeAlias = tuple[float, float, str]
"""Onset and duration in seconds, and the text of an annotation."""


class Opened(NamedTuple):
    """A recording, its annotations that are labels, and those that mark bad data."""

    file: Path
    raw: Any
    marks: Sequence[Mark]
    bad: Sequence[Mark]


def recordings(
    path: Path,
    options: ReadOptions,
    spec: InputSpec | None = None,
    labeled: bool = True,
    seed: int = 0,
) -> Collection:
    """Cut a recording, or all those in a folder, into windows.

    An annotation has as many windows as fit into it; one without a duration has one, from its
    onset. If there are no annotations, but one sub-folder per class, folders are the labels. With
    `labeled=False`, windows follow each other from the beginning to the end.
    """
    if spec is not None:
        _check(spec, path)
    log = ReadLog()
    files = [path] if path.is_file() else _files(path, options, log)
    opened = _without_parts([each for file in files if (each := _open(file, log))], log)
    if labeled:
        for each in opened:
            for _, _, text in each.bad:
                log.skip("annotations of bad data", f"{text} in {each.file.name}")
        if not any(each.marks for each in opened):
            opened = _by_folder(path, opened, log)
    parts: list[np.ndarray[Any, Any]] = []
    labels: list[str] = []
    names: list[str] = []
    groups: list[int] = []
    doubted: dict[str, None] = {}
    for each in opened:
        file = each.file
        if labeled and not each.marks:
            log.skip("recordings without annotations", file.name)
            continue
        if spec is None:
            spec = _choose_spec(each.raw, each.marks, options, file)
        bad_channels = [name for name in spec.channels if name in each.raw.info["bads"]]
        cut = _cut(each, labeled, spec, log)
        if cut is None:
            continue
        doubted |= dict.fromkeys(bad_channels)
        onsets, texts, data = cut
        parts.append(data)
        labels += texts
        names += [printable(f"{file.name} at {onset:g} s") for onset in onsets]
        groups += [len(parts) - 1] * len(data)
    if spec is None or not names:
        hint = ". Labels are annotations, or one sub-folder per class" if labeled else ""
        raise DataError(f"no windows in {path}: {'; '.join(log) or 'no recordings'}{hint}")
    if doubted:
        log.note(
            f"channels that some recordings mark as bad are used: {', '.join(doubted)} "
            "(learn --channels chooses others)"
        )
    y, classes = encode(labels, "classification") if labeled else (None, ())
    x = torch.from_numpy(np.concatenate(parts))
    windows = Collection(x, y, classes, tuple(names), spec, log, torch.tensor(groups))
    rows = draw_rows(y, len(x), options.max_samples, seed)
    if len(rows) < len(x):
        log.note(f"{len(rows)} of {len(x)} windows were drawn (--max-samples)")
        windows = windows[rows]
    return windows.finite()


def _check(spec: InputSpec, path: Path) -> None:
    """Refuse recordings for a model that was learned from something else."""
    if spec.kind != "signals":
        raise DataError(
            f"{path} is read as recordings; the model takes {spec.kind} of shape {spec.shape}"
        )
    if spec.sfreq is None or spec.window is None:
        raise DataError(
            f"{path} is read as recordings; the model was learned from arrays: save windows of "
            f"shape {spec.shape} as x in a file .npz, in the unit and at the rate of these arrays"
        )


def _files(path: Path, options: ReadOptions, log: ReadLog) -> list[Path]:
    return [file for file in walk(path, log, options.follow_links) if is_recording(file)]


def is_recording(path: Path) -> bool:
    """Return whether a file has the name of a recording."""
    return path.name.lower().endswith(SUFFIXES)


def _open(path: Path, log: ReadLog) -> Opened | None:
    try:
        import mne
    except ImportError:
        raise DataError(f"reading {path} needs MNE: pip install 'augnet[eeg]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about file names and missing headers
            raw = mne.io.read_raw(path, preload=False, verbose="error")
    except Exception as error:  # MNE raises all kinds of errors for damaged files
        log.skip("recordings that cannot be read", f"{path.name}: {one_line(error)}")
        return None
    marks: list[Mark] = []
    bad: list[Mark] = []
    for mark in _marks(raw):
        (bad if BAD.fullmatch(mark[2]) else marks).append(mark)
    return Opened(path, raw, marks, bad)


def _without_parts(opened: Sequence[Opened], log: ReadLog) -> list[Opened]:
    """Leave out files that MNE reads as a part of another one: FIF files are split at 2 GB."""
    parts = {Path(name).resolve() for each in opened for name in each.raw.filenames[1:]}
    found = []
    for each in opened:
        if each.file.resolve() in parts:
            log.skip("parts of another recording, which are read with it", each.file.name)
        else:
            found.append(each)
    return found


def _marks(raw: Any) -> list[Mark]:
    """Return onset, duration and text of annotations; onsets count from the first sample."""
    first = raw.first_samp / raw.info["sfreq"]  # MNE counts from the start of the measurement
    return [
        (float(each["onset"]) - first, float(each["duration"]), str(each["description"]))
        for each in raw.annotations
    ]


def _by_folder(path: Path, opened: Sequence[Opened], log: ReadLog) -> list[Opened]:
    """Label whole recordings by the first folder below `path`, if there are two or more."""
    if path.is_file() or any(each.file.parent == path for each in opened):
        return list(opened)
    names = [each.file.relative_to(path).parts[0] for each in opened]
    if len(set(names)) < 2:
        return list(opened)
    log.note("recordings have no annotations: they are labeled by their folders")
    return [
        each._replace(marks=[(0.0, each.raw.n_times / each.raw.info["sfreq"], name)])
        for each, name in zip(opened, names, strict=True)
    ]


def _choose_spec(raw: Any, marks: Sequence[Mark], options: ReadOptions, file: Path) -> InputSpec:
    """Choose channels, rate and window from the first recording."""
    import mne

    channels, window = options.channels, options.window
    # Channels that this recording marks as bad may be good in all others.
    picks = mne.pick_types(raw.info, eeg=True, meg=True, seeg=True, exclude=())
    known = [raw.ch_names[i] for i in picks]
    missing = [name for name in channels if name not in raw.ch_names]
    if missing or not (channels or known):
        raise DataError(
            f"{file} has the channels {', '.join(raw.ch_names)}; expected "
            f"{', '.join(missing) or 'EEG or MEG channels: choose others with --channels'}"
        )
    if window is None:
        durations = [duration for _, duration, _ in marks if duration > 0]
        window = (
            float(np.clip(np.median(durations), 0.1, MAX_WINDOW)) if durations else EVENT_WINDOW
        )
    sfreq = float(raw.info["sfreq"])
    if not 1 <= window * sfreq <= MAX_LENGTH:
        raise DataError(
            f"a window of {window:g} s has {window * sfreq:g} samples at the {sfreq:g} Hz of "
            f"{file.name}; expected 1 to {MAX_LENGTH}: choose another --window"
        )
    picked = channels or tuple(known)
    shape = (len(picked), round(window * sfreq))
    return InputSpec(kind="signals", shape=shape, sfreq=sfreq, channels=picked, window=window)


def _cut(
    opened: Opened, labeled: bool, spec: InputSpec, log: ReadLog
) -> tuple[list[float], list[str], np.ndarray[Any, Any]] | None:
    """Return the onsets, labels and windows (N, C, T) of one recording."""
    file, raw, marks, bad = opened
    assert spec.sfreq is not None
    assert spec.window is not None
    if abs(spec.window * spec.sfreq - spec.shape[1]) > 1:
        raise DataError(
            f"{spec.shape[1]} samples at {spec.sfreq:g} Hz are no window of {spec.window:g} s: is "
            "the model damaged?"
        )
    missing = [name for name in spec.channels if name not in raw.ch_names]
    if missing:
        log.skip("recordings that lack channels", f"{file.name}: {', '.join(missing)}")
        return None
    try:
        raw = raw.pick(list(spec.channels)).load_data(verbose="error")
        if abs(raw.info["sfreq"] - spec.sfreq) > 1e-6:
            log.note(f"some recordings were resampled to {spec.sfreq:g} Hz")
            raw = raw.resample(spec.sfreq, verbose="error")
        data = raw.get_data(picks=list(spec.channels)).astype(np.float32)
    except Exception as error:
        log.skip("recordings that cannot be read", f"{file.name}: {one_line(error)}")
        return None
    length = spec.shape[1]
    if not labeled:
        marks = [(0.0, data.shape[1] / spec.sfreq, "")]
    onsets, labels = [], []
    most = data.shape[1] / spec.sfreq / spec.window + 1  # more do not fit into the recording
    for onset, duration, text in marks:
        if not (abs(onset) < MAX_TIME and duration >= 0):
            log.skip("annotations without a time", f"{text!r} in {file.name}")
            continue
        count = 1 if duration == 0 else int(min(duration / spec.window, most) + 1e-6)
        log.skip("annotations shorter than a window", f"{text!r} in {file.name}", int(not count))
        onsets += [onset + number * spec.window for number in range(count)]
        labels += [text] * count
    starts = np.round(np.asarray(onsets) * spec.sfreq).astype(int)
    complete = (starts >= 0) & (starts + length <= data.shape[1])
    log.skip("windows that reach beyond their recording", file.name, int((~complete).sum()))
    good = complete & ~_overlap(starts, length, bad, spec.sfreq)
    log.skip("windows that overlap bad data", file.name, int((complete & ~good).sum()))
    if not good.any():
        return None
    windows = data[:, starts[good, None] + np.arange(length)].swapaxes(0, 1)
    kept = np.flatnonzero(good)
    return [onsets[i] for i in kept], [labels[i] for i in kept], np.ascontiguousarray(windows)


def _overlap(
    starts: np.ndarray[Any, Any], length: int, marks: Sequence[Mark], sfreq: float
) -> np.ndarray[Any, Any]:
    """Return which windows overlap an annotation, or have one without a duration inside."""
    found = np.zeros(len(starts), dtype=bool)
    for onset, duration, _ in marks:
        begin, end = np.round(onset * sfreq), np.round((onset + duration) * sfreq)
        found |= (starts < end) & (starts + length > begin)
    return found
