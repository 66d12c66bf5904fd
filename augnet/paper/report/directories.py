"""Find the directories of runs and searches by their manifests, and read their files."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from augnet.paper.config import ConfigError
from augnet.training import ResumableDirectory
from augnet.training.directory import MANIFEST, OLD_MANIFESTS, DirectoryError
from augnet.training.manifest import parse


def find(paths: Iterable[Path], kind: str) -> list[Path]:
    """List the directories of a kind, "run" or "search", below some paths, in order of names."""
    paths = [Path(path) for path in paths]
    files = sorted({file for path in paths for file in path.rglob(MANIFEST)})
    return [file.parent for file in files if _kind(file) == kind]


def _kind(file: Path) -> str:
    try:
        return str(parse(file.read_bytes())["kind"])
    except ValueError as error:
        raise ConfigError(f"{file.parent} cannot be read: {error}") from None


def refuse_old(paths: Iterable[Path]) -> None:
    """Raise ConfigError if an older version of augnet made one of the directories below."""
    for path in map(Path, paths):
        for name in OLD_MANIFESTS:
            if (file := next(path.rglob(name), None)) and not file.with_name(MANIFEST).exists():
                raise ConfigError(
                    f"{file.parent} cannot be read: an older version of augnet made it "
                    f"(it has {name} and no {MANIFEST}). Run it again"
                )


def read_lines(directory: ResumableDirectory, name: str) -> list[dict[str, Any]]:
    """Read a file with one JSON object per line; return none if the file is not there yet."""
    content = directory.read(name) or b""
    return [json.loads(line) for line in content.decode().splitlines()]


@contextmanager
def one_line_errors(path: Path) -> Iterator[None]:
    """Turn whatever is wrong with the files of a directory into a ConfigError."""
    try:
        yield
    except ConfigError:
        raise
    except DirectoryError as error:  # it names the file
        raise ConfigError(str(error)) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be read: {error!r}") from None
