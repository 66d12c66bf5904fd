"""Write files completely or not at all."""

import os
from pathlib import Path


def write(path: Path, content: bytes | str) -> Path:
    """Replace a file atomically: a reader sees the old content or the new, never a part.

    The new content is on the disk when this returns, also after a power failure.
    """
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        _sync_directory(path.parent)
    finally:
        draft.unlink(missing_ok=True)
    return path


def _sync_directory(path: Path) -> None:
    """Make a rename permanent; Windows cannot open directories, and needs no such thing."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    directory = os.open(path, os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
