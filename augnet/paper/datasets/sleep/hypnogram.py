"""Read hypnograms: turn annotations into the stages of windows."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from augnet.paper.datasets.sleep.errors import BadRecordingError
from augnet.paper.datasets.sleep.header import read_header
from augnet.paper.datasets.sleep.synthetic import N1, N2, N3, REM, W
from augnet.validation import nearest

# AASM stages by annotation; stages 3 and 4 of the older rules are N3.
KNOWN = {
    "Sleep stage W": W, "Sleep stage 1": N1, "Sleep stage 2": N2, "Sleep stage 3": N3,
    "Sleep stage 4": N3, "Sleep stage R": REM,
    "Sleep stage N1": N1, "Sleep stage N2": N2, "Sleep stage N3": N3, "Sleep stage N4": N3,
}  # fmt: skip
DROPPED = ("Sleep stage ?", "Movement time", "Sleep stage M", "Lights off", "Lights on",
           "Lights off@@EEG F4-A1")  # fmt: skip
TOLERANCE = 1.0  # seconds by which times may differ


class Scored(NamedTuple):
    """Onset of each scored window, in seconds from the start of the recording, and its stage."""

    onsets: NDArray[np.float64]
    stages: NDArray[np.int64]


def read_hypnogram(file: Path, recording: Path, window: float, trim: float) -> Scored:
    """Read the onsets and stages of the scored windows of a recording.

    Movement and unscored windows are dropped, and so is wake more than `trim` minutes before the
    first or after the last window of sleep. Unknown annotations, and stages outside the recording,
    are refused.
    """
    import mne

    mine, its = read_header(file), read_header(recording)
    late = (mine.start - its.start).total_seconds()
    found = mne.read_annotations(file)
    labels = np.array([str(text).strip() for text in found.description], dtype=object)
    if unknown := sorted(set(labels) - set(KNOWN) - set(DROPPED)):
        hint = nearest(unknown[0], KNOWN)
        raise BadRecordingError(file, f"has unknown annotations: {', '.join(unknown)}{hint}")
    scored = np.isin(labels, list(KNOWN))
    if not scored.any():
        raise BadRecordingError(file, "has no sleep stages: is it the hypnogram?")
    order = np.argsort(found.onset[scored], kind="stable")
    onset = found.onset[scored][order] + late
    duration = found.duration[scored][order]
    stage = np.array([KNOWN[text] for text in labels[scored][order]])
    _check_times(file, recording, onset, duration, its.seconds, late)
    pages = np.floor((duration + TOLERANCE) / window).astype(int)
    if not pages.any():
        raise BadRecordingError(
            file, f"has stages of at most {duration.max():g} s; windows are of {window:g} s"
        )
    within = np.arange(pages.sum()) - np.repeat(np.cumsum(pages) - pages, pages)
    onsets, stages = np.repeat(onset, pages) + window * within, np.repeat(stage, pages)
    whole = (onsets > -1e-6) & (onsets + window <= its.seconds + 1e-6)
    return _trim_wake(Scored(onsets[whole], stages[whole]), 60 * trim)


def _check_times(
    file: Path,
    recording: Path,
    onset: NDArray[np.float64],
    duration: NDArray[np.float64],
    seconds: float,
    late: float,
) -> None:
    """Raise BadRecordingError if stages lie outside the recording or overlap."""
    begin, end = onset.min(), (onset + duration).max()
    if begin < -TOLERANCE or end > seconds + 30 + TOLERANCE:
        shifted = f", with its start {late:+.0f} s from the recording's" if late else ""
        raise BadRecordingError(
            file,
            f"does not fit {recording.name}: stages from {begin:.0f} to {end:.0f} s{shifted}, of "
            f"a recording of {seconds:.0f} s: is it another night's?",
        )
    if (onset[1:] < (onset + duration)[:-1] - TOLERANCE).any():
        raise BadRecordingError(file, "has stages that overlap: two scorers in one file?")


def _trim_wake(scored: Scored, margin: float) -> Scored:
    asleep = scored.onsets[scored.stages != W]
    if not len(asleep):
        return scored
    kept = (scored.onsets >= asleep.min() - margin) & (scored.onsets <= asleep.max() + margin)
    return Scored(scored.onsets[kept], scored.stages[kept])
