"""Read and write model files: safetensors with a header in JSON. Reading executes nothing."""

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as deserialize
from safetensors.torch import save as serialize
from torch import Tensor

import augnet
from augnet.model.header import OLDEST, SCHEMA, Header
from augnet.text import one_line
from augnet.training import fingerprint
from augnet.validation import FLOATS

KEY, DIGEST = "augnet", "sha256"
MAX_HEADER = 2**25
"""Characters of a header: a thousand classes have a million confusions."""


class ModelError(ValueError):
    """A file that cannot be loaded as a model."""


def to_bytes(header: Header, tensors: dict[str, Tensor]) -> bytes:
    """Return the content of a model file."""
    plain = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    if faults := _bad_values(plain):
        raise ModelError(f"this model cannot be saved: {_listing(faults)}")
    current = header.model_copy(update={"schema_version": SCHEMA})  # the file read may be older
    text = current.model_dump_json()
    metadata = {KEY: text, "format": "pt", DIGEST: _digest(text, plain)}
    return _sort_metadata(serialize(plain, metadata))


def _digest(header: str, tensors: dict[str, Tensor]) -> str:
    """Return the SHA-256 of the header and of all tensors with their names."""
    names = sorted(tensors)
    parts = (header, *names, fingerprint(*(tensors[name] for name in names)))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _file_header(content: bytes) -> dict[str, Any]:
    """Return the header of a safetensors file: its length in eight bytes, then JSON."""
    return json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])


def _sort_metadata(content: bytes) -> bytes:
    """Sort the metadata, which safetensors writes in random order: one model has one file."""
    header, end = _file_header(content), 8 + int.from_bytes(content[:8], "little")
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[end:]


def read_header(path: Path) -> Header:
    """Read the header of a model file."""
    return read(path)[0]


def read(path: Path) -> tuple[Header, dict[str, Tensor]]:
    """Read the header and the tensors of a model file; refuse a file that has changed.

    Files of older versions have no digest.
    """
    if not path.exists():
        raise ModelError(f"{path} does not exist")
    if path.is_dir():
        path = path / "model.safetensors"
        if not path.exists():
            raise ModelError(f"{path.parent} has no model.safetensors: has augnet learn finished?")
    if not path.is_file():
        raise ModelError(f"{path} is a pipe or a device: expected a file or a folder")
    try:
        content = path.read_bytes()  # safetensors cannot open names that are not UTF-8
        tensors = deserialize(content)
        metadata = _file_header(content).get("__metadata__", {})
    except (SafetensorError, OSError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ModelError(
            f"{path} is truncated, or not a safetensors file ({one_line(error)}): copy it again"
        ) from None
    text = metadata.get(KEY)
    if DIGEST in metadata and metadata[DIGEST] != _digest(text or "", tensors):
        raise ModelError(f"{path} is damaged: its SHA-256 is not the one in it. Copy it again")
    return _header(path, text), tensors


def _header(path: Path, text: str | None) -> Header:
    if text is None:
        raise ModelError(
            f"{path} contains tensors but no augnet model: augnet.model.save writes one"
        )
    if len(text) > MAX_HEADER:
        raise ModelError(f"{path} is damaged: its header has {len(text)} characters")
    try:
        found = json.loads(text)
        schema = found["schema_version"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise ModelError(f"{path} is damaged: its header has no schema_version") from None
    if type(schema) is not int or schema not in range(OLDEST, SCHEMA + 1):
        older = isinstance(schema, int) and schema < OLDEST
        raise ModelError(
            f"{path} was made by {'an older' if older else 'a newer'} version of augnet "
            f"({found.get('augnet')}), schema {schema}; augnet {augnet.__version__} reads schemas "
            f"{OLDEST} to {SCHEMA}: {'run augnet learn again' if older else 'upgrade augnet'}"
        )
    try:
        return Header(**found)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = first["msg"].removeprefix("Value error, ")
        raise ModelError(f"{path} is damaged: {f'{where}: ' if where else ''}{reason}") from None
    except (TypeError, RecursionError) as error:  # keys that are no names, or too deep
        raise ModelError(f"{path} is damaged: {one_line(error)}") from None


def fill(module: torch.nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Load tensors into a module; raise ModelError unless names and shapes are the same."""
    expected: dict[str, Any] = module.state_dict()
    missing, unknown = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected)
    misshapen = [
        f"{key} is {tuple(tensors[key].shape)} instead of {tuple(expected[key].shape)}"
        for key in sorted(expected.keys() & tensors.keys())
        if tensors[key].shape != expected[key].shape
    ]
    faults = [
        *(f"{key} is missing" for key in missing),
        *(f"{key} is unknown" for key in unknown),
        *misshapen,
    ]
    faults = faults or [
        f"{key} is {tensors[key].dtype}"
        for key, value in expected.items()
        if value.is_floating_point() != tensors[key].is_floating_point()
        or not (value.is_floating_point() or value.dtype == tensors[key].dtype)
    ]
    if faults:
        raise ModelError(
            f"{path} has other tensors than its trunk and transforms need: {_listing(faults)}"
        )
    if faults := _bad_values(tensors):
        raise ModelError(f"{path} is damaged: {_listing(faults)}")
    module.load_state_dict(tensors, assign=True)


def _bad_values(tensors: dict[str, Tensor]) -> list[str]:
    """Name tensors of mixed or unusual precision, and those that are not finite."""
    floats = {key: value for key, value in tensors.items() if value.is_floating_point()}
    dtypes = {value.dtype for value in floats.values()}
    if len(dtypes) > 1 or not dtypes <= set(FLOATS):
        return [f"its tensors are {', '.join(sorted(map(str, dtypes)))}, not all float32"]
    return [
        f"{key} has NaN or infinite values"
        for key, value in floats.items()
        if not bool(value.isfinite().all())
    ]


def _listing(faults: list[str]) -> str:
    more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
    return f"{'; '.join(faults[:3])}{more}"
