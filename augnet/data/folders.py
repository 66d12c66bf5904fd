"""List the files of a folder, following links."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from augnet.data.read_log import ReadLog


def walk(path: Path, log: ReadLog) -> Iterator[Path]:
    """Yield all files, in order, following links but never into the same folder twice."""
    seen: set[tuple[int, int]] = set()
    for parent, folders, names in os.walk(path, followlinks=True, onerror=_skip_errors(log)):
        status = os.stat(parent)
        if (status.st_dev, status.st_ino) in seen:
            log.skip("a folder that was read already: a link in a circle?", parent)
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names))


def _skip_errors(log: ReadLog) -> Callable[[OSError], None]:
    def skip(error: OSError) -> None:
        log.skip("a folder that cannot be opened", error.filename)

    return skip
