"""A small writer of EDF and EDF+ files, so that reading can be tested without real recordings."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

ANNOTATIONS = "EDF Annotations"
START = "01.01.2521.00.00"


def write_edf(
    path: Path,
    signals: Mapping[str, np.ndarray],
    sfreq: int = 100,
    annotations: Sequence[tuple[float, float, str]] = (),
    start: str = START,
) -> Path:
    """Write signals in µV, one second per record; with annotations, as EDF+."""
    seconds = max([len(values) // sfreq for values in signals.values()], default=1)
    columns = {label: np.asarray(values)[: seconds * sfreq] for label, values in signals.items()}
    counts = [sfreq] * len(columns)
    room = 0
    if annotations:
        lists = b"".join(
            f"+{o:g}\x15{d:g}\x14{text}\x14\x00".encode() for o, d, text in annotations
        )
        room = -(-(len(lists) + 16) // 2)
        counts.append(room)
    labels = [*columns, *([ANNOTATIONS] if annotations else [])]
    path.write_bytes(
        _header(labels, counts, seconds, start, plus=bool(annotations))
        + b"".join(
            b"".join(
                [_digital(values[s * sfreq : (s + 1) * sfreq]) for values in columns.values()]
                + ([_tal(s, lists if s == 0 else b"", room)] if annotations else [])
            )
            for s in range(seconds)
        )
    )
    return path


def _digital(microvolts: np.ndarray) -> bytes:
    return np.clip(np.round(microvolts * 10), -32767, 32767).astype("<i2").tobytes()


def _tal(second: int, lists: bytes, room: int) -> bytes:
    return (f"+{second}\x14\x14\x00".encode() + lists).ljust(2 * room, b"\x00")


def _header(
    labels: Sequence[str], counts: Sequence[int], seconds: int, start: str, plus: bool
) -> bytes:
    def fields(width: int, values: Sequence[object]) -> str:
        return "".join(f"{value!s:<{width}}" for value in values)

    n = len(labels)
    reserved = "EDF+C" if plus else ""
    fixed = (
        f"{'0':<8}{'X X X X':<80}{'Startdate X X X X':<80}{start}{256 * (n + 1):<8}{reserved:<44}"
        f"{seconds:<8}{1:<8}{n:<4}"
    )
    signal = (
        fields(16, labels) + fields(80, [""] * n) + fields(8, ["uV"] * n)
        + fields(8, [-3276.7] * n) + fields(8, [3276.7] * n)
        + fields(8, [-32767] * n) + fields(8, [32767] * n)
        + fields(80, [""] * n) + fields(8, counts) + fields(32, [""] * n)
    )  # fmt: skip
    return (fixed + signal).encode("ascii")
