"""Files that are there as a whole or not at all."""

import os
from pathlib import Path


def write(path: Path, content: bytes | str) -> Path:
    """Replace a file at once: who reads it sees the old one or the new one, never a half."""
    data = content.encode() if isinstance(content, str) else content
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        with draft.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path
