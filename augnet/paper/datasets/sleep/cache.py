"""Cache the windows of each night in `.npy` files, which are memory-mapped.

    <cache>/sleep/<key>/x.npy, y.npy    windows and stages
    <cache>/sleep/<key>/night.json      digests of the source files, and the preprocessing

The key is a hash of the preprocessing and of the contents of the files. Folders are created
atomically.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from augnet.paper.datasets.sleep.recording import Preprocessing, read_night
from augnet.paper.datasets.sleep.synthetic import Night

VERSION = 1  # of the preprocessing: raise it when the same settings give other windows


def cached_night(
    recording: Path,
    hypnogram: Path,
    how: Preprocessing,
    cache: Path,
    read: Callable[[Path, Path, Preprocessing], Night] = read_night,
) -> Night:
    """Return the windows of a night from the cache; read the recording if they are not there."""
    made = {
        "version": VERSION,
        "files": {file.name: _hash(file) for file in (recording, hypnogram)},
        "preprocessing": asdict(how),
    }
    key = hashlib.sha256(json.dumps(made, sort_keys=True).encode()).hexdigest()[:20]
    folder = cache / "sleep" / key
    if not folder.exists():
        _write(folder, read(recording, hypnogram, how), made)
    return Night(
        np.load(folder / "x.npy", mmap_mode="r", allow_pickle=False),
        np.load(folder / "y.npy", allow_pickle=False),
    )


def _write(folder: Path, night: Night, made: dict[str, object]) -> None:
    """Write a temporary folder and rename it; another process may have been faster."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        np.save(draft / "x.npy", night.x, allow_pickle=False)
        np.save(draft / "y.npy", night.y, allow_pickle=False)
        (draft / "night.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        try:
            draft.rename(folder)
        except OSError:
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
