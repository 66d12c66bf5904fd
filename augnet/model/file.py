"""Read and write model files: safetensors with a header in JSON. Reading executes nothing."""

import json
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialize
from torch import Tensor

import augnet
from augnet.model.header import OLDEST, SCHEMA, Header
from augnet.validation import FLOATS

KEY = "augnet"


class ModelError(ValueError):
    """A file that cannot be loaded as a model."""


def to_bytes(header: Header, tensors: dict[str, Tensor]) -> bytes:
    """Return the content of a model file."""
    plain = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    if faults := _bad_values(plain):
        raise ModelError(f"this model cannot be saved: {_listing(faults)}")
    current = header.model_copy(update={"schema_version": SCHEMA})  # the file read may be older
    metadata = {KEY: current.model_dump_json(), "format": "pt"}
    return serialize(plain, metadata)


def read_header(path: Path) -> Header:
    """Read the header of a model file, without its tensors."""
    return _open(path, with_tensors=False)[0]


def read(path: Path) -> tuple[Header, dict[str, Tensor]]:
    """Read the header and the tensors of a model file."""
    return _open(path, with_tensors=True)


def _open(path: Path, with_tensors: bool) -> tuple[Header, dict[str, Tensor]]:
    if not path.exists():
        raise ModelError(f"{path} does not exist")
    if path.is_dir():
        path = path / "model.safetensors"
        if not path.exists():
            raise ModelError(f"{path.parent} has no model.safetensors: has augnet learn finished?")
    try:
        with safe_open(path, framework="pt") as file:
            header = _header(path, (file.metadata() or {}).get(KEY))
            return header, {key: file.get_tensor(key) for key in file.keys() if with_tensors}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ModelError(
            f"{path} is truncated, or not a safetensors file ({error}): copy it again"
        ) from None


def _header(path: Path, text: str | None) -> Header:
    if text is None:
        raise ModelError(
            f"{path} contains tensors but no augnet model: augnet.model.save writes one"
        )
    try:
        found = json.loads(text)
        schema = found["schema_version"]
    except (ValueError, TypeError, KeyError):
        raise ModelError(f"{path} is damaged: its header has no schema_version") from None
    if schema not in range(OLDEST, SCHEMA + 1):
        older = isinstance(schema, int) and schema < OLDEST
        raise ModelError(
            f"{path} was made by {'an older' if older else 'a newer'} version of augnet "
            f"({found.get('augnet')}), schema {schema}; augnet {augnet.__version__} reads schemas "
            f"{OLDEST} to {SCHEMA}: {'run augnet learn again' if older else 'upgrade augnet'}"
        )
    try:
        return Header(**found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelError(f"{path} is damaged: {where}: {first['msg']}") from None


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
