"""Say about every ten seconds how far learning is, and how long it will still take."""

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from augnet.training import Row

INTERVAL = 10.0
"""Seconds between two lines."""


class Reporter:
    """Write a line for the first row and the last one, and between them one per interval.

    Within `with`, lines come also while no new row does: a branch may take minutes.
    """

    def __init__(self, write: Callable[[str], object], interval: float = INTERVAL) -> None:
        self.write, self.interval = write, interval
        self.text, self.done, self.begin, self.end = "", 0.0, 0.0, 0.0
        self.first: float | None = None
        """How much was done at the first row: more than nothing if learning was resumed."""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)

    def update(self, row: Row, text: str) -> None:
        """Note how far learning is, and what is being done."""
        now = time.monotonic()
        first = self.first is None
        if self.first is None:
            self.first, self.begin = row["done"], now
        self.text, self.done = text, row["done"]
        progress = self.done - self.first
        self.end = now + (now - self.begin) * (1 - self.done) / progress if progress > 0 else now
        if first or self.done >= 1:
            self.write(self.line())

    def line(self) -> str:
        """Return the line: how much is done, what is being done, and the time that is left."""
        left = self.end - time.monotonic()
        more = f", about {duration(left)} left" if left >= 1 else ""
        return f"{self.done:4.0%} {self.text}{more}"

    def _repeat(self) -> None:
        while not self._over.wait(self.interval):
            if 0 < self.done < 1:
                self.write(self.line())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._over.set()
        self._thread.join()


def describe(row: Row) -> str:
    """Write what a row of the history is about: a loss, a transform, or the answer for it."""
    if "loss" not in row:
        return f"{row['phase']}: {row['transform']}"
    seed = f", seed {row['seed']}" if "seed" in row else ""
    states = [each for each in row["transforms"] if "status" in each]
    answers = [f"{each['name']} {each['status'].replace('_', ' ')}" for each in states]
    more = ", ".join(answers) or f"loss {row['loss']:.3f}"
    return f"{row['phase']}{seed}: {more}"


def duration(seconds: float) -> str:
    """Write a time in one unit.

    >>> [duration(each) for each in (3.2, 89, 90, 3000, 7200)]
    ['3 s', '89 s', '2 min', '50 min', '2.0 h']
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
