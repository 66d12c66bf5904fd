"""Read the header of an EDF file, and check the length of the file against it."""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from augnet.paper.datasets.sleep.errors import BadRecordingError

FIXED = 256  # bytes, and as many again for each signal


class Header(NamedTuple):
    """Labels, duration and start time of the signals."""

    labels: tuple[str, ...]
    seconds: float
    start: datetime


def read_header(file: Path) -> Header:
    """Read the header; raise BadRecordingError for other or truncated files."""
    try:
        size = file.stat().st_size
        with file.open("rb") as stream:
            fixed = stream.read(FIXED)
            count = int(fixed[252:256]) if len(fixed) == FIXED else 0
            signals = stream.read(FIXED * count)
    except OSError as error:
        raise BadRecordingError(file, f"cannot be read ({error.strerror})") from None
    except ValueError:
        raise BadRecordingError(file, "is no EDF file: its header has no numbers") from None
    if len(fixed) < FIXED or len(signals) < FIXED * count or fixed[:8].strip() != b"0":
        raise BadRecordingError(
            file, "is no EDF file, or ends within its header: download it again"
        )
    try:
        records, duration = int(fixed[236:244]), float(fixed[244:252])
        samples = [int(signals[216 * count + 8 * n :][:8]) for n in range(count)]
        start = datetime.strptime(fixed[168:184].decode("ascii"), "%d.%m.%y%H.%M.%S")
        labels = [signals[16 * n :][:16].decode("ascii").strip() for n in range(count)]
    except ValueError as error:
        raise BadRecordingError(file, f"has a damaged EDF header ({error})") from None
    expected = FIXED * (1 + count) + 2 * records * sum(samples)
    if records < 0 or size < expected:
        there = max(0, size - FIXED * (1 + count)) / max(1, 2 * sum(samples)) * duration
        raise BadRecordingError(
            file,
            f"is truncated: {size} bytes of {expected} by its header, about {there:.0f} s "
            f"of {max(records, 0) * duration:.0f} s: download it again",
        )
    return Header(tuple(labels), records * duration, start)
