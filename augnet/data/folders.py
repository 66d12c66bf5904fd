"""List the files of a folder."""

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from augnet.data.read_log import ReadLog

OUTSIDE = "links to files outside of the folder (--follow-links reads them)"


def walk(path: Path, log: ReadLog, follow_links: bool = False) -> Iterator[Path]:
    """Yield all regular files, in order, and never read the same folder twice.

    Links are followed within `path`, and to other places only with `follow_links`. Pipes and
    devices are skipped: reading them may never end.
    """
    root = path.resolve()
    seen: set[tuple[int, int]] = set()
    for parent, folders, names in os.walk(path, followlinks=True, onerror=_skip_errors(log)):
        if not (follow_links or Path(parent).resolve().is_relative_to(root)):
            log.skip(OUTSIDE, parent)
            folders.clear()
            continue
        status = os.stat(parent)
        if (status.st_dev, status.st_ino) in seen:
            log.skip("a folder that was read already: a link in a circle?", parent)
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in (Path(parent, name) for name in sorted(names)):
            reason = _refuse(file, root, follow_links)
            if reason:
                log.skip(reason, file)
            else:
                yield file


def _refuse(file: Path, root: Path, follow_links: bool) -> str:
    """Return why a file is not read; "" if it is."""
    try:
        mode = file.lstat().st_mode
        if stat.S_ISLNK(mode):
            mode = file.stat().st_mode
            if not (follow_links or file.resolve().is_relative_to(root)):
                return OUTSIDE
    except OSError:
        return "links that lead nowhere, or files that cannot be accessed"
    return "" if stat.S_ISREG(mode) else "pipes, devices and sockets"


def _skip_errors(log: ReadLog) -> Callable[[OSError], None]:
    def skip(error: OSError) -> None:
        log.skip("a folder that cannot be opened", error.filename)

    return skip
