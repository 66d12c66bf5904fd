"""Write the predictions of a model as a table."""

import csv
import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from augnet import files
from augnet.data import Collection, DataError
from augnet.model import Model
from augnet.net import TOLERANCE

Columns = Mapping[str, Sequence[Any]]
PARQUET = (".parquet", ".pq")
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""With these, spreadsheets begin a formula, which may run programs."""


def predictions(
    model: Model,
    data: Collection,
    seed: int = 0,
    copies: int | None = None,
    tolerance: float = TOLERANCE,
) -> Columns:
    """Return columns: names of samples, predictions, and the probability of each class.

    A sample gets no more copies once its prediction is settled; the column `copies` counts them.
    """
    outputs, used = model.predict(data.x, tolerance, seed, copies=copies)
    columns: dict[str, Sequence[Any]] = {"sample": data.names, "copies": used.tolist()}
    classes = model.header.classes
    if not classes:
        values = outputs.reshape(len(data), -1)
        names = (
            ["value"] if values.shape[1] == 1 else [f"value {n}" for n in range(values.shape[1])]
        )
        return columns | dict(zip(names, values.T.tolist(), strict=True))
    probabilities = torch.softmax(outputs.double(), dim=1)
    columns["predicted"] = [classes[number] for number in outputs.argmax(1).tolist()]
    each = zip(classes, probabilities.T.tolist(), strict=True)
    return columns | {f"p({name})": column for name, column in each}


def check(path: Path) -> None:
    """Raise DataError if predictions cannot be written to a file."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", *PARQUET):
        raise DataError(f"predictions are written as .csv or .parquet; got {path.name!r}")
    if suffix in PARQUET and find_spec("pyarrow") is None:
        raise DataError("writing Parquet needs pyarrow: pip install 'augnet[own]'")
    if not path.parent.is_dir():
        raise DataError(f"{path.parent} is not a directory: create it before writing {path.name}")


def write(columns: Columns, path: Path) -> None:
    """Write CSV or Parquet, depending on the name of the file."""
    check(path)
    if path.suffix.lower() in PARQUET:
        files.write(path, as_parquet(columns))
    else:
        files.write(path, as_csv(columns))


def as_parquet(columns: Columns) -> bytes:
    """Return a table as Parquet."""
    import pyarrow as arrow
    import pyarrow.parquet as parquet

    sink = arrow.BufferOutputStream()
    parquet.write_table(arrow.table({name: list(each) for name, each in columns.items()}), sink)
    return bytes(sink.getvalue().to_pybytes())


def as_csv(columns: Columns) -> str:
    """Return a table as CSV, numbers with six digits.

    A name that a spreadsheet would take for a formula begins with an apostrophe.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(map(_cell, row))
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, str) and value.startswith(FORMULA) and not _is_number(value):
        return f"'{value}"
    return value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
