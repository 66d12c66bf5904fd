"""Read tables: a CSV or Parquet file with the path and the label of each image."""

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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
    missing = _missing(labels or ())
    rows = []
    for number, name in enumerate(paths):
        if not str(name or "").strip():
            log.skip("rows without a path", f"row {number + 1}")
        elif labels is not None and _word(labels[number]) in missing:
            log.skip("rows without a label", f"row {number + 1}")
        elif groups is not None and _is_empty(groups[number]):
            log.skip("rows without a group", f"row {number + 1}")
        elif not _is_file(here / str(name)):
            log.skip("missing files", name)
        else:
            rows.append(number)
    if not rows:
        raise DataError(f"{path} names no file that exists; paths are relative to {here}. {log}")
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


def _missing(labels: Sequence[object]) -> set[str]:
    """Return what stands for a missing label: "NA" and the like, if all others are numbers."""
    words = set(map(_word, labels))
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


def _is_empty(cell: object) -> bool:
    return cell is None or str(cell) == ""


def _groups(
    columns: dict[str, Sequence[object]], given: str | None, path: Path
) -> Sequence[object] | None:
    """Return the column of groups that was named, or `groups` if it is there."""
    if given is None and "groups" not in {name.strip().lower() for name in columns if name}:
        return None
    return _column(columns, ("groups",), given, path)


def _csv(path: Path) -> dict[str, Sequence[object]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}") from None
    if not rows:
        raise DataError(f"{path} has no rows: expected a line of column names, and one per image")
    return {name: [row[name] for row in rows] for name in reader.fieldnames or ()}


def _parquet(path: Path) -> dict[str, Sequence[object]]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(
            f"reading {path} needs pyarrow: pip install 'augnet[own]', or save it as CSV"
        ) from None
    try:
        return dict(parquet.read_table(path).to_pydict())
    except (arrow.ArrowException, OSError, ValueError, MemoryError) as error:
        raise DataError(f"{path} is not a Parquet file: {one_line(error)}") from None


def _column(
    columns: dict[str, Sequence[object]], usual: Sequence[str], given: str | None, path: Path
) -> Sequence[object]:
    known = {name.strip().lower(): name for name in columns if name}
    for name in (given,) if given else usual:
        if name.lower() in known:
            return columns[known[name.lower()]]
    raise DataError(
        f"{path} has the columns {', '.join(columns) or 'none'}; expected "
        f"{given or ' or '.join(usual)}"
    )
