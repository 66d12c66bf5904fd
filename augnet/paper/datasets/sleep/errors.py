"""Errors and warnings about recordings."""

import warnings
from pathlib import Path


class BadRecordingError(ValueError):
    """A recording cannot be used: the file, what is wrong, and the likely fix."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"{file}: {why}")
        self.file, self.why = file, why


class SkippedRecordingWarning(UserWarning):
    """A recording was skipped; the message says which and why."""


def skip(error: BadRecordingError) -> None:
    """Warn that a recording is skipped."""
    warnings.warn(f"skipped {error}", SkippedRecordingWarning, stacklevel=2)
