"""Lock a directory for one process."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

LOCK, HOLDER = ".lock", ".lock.holder"


class LockedError(Exception):
    """Another process holds the lock; the message is its `pid@host`."""


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a directory, or raise LockedError at once.

    The system drops the lock when the process ends, also when it is killed.
    """
    lock, holder = FileLock(path / LOCK), path / HOLDER
    try:
        lock.acquire(timeout=0)
    except Timeout:
        name = ""
        with suppress(FileNotFoundError):  # the holder has not written it yet
            name = holder.read_text(encoding="utf-8") if holder.is_file() else ""
        raise LockedError(name or "(unknown)") from None
    try:
        holder.unlink(missing_ok=True)  # of a killed process, or a pipe, which would wait
        holder.write_text(f"{os.getpid()}@{socket.gethostname()}", encoding="utf-8")
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()
