"""The settings of `augnet learn`, derived from the options of learning and of reading data."""

import shlex
import tomllib
from collections.abc import Callable
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from augnet.data import DataError, ReadOptions
from augnet.learn.config import OPTIONS, LearnConfig
from augnet.model.header import MAX_COPIES
from augnet.text import printable

MAX_SEED = 2**32 - 1
"""The largest seed that torch and numpy both take."""
FIELDS: dict[str, Field[Any]] = {each.name: each for each in (*OPTIONS, *fields(ReadOptions))}
"""All options, in the order of `augnet learn --help`."""
SPEED = ("threads", "jobs")
"""Options that decide on the speed only."""


@dataclass(frozen=True)
class Settings:
    """Everything that decides what `augnet learn` computes."""

    data: str
    learn: LearnConfig = field(default_factory=LearnConfig)
    read: ReadOptions = field(default_factory=ReadOptions)

    @classmethod
    def of(cls, data: str, **options: Any) -> "Settings":
        """Build settings from options by name."""
        names = {each.name for each in OPTIONS}
        learn = {name: value for name, value in options.items() if name in names}
        read = {name: value for name, value in options.items() if name not in names}
        return cls(data, LearnConfig(**learn), ReadOptions(**read))

    @property
    def options(self) -> dict[str, Any]:
        """The options of learning and of reading, by name."""
        learn = {each.name: getattr(self.learn, each.name) for each in OPTIONS}
        return learn | asdict(self.read)

    @property
    def values(self) -> dict[str, Any]:
        """All settings that decide what comes out, as plain values, for files.

        These are options, and constants that were changed. Threads and jobs decide on the speed
        only: a job may be resumed with another number.
        """
        constants = {
            each.name: getattr(self.learn, each.name)
            for each in fields(LearnConfig)
            if each.name not in FIELDS and getattr(self.learn, each.name) != each.default
        }
        options = {name: value for name, value in self.options.items() if name not in SPEED}
        return {"data": printable(self.data), **options, **constants}

    @property
    def command(self) -> str:
        """The command that has these settings; the layers are in a file."""
        parts = ["augnet learn", shlex.quote(printable(self.data))]
        for name, value in self.options.items():
            if value is True:
                parts.append(f"--{name.replace('_', '-')}")
            elif value != FIELDS[name].default:
                text = ARGUMENTS[name].write(value) if name in ARGUMENTS else str(value)
                parts.append(f"--{name.replace('_', '-')} {shlex.quote(text)}")
        return " ".join(parts)


@dataclass(frozen=True)
class Argument:
    """How the command line writes an option that is not a plain value."""

    type: Any
    help: str = ""
    """Added to the help of the option."""
    parse: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], str] = str
    min: int | None = None
    max: int | None = None


def parse_names(text: str) -> tuple[str, ...]:
    """Return the names in a text, which are separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def read_layers(path: Path | None) -> tuple[tuple[Any, ...], ...] | None:
    """Read a TOML file: `layers = [["rotate", {name = "shear_x", limit = 0.5}], ...]`."""
    if path is None:
        return None
    if not path.is_file():
        raise DataError(f"{path} is not a file")
    example = 'layers = [["rotate", {name = "shear_x", limit = 0.5}]]'
    try:
        layers = tomllib.loads(path.read_text(encoding="utf-8"))["layers"]
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, RecursionError) as error:
        raise DataError(f"{path} has no layers ({error}): expected {example}") from None
    if not isinstance(layers, list) or not all(isinstance(layer, list) for layer in layers):
        raise DataError(f"{path}: layers must be a list of lists of transforms: {example}")
    return tuple(map(tuple, layers))


ARGUMENTS = {
    "transforms": Argument(
        str,
        "Separate names by commas; `augnet transforms` lists them.",
        lambda text: text if text == "auto" else parse_names(text.replace("-", "_")),
        lambda names: ",".join(map(str, names)),
    ),
    "layers": Argument(Path | None, "In a TOML file.", read_layers, lambda layers: "LAYERS.toml"),
    "trunk": Argument(str, "On the command line: small, medium, resnet18, or module:Class."),
    "budget": Argument(str | None),
    "seed": Argument(int, min=0, max=MAX_SEED),
    "seeds": Argument(int, min=1, max=100),
    "copies": Argument(int, min=1, max=MAX_COPIES),
    "threads": Argument(int | None, min=1, max=1024),  # more end in a lack of memory
    "tolerance": Argument(float),
    "jobs": Argument(int, min=1),
    "task": Argument(str),
    "kind": Argument(str),
    "channels": Argument(str, "", parse_names, ",".join),
}


def default(name: str) -> Any:
    """Return the default of an option as the command line writes it."""
    value = FIELDS[name].default
    assert value is not MISSING
    return ",".join(value) if isinstance(value, tuple) else value
