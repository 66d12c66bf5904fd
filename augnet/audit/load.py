"""Load a model: augnet's own, ONNX, a torch.export program, or module:function.

Only `module:function` and a program that is trusted run code of others.
"""

import importlib
import inspect
import json
import logging
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from augnet.text import one_line

if TYPE_CHECKING:  # these need more packages than the core
    from augnet.data.input_spec import InputSpec
    from augnet.model import Model

PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".ckpt", ".joblib")


class AuditError(ValueError):
    """A model cannot be audited: it cannot be loaded, fails, or gives no predictions."""


@dataclass(frozen=True)
class Loaded:
    """A function from a batch to outputs, and what its file says about it."""

    function: Any
    name: str
    classes: tuple[str, ...] = ()
    """The names of its outputs, if known."""
    raw: bool = False
    """Whether it takes samples as they are in their files."""
    spec: "InputSpec | None" = None
    """How its samples are read, if known."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Those of `augnet learn`, which trained it."""


def load_model(model: Any, trust: bool = False, trunk: str | None = None) -> Loaded:
    """Load a model by its path or name; others are returned as they are.

    `trust` allows to unpickle a torch.export program, which can run anything. `trunk` is the
    module:Class of a model of augnet whose trunk is not one of augnet's.
    """
    if isinstance(model, Loaded):
        return model
    own = sys.modules.get("augnet.model")  # a Model cannot come from elsewhere
    if own is not None and isinstance(model, own.Model):
        return _own(model, "the model")
    if not isinstance(model, str | Path):
        return Loaded(model, getattr(model, "__name__", type(model).__name__))
    path, suffix = Path(model), Path(model).suffix.lower()
    if suffix == ".onnx":
        return _onnx(path)
    if suffix == ".pt2":
        return _program(path, trust)
    if suffix in PICKLES:
        raise AuditError(
            f"{path} is a pickle, which can run anything: export the model as .onnx, or give a "
            "module:function that builds it"
        )
    if ":" in str(model) and not path.exists():
        return Loaded(_imported(str(model)), str(model))
    return _own(_read(path, trunk), str(path))


def _read(path: Path, trunk: str | None) -> "Model":
    """Read a model file; a trunk that is not augnet's is imported because the user names it."""
    from augnet.model import load, read_header
    from augnet.trunks import build_trunk

    if trunk is None or ":" not in trunk:
        return load(path)
    header = read_header(path)
    outputs = len(header.classes) or prod(header.values or ())
    return load(path, build_trunk(trunk, header.shape, outputs))


def _own(model: "Model", name: str) -> Loaded:
    header = model.header

    def run(x: Tensor) -> Tensor:
        return model.outputs(x.cpu())

    return Loaded(
        run,
        name,
        header.classes,
        True,
        header.input_spec,
        header.settings,
    )


def _onnx(path: Path) -> Loaded:
    """Open an ONNX file with ONNX Runtime."""
    _expect_file(path)
    try:
        import onnxruntime
    except ImportError:
        raise AuditError("an .onnx model needs onnxruntime: pip install 'augnet[onnx]'") from None
    try:
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime documents no list of them
        raise AuditError(f"{path} cannot be read by ONNX Runtime: {one_line(error)}") from None
    inputs = session.get_inputs()
    if len(inputs) != 1:
        raise AuditError(f"{path} has {len(inputs)} inputs; a model to audit has one")
    types = {"tensor(double)": torch.float64, "tensor(float16)": torch.float16}
    dtype = types.get(inputs[0].type, torch.float32)
    if not inputs[0].shape:
        raise AuditError(f"the input of {path} is a single value; a model to audit takes a batch")
    fixed = inputs[0].shape[0] if isinstance(inputs[0].shape[0], int) else None

    def run(x: Tensor) -> Tensor:
        parts = []
        for part in x.split(fixed or len(x)):
            missing = (fixed or len(part)) - len(part)
            padded = torch.cat((part, part[-1:].expand(missing, *part.shape[1:])))
            given = {inputs[0].name: padded.to("cpu", dtype).contiguous().numpy()}
            parts.append(torch.from_numpy(session.run(None, given)[0])[: len(part)])
        return torch.cat(parts)

    return _described(run, path, session.get_modelmeta().custom_metadata_map)


def _described(function: Any, path: Path, metadata: Mapping[str, Any]) -> Loaded:
    """Return a program with what `augnet export` wrote into its metadata."""
    if "augnet" not in metadata:
        return Loaded(function, str(path))
    from augnet.data.input_spec import InputSpec

    try:
        classes, spec = (_plain(metadata.get(name)) for name in ("classes", "input_spec"))
        names = tuple(map(str, classes or ()))
        known = None if spec is None else InputSpec.model_validate(spec)
    except (TypeError, ValueError, RecursionError) as error:
        raise AuditError(
            f"the metadata of {path} is damaged ({one_line(error)}): export the model again"
        ) from None
    return Loaded(function, str(path), names, True, known)


def _plain(value: Any) -> Any:
    """Read a value of metadata, which ONNX stores as text."""
    return json.loads(value) if isinstance(value, str) else value


def _program(path: Path, trust: bool) -> Loaded:
    """Load a torch.export program, whose weights and constants torch may unpickle."""
    _expect_file(path)
    if not trust:
        raise AuditError(
            f"{path} is unpickled by torch.export.load, which can run anything: use .onnx, or say "
            "--trust (trust=True) if you made this file"
        )
    extra = {"augnet.json": ""}
    log = logging.getLogger("torch.export")
    before = log.level
    log.setLevel(logging.CRITICAL)  # it would print a traceback
    try:
        made = torch.export.load(path, extra_files=extra)
        metadata = json.loads(extra["augnet.json"] or "{}")
    except Exception as error:  # torch documents no list of them
        raise AuditError(f"{path} cannot be loaded by torch.export: {one_line(error)}") from None
    finally:
        log.setLevel(before)
    return _described(made.module(), path, metadata)


def _imported(name: str) -> Any:
    """Import a model, or a function without arguments that builds one."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise AuditError(
            f"model {name!r} cannot be imported ({one_line(error)}): is its folder in PYTHONPATH?"
        ) from None
    except (Exception, SystemExit) as error:  # whatever the module does
        raise AuditError(f"importing {module} fails: {_describe(error)}") from error
    builds = inspect.isclass(found) or (inspect.isroutine(found) and not _required(found))
    try:
        return found() if builds else found
    except (Exception, SystemExit) as error:
        raise AuditError(f"{name} fails to build a model: {_describe(error)}") from error


def _describe(error: BaseException) -> str:
    """Describe what code of others raised."""
    if isinstance(error, SystemExit):
        return "it ends the program"
    return f"{type(error).__name__}: {one_line(error)}"


def _required(function: Callable[..., Any]) -> bool:
    """Whether a function needs an argument, and so predicts."""
    parameters = inspect.signature(function).parameters.values()
    return any(
        each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        for each in parameters
    )


def _expect_file(path: Path) -> None:
    if not path.is_file():
        raise AuditError(f"{path} does not exist" if not path.exists() else f"{path} is no file")
