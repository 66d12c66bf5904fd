"""What can be wrong with a recording, and what is done about it."""

import warnings
from pathlib import Path


class BadRecordingError(ValueError):
    """A recording that cannot be used: which file it is, what is wrong, and what can be done."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.file, self.why = file, why


class SkippedRecordingWarning(UserWarning):
    """A recording was left out; the message says which and why."""


def skip(error: BadRecordingError) -> None:
    """Say that a recording is left out."""
    warnings.warn(f"left out {error}", SkippedRecordingWarning, stacklevel=2)
