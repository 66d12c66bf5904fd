"""A model file: safetensors, whose metadata is a header in JSON. Reading it executes nothing."""

import json
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor

import augnet
from augnet import files
from augnet.model.header import SCHEMA, Header

KEY = "augnet"


class ModelError(ValueError):
    """A file that is not, or no longer, a model which can be loaded here."""


def write(path: Path, header: Header, tensors: dict[str, Tensor]) -> Path:
    """Write a model in one piece."""
    plain = {key: value.detach().cpu().contiguous() for key, value in tensors.items()}
    metadata = {KEY: header.model_dump_json(), "format": "pt"}
    return files.write(path, to_bytes(plain, metadata))


def read_header(path: Path) -> Header:
    """Read what a file says of itself, and none of its tensors."""
    return _open(path, with_tensors=False)[0]


def read(path: Path) -> tuple[Header, dict[str, Tensor]]:
    """Read a model."""
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
            f"{path} is truncated, or no safetensors file at all ({error}): copy it again"
        ) from None


def _header(path: Path, text: str | None) -> Header:
    if text is None:
        raise ModelError(f"{path} holds tensors but no augnet model: augnet.model.save writes one")
    try:
        found = json.loads(text)
        schema = found["schema_version"]
    except (ValueError, TypeError, KeyError):
        raise ModelError(f"{path} is damaged: its header is no table with a version") from None
    if not isinstance(schema, int) or schema > SCHEMA:
        raise ModelError(
            f"{path} was written by augnet {found.get('augnet')} in format {schema}; this is "
            f"augnet {augnet.__version__}, which reads formats up to {SCHEMA}: upgrade augnet"
        )
    try:
        return Header(**found)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ModelError(f"{path} is damaged: {where}: {first['msg']}") from None


def fill(module: torch.nn.Module, tensors: dict[str, Tensor], path: Path) -> None:
    """Put tensors into a module that was made from the header, and insist that they are its own."""
    expected: dict[str, Any] = module.state_dict()
    missing, unknown = sorted(expected.keys() - tensors.keys()), sorted(tensors.keys() - expected)
    shaped = [
        f"{key} is {tuple(tensors[key].shape)} instead of {tuple(expected[key].shape)}"
        for key in sorted(expected.keys() & tensors.keys())
        if tensors[key].shape != expected[key].shape
    ]
    faults = [
        *(f"{key} is missing" for key in missing),
        *(f"{key} is unknown" for key in unknown),
        *shaped,
    ]
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ModelError(
            f"{path} has other tensors than its trunk and transforms need: {'; '.join(faults[:3])}{more}"
        )
    module.load_state_dict(tensors, assign=True)
