"""Read a user's data: samples, labels, and a log of what was skipped.

    folder, table, arrays, recordings ──► Collection ──► split ──► train, test

    options      the options of reading
    read_log     what was skipped and why, what was changed
    input_spec   how samples are read and scaled
    scales       images on the scale that a model takes
    collection   what every reader returns
    folders      all files below a folder, each folder once
    images       a folder of images with one sub-folder per class
    tables       CSV or Parquet with paths and labels
    arrays       .npz, .npy, safetensors
    recordings   EDF and FIF, through MNE
    split        training and test samples
    examples     small data sets that come with augnet

Reading never executes or unpickles anything.
"""

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from augnet.data.arrays import arrays
from augnet.data.collection import Collection
from augnet.data.examples import EXAMPLES, find, load_digits
from augnet.data.folders import walk
from augnet.data.input_spec import InputSpec
from augnet.data.options import ReadOptions
from augnet.data.read_log import DataError, ReadLog
from augnet.data.recordings import is_recording, recordings
from augnet.data.split import Split, split

__all__ = [
    "Collection",
    "DataError",
    "InputSpec",
    "ReadLog",
    "ReadOptions",
    "Split",
    "load_digits",
    "read",
    "split",
]

ARRAYS = (".npz", ".npy", ".safetensors")
TABLES = (".csv", ".parquet", ".pq")
IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp")
FOLDER = {"kind", "follow_links"}
GROUPS_HINTS = {
    "recordings": ": each recording is a group already",
    "a folder of images": ": list the images in a table, with the columns path, label and groups",
}
Reader: TypeAlias = Callable[[Path, ReadOptions, InputSpec | None, bool, int], Collection]


def read(
    path: str | Path,
    input_spec: InputSpec | None = None,
    labeled: bool = True,
    seed: int = 0,
    **options: Any,
) -> Collection:
    """Read data of any kind; with `input_spec`, in the way it describes.

    `path` is a file or a folder, or the name of a data set that comes with augnet: "digits".

    `options` are those of `ReadOptions`. An option that this kind of data does not take is refused.
    `seed` draws the samples if there are more than `max_samples`.
    """
    path, source = find(Path(path))
    if not path.exists():
        raise DataError(f"{path} does not exist; augnet itself has {', '.join(EXAMPLES)}")
    if not (path.is_file() or path.is_dir()):
        raise DataError(f"{path} is a pipe or a device: expected a file or a folder")
    given = ReadOptions(**options)
    reader, kind, known = _reader(path, given)
    for each in fields(ReadOptions):
        if each.name not in known and getattr(given, each.name) != each.default:
            name = each.name.replace("_", "-")
            hint = GROUPS_HINTS.get(kind, "") if name == "groups" else ""
            raise DataError(f"--{name} is not for {path}, which is read as {kind}{hint}")
    samples = reader(path, given, input_spec, labeled, seed)
    if source:
        samples.log.note(source)
    return samples


def _reader(path: Path, options: ReadOptions) -> tuple[Reader, str, set[str]]:
    """Return the reader for a path, the kind of data, and the options it takes."""
    suffix = path.suffix.lower()
    if is_recording(path) if path.is_file() else _has_recordings(path, options):
        of_folder = set() if path.is_file() else FOLDER
        return recordings, "recordings", {"max_samples", "channels", "window"} | of_folder
    if path.is_file() and suffix in ARRAYS:
        return arrays, "arrays", {"max_samples", "task", "groups", "sfreq", "channels"}
    if path.is_file() and suffix not in TABLES:
        raise DataError(
            f"{path} cannot be read: expected a folder of images or recordings, or a file "
            f"{', '.join(TABLES)}, {', '.join(ARRAYS)}, .edf or .fif"
        )
    try:
        from augnet.data.images import folder
        from augnet.data.tables import table
    except ImportError:
        raise DataError(f"reading {path} needs Pillow: pip install 'augnet[own]'") from None
    if path.is_file():
        return table, "a table", {"max_samples", "task", "size", "column", "groups"}
    return folder, "a folder of images", {"max_samples", "task", "size"} | FOLDER


def _has_recordings(path: Path, options: ReadOptions) -> bool:
    """Tell whether recordings are read of a folder; ask if it has images, too."""
    if options.kind != "auto":
        return options.kind == "recordings"
    found = list(walk(path, ReadLog(), options.follow_links))
    recorded = [file for file in found if is_recording(file)]
    images = [file for file in found if file.suffix.lower() in IMAGES]
    if recorded and images:
        raise DataError(
            f"{path} has {len(images)} images (such as {images[0].name}) and {len(recorded)} "
            f"recordings (such as {recorded[0].name}): choose --kind images or --kind recordings"
        )
    return bool(recorded)
