"""The options of reading data, with their defaults and meaning."""

import math
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from augnet.data.read_log import DataError

Task: TypeAlias = Literal["auto", "classification", "regression"]
FolderKind: TypeAlias = Literal["auto", "images", "recordings"]


def _help(text: str, minimum: int | None = None) -> dict[str, Any]:
    return {"help": text, "min": minimum}


@dataclass(frozen=True)
class ReadOptions:
    """How to read data. Each reader takes some of these options and refuses the others."""

    max_samples: int = field(
        default=20_000, metadata=_help("Read at most this many samples.", minimum=1)
    )
    size: int | None = field(
        default=None, metadata=_help("The longer side of images, in pixels.", minimum=4)
    )
    task: Task = field(
        default="auto",
        metadata=_help(
            "classification, regression or auto: labels with a fractional part are for regression."
        ),
    )
    kind: FolderKind = field(
        default="auto",
        metadata=_help("images, recordings or auto: what to read of a folder that has both."),
    )
    follow_links: bool = field(
        default=False, metadata=_help("Follow links out of the folder, too.")
    )
    column: str | None = field(default=None, metadata=_help("The column of labels in a table."))
    groups: str | None = field(
        default=None,
        metadata=_help(
            "The column or array of groups, such as subjects, which are never split. Default: "
            "groups, if it is there."
        ),
    )
    sfreq: float | None = field(
        default=None, metadata=_help("The sampling rate of signals in arrays, in Hz.")
    )
    channels: tuple[str, ...] = field(
        default=(), metadata=_help("Names of channels, separated by commas.")
    )
    window: float | None = field(
        default=None, metadata=_help("The length of windows of recordings, in seconds.")
    )

    def __post_init__(self) -> None:
        if self.task not in get_args(Task):
            raise DataError(f"--task is one of {', '.join(get_args(Task))}; got {self.task!r}")
        if self.kind not in get_args(FolderKind):
            raise DataError(
                f"--kind is one of {', '.join(get_args(FolderKind))}; got {self.kind!r}"
            )
        object.__setattr__(self, "channels", tuple(self.channels))  # JSON has lists
        if len(set(self.channels)) < len(self.channels):
            raise DataError(f"--channels has a name twice; got {', '.join(self.channels)}")
        for name in ("sfreq", "window"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise DataError(f"--{name} takes a positive number; got {value}")
