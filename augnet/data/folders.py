"""Folders, however deep, and however their links run."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from augnet.data.account import Account


def walk(path: Path, account: Account) -> Iterator[Path]:
    """Give all files, in order, following links but never into the same folder twice."""
    seen: set[tuple[int, int]] = set()
    for parent, folders, names in os.walk(path, followlinks=True, onerror=_refuse(account)):
        status = os.stat(parent)
        if (status.st_dev, status.st_ino) in seen:
            account.skip("a folder that was read already: a link in a circle?", parent)
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names))


def _refuse(account: Account) -> Callable[[OSError], None]:
    def skip(error: OSError) -> None:
        account.skip("a folder that cannot be opened", error.filename)

    return skip
