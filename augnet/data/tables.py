"""Tables: a CSV or Parquet file with the path and the label of each image."""

import csv
from collections.abc import Sequence
from pathlib import Path

from augnet.data import images
from augnet.data.account import Account, DataError
from augnet.data.collection import MOST, Collection, Task
from augnet.data.reading import Reading

PATHS = ("path", "file", "filename", "file_name", "filepath", "image", "image_path")
LABELS = ("label", "class", "target", "y", "category")


def table(
    path: Path,
    reading: Reading | None = None,
    labeled: bool = True,
    size: int | None = None,
    most: int = MOST,
    seed: int = 0,
    task: Task = "auto",
    column: str | None = None,
) -> Collection:
    """Read the images that a table names; paths are relative to the table.

    `column` names the column of labels, if it is not one of the usual names.
    """
    columns = _parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _csv(path)
    paths = _column(columns, PATHS, None, path)
    labels = _column(columns, LABELS, column, path) if labeled else None
    account = Account()
    here = path.parent
    rows = []
    for number, name in enumerate(paths):
        if not str(name or "").strip():
            account.skip("rows without a path", f"row {number + 1}")
        elif labels is not None and str(labels[number] if labels[number] is not None else "") == "":
            account.skip("rows without a label", f"row {number + 1}")
        elif not (here / str(name)).exists():
            account.skip("files that are not there", name)
        else:
            rows.append(number)
    if not rows:
        raise DataError(
            f"{path} names no file that is there; paths are relative to {here}. {account}"
        )
    return images.files(
        [here / str(paths[row]) for row in rows],
        None if labels is None else [labels[row] for row in rows],
        here,
        account,
        reading,
        size,
        most,
        seed,
        task,
    )


def _csv(path: Path) -> dict[str, Sequence[object]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file)
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is no CSV in UTF-8: {error}") from None
    return {name: [row[name] for row in rows] for name in reader.fieldnames or ()}


def _parquet(path: Path) -> dict[str, Sequence[object]]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise DataError(
            f"reading {path} takes pyarrow: pip install 'augnet[own]', or save it as CSV"
        ) from None
    try:
        return dict(parquet.read_table(path).to_pydict())
    except arrow.ArrowException as error:
        raise DataError(f"{path} is no Parquet file: {error}") from None


def _column(
    columns: dict[str, Sequence[object]], usual: Sequence[str], wanted: str | None, path: Path
) -> Sequence[object]:
    known = {name.strip().lower(): name for name in columns if name}
    for name in (wanted,) if wanted else usual:
        if name.lower() in known:
            return columns[known[name.lower()]]
    raise DataError(
        f"{path} has the columns {', '.join(columns) or 'none'}; expected "
        f"{wanted or ' or '.join(usual)}"
    )
