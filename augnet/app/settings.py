"""What `augnet learn` is told, checked, and kept beside what it finds."""

import shlex
import tomllib
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from augnet.data import DataError


class Settings(BaseModel):
    """All that decides what a command learns: equal settings go on where others were left."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: str
    transforms: tuple[str | dict[str, JsonValue], ...] = ()
    """None for all that fit."""
    layers: tuple[tuple[str | dict[str, JsonValue], ...], ...] = ()
    trunk: str = "small"
    budget: str | None = None
    seed: int = 0
    seeds: int = 1
    most: int | None = None
    size: int | None = None
    task: Literal["auto", "classes", "values"] | None = None
    column: str | None = None
    sfreq: float | None = None
    channels: tuple[str, ...] = ()
    window: float | None = None

    @property
    def reading(self) -> dict[str, Any]:
        """What readers of data are told."""
        names = ("most", "size", "task", "column", "sfreq", "channels", "window")
        return {name: getattr(self, name) for name in names} | {"seed": self.seed}

    @property
    def command(self) -> str:
        """The command that says this, but for layers, which are in a file."""
        said = ["augnet learn", shlex.quote(self.data)]
        if self.transforms:
            said.append(f"--transforms {','.join(str(transform) for transform in self.transforms)}")
        for name in (
            "trunk",
            "budget",
            "seed",
            "seeds",
            "most",
            "size",
            "task",
            "column",
            "sfreq",
            "window",
        ):
            value = getattr(self, name)
            if value not in (None, type(self).model_fields[name].default):
                said.append(f"--{name} {shlex.quote(str(value))}")
        if self.channels:
            said.append(f"--channels {shlex.quote(','.join(self.channels))}")
        return " ".join(said)


def layers_of(path: Path | None) -> tuple[tuple[Any, ...], ...]:
    """Read a TOML file: `layers = [["rotate", {name = "shear_x", limit = 0.5}], ...]`."""
    if path is None:
        return ()
    example = 'layers = [["rotate", {name = "shear_x", limit = 0.5}]]'
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))["layers"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
        raise DataError(f"{path} is no file of layers ({error}): expected {example}") from None
    if not isinstance(found, list) or not all(isinstance(layer, list) for layer in found):
        raise DataError(f"{path}: layers is a list of lists of transforms: {example}")
    return tuple(map(tuple, found))
