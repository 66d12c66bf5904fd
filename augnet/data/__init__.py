"""Data of your own: whatever it is kept in, it becomes samples, labels and an account of both.

    folder, table, arrays, recordings ──► Collection ──► split ──► learned, tested

    account      what was skipped and why, what was changed
    reading      how samples were read, so that others can be read alike
    collection   what every reader gives
    folders      all files below a folder, each folder once
    images       a folder of images with one sub-folder per class
    tables       CSV or Parquet with paths and labels
    arrays       .npz, .npy, safetensors
    recordings   EDF and FIF, through MNE
    split        what is learned from, and what is only predicted

Nothing that is read is executed or unpickled.
"""

from pathlib import Path
from typing import Any

from augnet.data.account import Account, DataError
from augnet.data.arrays import arrays
from augnet.data.collection import Collection
from augnet.data.folders import walk
from augnet.data.reading import Reading
from augnet.data.recordings import is_recording, recordings
from augnet.data.split import SHARED, Parts, split

__all__ = ["SHARED", "Account", "Collection", "DataError", "Parts", "Reading", "read", "split"]

ARRAYS = (".npz", ".npy", ".safetensors")
TABLES = (".csv", ".parquet", ".pq")


def read(
    path: str | Path, reading: Reading | None = None, labeled: bool = True, **how: Any
) -> Collection:
    """Read whatever is there; with a `reading`, as those were that it describes.

    `how` are the options of the readers: most, seed, task, size, column, sfreq, channels, window.
    Those that do not concern this kind of data are left aside if they are None or empty, and
    refused otherwise.
    """
    path = Path(path)
    if not path.exists():
        raise DataError(f"{path} does not exist")
    reader, known = _reader(path)
    options = {key: value for key, value in how.items() if value not in (None, ())}
    for key in options:
        if key not in known:
            raise DataError(f"--{key} is not for {path}, which is {reader.__name__}")
    if reading is not None and labeled is False:
        options = {key: value for key, value in options.items() if key in ("most", "seed")}
    found: Collection = reader(path, reading=reading, labeled=labeled, **options)
    return found


def _reader(path: Path) -> tuple[Any, set[str]]:
    """Choose by what is there: the reader, and what it can be told."""
    common = {"most", "seed"}
    suffix = path.suffix.lower()
    holds = [path] if path.is_file() else walk(path, Account())
    if any(is_recording(file) for file in holds):
        return recordings, common | {"channels", "window"}
    if path.is_file() and suffix in ARRAYS:
        return arrays, common | {"task", "sfreq", "channels"}
    if path.is_file() and suffix not in TABLES:
        raise DataError(
            f"{path} is none of what is read: a folder of images or recordings, "
            f"{', '.join(TABLES)}, {', '.join(ARRAYS)}, .edf, .fif"
        )
    try:
        from augnet.data.images import folder
        from augnet.data.tables import table
    except ImportError:
        raise DataError(f"reading {path} takes Pillow: pip install 'augnet[own]'") from None
    if path.is_file():
        return table, common | {"task", "size", "column"}
    return folder, common | {"size", "task"}
