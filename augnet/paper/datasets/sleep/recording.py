"""Read EDF files and their hypnograms through MNE, as standardized windows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from augnet.paper.datasets.sleep.errors import BadRecordingError
from augnet.paper.datasets.sleep.header import read_header
from augnet.paper.datasets.sleep.hypnogram import read_hypnogram
from augnet.paper.datasets.sleep.synthetic import CHANNELS, Night

Standard = Literal["window", "night", "none"]


@dataclass(frozen=True)
class Preprocessing:
    """Settings that decide which windows a recording gives.

    `reference` is subtracted from all channels, unless they are recorded against it already.
    `band` is in Hz; None means no limit. Wake beyond `trim` minutes around the night is dropped.
    """

    channels: tuple[str, ...] = CHANNELS
    reference: str | None = "A2"
    sfreq: float = 100.0
    band: tuple[float | None, float | None] = (0.3, 30.0)
    window: float = 30.0
    trim: float = 30.0
    standard: Standard = "window"

    def __post_init__(self) -> None:
        object.__setattr__(self, "channels", tuple(self.channels))
        object.__setattr__(self, "band", tuple(self.band))


def read_night(recording: Path, hypnogram: Path, how: Preprocessing) -> Night:
    """Read the scored windows of a night."""
    scored = read_hypnogram(hypnogram, recording, how.window, how.trim)
    data = read_signals(recording, how)
    length = round(how.window * how.sfreq)
    first = np.round(scored.onsets * how.sfreq).astype(int)
    whole = first + length <= data.shape[1]
    windows = data[:, first[whole, None] + np.arange(length)].swapaxes(0, 1)
    return Night(standardize(windows, how.standard), scored.stages[whole])


def read_signals(recording: Path, how: Preprocessing) -> NDArray[np.float32]:
    """Read, reference, filter and resample the channels: (C, T) in µV."""
    import mne

    header = read_header(recording)
    labels = [find_channel(recording, header.labels, name) for name in how.channels]
    against = how.reference
    if against and all(_parts(label)[1].upper() == against.upper() for label in labels):
        against = None
    if against:
        labels.append(find_channel(recording, header.labels, against))
    try:
        raw = mne.io.read_raw_edf(recording, include=labels, preload=True, verbose="error")
    except (ValueError, RuntimeError, OSError) as error:
        raise BadRecordingError(recording, f"cannot be read by MNE ({error})") from error
    raw.filter(*how.band, picks="all", verbose="error")
    if raw.info["sfreq"] != how.sfreq:
        raw.resample(how.sfreq, verbose="error")
    data = 1e6 * raw.get_data(picks=labels)
    data = data[:-1] - data[-1:] if against else data
    for name, signal in zip(how.channels, data, strict=True):
        if not np.isfinite(signal).all() or signal.std() < 1e-3:
            raise BadRecordingError(recording, f"channel {name} is flat or not finite")
    return data.astype(np.float32)


def find_channel(recording: Path, labels: tuple[str, ...], name: str) -> str:
    """Find the label of a channel: C3 may be called `EEG C3-CLE`, `C3-REF` or `c3`."""
    whole = [label for label in labels if _plain(label) == name.upper()]
    part = [label for label in labels if _parts(label)[0].upper() == name.upper()]
    found = whole or part
    if not found:
        raise BadRecordingError(recording, f"has no channel {name}. There are: {', '.join(labels)}")
    if len(found) > 1:
        raise BadRecordingError(recording, f"has several channels {name}: {', '.join(found)}")
    return found[0]


def standardize(windows: NDArray[np.float32], standard: Standard) -> NDArray[np.float32]:
    """Scale each channel to mean 0 and deviation 1, in each window or in the whole night."""
    if standard == "none":
        return np.ascontiguousarray(windows)
    axes = (2,) if standard == "window" else (0, 2)
    centered = windows - windows.mean(axes, keepdims=True)
    return centered / np.maximum(centered.std(axes, keepdims=True), 1e-6)


def _plain(label: str) -> str:
    return label.upper().removeprefix("EEG ").strip()


def _parts(label: str) -> tuple[str, str]:
    """Split a label into the electrode and its reference."""
    electrode, _, against = _plain(label).partition("-")
    return electrode, against
