"""Read tables: a CSV or Parquet file with the path and the label of each image."""

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from augnet.data import images
from augnet.data.collection import Collection
from augnet.data.input_spec import InputSpec
from augnet.data.options import ReadOptions
from augnet.data.read_log import DataError, ReadLog
from augnet.text import one_line

MISSING = {"", "na", "n/a", "#n/a", "nan", "null", "none", "missing", "?", "-"}
"""Words for a missing value, in lower case."""
PATHS = ("path", "file", "filename", "file_name", "filepath", "image", "image_path")
LABELS = ("label", "class", "target", "y", "category")
Columns: TypeAlias = Sequence[tuple[str, Sequence[object]]]
"""Names and cells of columns: several may have the same name."""


def table(
    path: Path,
    options: ReadOptions,
    spec: InputSpec | None = None,
    labeled: bool = True,
    seed: int = 0,
) -> Collection:
    """Read the images that a table names; paths are relative to the table.

    `options.column` is the column of labels, if it has none of the usual names; `options.groups`
    that of groups, if it is not called groups.
    """
    columns = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path)
    paths = _column(columns, PATHS, None, path)
    labels = _column(columns, LABELS, options.column, path) if labeled else None
    groups = _groups(columns, options.groups, path) if labeled else None
    log = ReadLog()
    here = path.parent
    missing, ungrouped = _missing(labels or ()), _missing(groups or ())
    rows = []
    known: dict[str, object] = {}
    for number, name in enumerate(paths):
        if not str(name or "").strip():
            log.skip("rows without a path", f"row {number + 1}")
        elif labels is not None and _word(labels[number]) in missing:
            log.skip("rows without a label", f"row {number + 1}")
        elif groups is not None and _word(groups[number]) in ungrouped:
            log.skip("rows without a group", f"row {number + 1}")
        elif not _is_file(here / str(name)):
            log.skip("missing files", name)
        elif labels is not None and str(name) in known:  # it could be trained on and tested on
            if labels[number] != known[str(name)]:
                raise DataError(
                    f"{path} gives {name} two labels, {known[str(name)]} and {labels[number]}: "
                    "keep one row for each file"
                )
            log.skip("rows that name a file again", name)
        else:
            known[str(name)] = None if labels is None else labels[number]
            rows.append(number)
    if not rows:
        raise DataError(f"{path} names no file that exists; paths are relative to it. {log}")
    collection = images.files(
        [here / str(paths[row]) for row in rows],
        None if labels is None else [labels[row] for row in rows],
        here,
        log,
        options,
        spec,
        seed,
        None if groups is None else [groups[row] for row in rows],
    )
    return replace(collection, grouped_by=options.groups or "groups") if groups else collection


def _missing(values: Sequence[object]) -> set[str]:
    """Return what stands for a missing value: "NA" and the like, if all others are numbers."""
    words = set(map(_word, values))
    others = words - MISSING
    return MISSING if others and all(map(_is_number, others)) else {""}


def _word(cell: object) -> str:
    return "" if cell is None else str(cell).strip().lower()


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that is too long, or has a null character
        return False


def _groups(columns: Columns, given: str | None, path: Path) -> Sequence[object] | None:
    """Return the column of groups that was named, or `groups` if it is there."""
    if given is None and "groups" not in {name.strip().lower() for name, _ in columns}:
        return None
    return _column(columns, ("groups",), given, path)


def _csv(path: Path) -> Columns:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            # Strict: a quote that is not closed would make one cell of all rows that follow.
            names, *rows = filter(None, csv.reader(file, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}") from None
    except ValueError:  # there is no line at all
        names, rows = [], []
    if not rows:
        raise DataError(f"{path} has no rows: expected a line of column names, and one per image")
    return [
        (name, [row[place] if place < len(row) else None for row in rows])
        for place, name in enumerate(names)
    ]


def _parquet(path: Path) -> Columns:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(
            f"reading {path} needs pyarrow: pip install 'augnet[own]', or save it as CSV"
        ) from None
    try:
        read = parquet.read_table(path)
        return [
            (name, column.to_pylist())
            for name, column in zip(read.column_names, read.columns, strict=True)
        ]
    except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise DataError(f"{path} is not a Parquet file: {one_line(error)}") from None


def _column(
    columns: Columns, usual: Sequence[str], given: str | None, path: Path
) -> Sequence[object]:
    for wanted in (given,) if given else usual:
        found = [cells for name, cells in columns if name.strip().lower() == wanted.strip().lower()]
        if len(found) > 1:
            raise DataError(f"{path} has {len(found)} columns {wanted}: rename all but one")
        if found:
            return found[0]
    names = ", ".join(name for name, _ in columns) or "none"
    raise DataError(f"{path} has the columns {names}; expected {given or ' or '.join(usual)}")
