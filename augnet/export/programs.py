"""Write the whole model as one file that runs without augnet: ONNX, or a torch program."""

import io
import json
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Generator, Tensor, nn

import augnet
from augnet.export.frozen import FixedParamsModel
from augnet.export.steps import transforms
from augnet.layers import AugmentationLayer, AugmentationModule
from augnet.model import Model, ModelError
from augnet.net import AugNet
from augnet.transforms import SamplePairing, Transform
from augnet.transforms.frequency import as_products
from augnet.validation import nearest

PROGRAMS = ("onnx", "pt2")
OPSET = 20
"""The first opset with the GridSample and DFT that transforms need."""
TOLERANCE = 1e-3
"""The largest difference from ONNX Runtime: of probabilities, or of values over their std."""


@dataclass(frozen=True)
class Program:
    """The content of a file, its metadata, and notes for the user."""

    content: bytes
    metadata: dict[str, Any]
    notes: tuple[str, ...] = ()


def program(model: Model, to: str, seed: int = 0, copies: int | None = None) -> Program:
    """Export a model as a program, with fixed params (see `FixedParamsModel`).

    Its input `x` (B, ...) is samples as they are read, in float32, in a batch of any size; its
    output is `probabilities` (B, K) or `values`. Raise ModelError if ONNX Runtime does not give the
    same outputs.
    """
    if to not in PROGRAMS:
        raise ValueError(f"unknown program {to!r}{nearest(to, PROGRAMS)}")
    if to == "onnx":
        _need_onnx()
    fixed = FixedParamsModel(model, seed, copies)
    metadata = {
        "augnet": augnet.__version__,
        "classes": list(model.header.classes),
        "seed": seed,
        "copies": fixed.copies,
        "shape": list(model.header.shape),
        "input_spec": _input_spec(model),
        "transforms": [step.description for step in transforms(model.net.augment)],
    }
    notes = tuple(
        f"{step.transform.name} is omitted: it needs other samples of the batch, and a program "
        "predicts each sample independently"
        for step in transforms(model.net.augment)
        if isinstance(step.transform, SamplePairing)
    )
    if to == "pt2":
        exported = _exported(fixed, model)
        file = io.BytesIO()
        with _quiet():
            torch.export.save(exported, file, extra_files={"augnet.json": json.dumps(metadata)})
        return Program(file.getvalue(), metadata, notes)
    try:
        content = _onnx(_portable(fixed, model), metadata)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(_reason(model, error)) from error
    x = _samples(model)
    worst = _difference(content, fixed, x)
    if worst > TOLERANCE:
        raise ModelError(
            f"the outputs of ONNX Runtime differ from those of augnet by up to {worst:.2g}: "
            f"nothing was written. {_reason(model)}"
        )
    checked = f"ONNX Runtime gives the same outputs, to {worst:.1g}, for {len(x)} random samples"
    return Program(content, metadata, (*notes, checked))


def _input_spec(model: Model) -> dict[str, Any] | None:
    """Return how samples are read and scaled, for those who predict others."""
    spec = model.header.input_spec
    return None if spec is None else spec.model_dump(mode="json")


def _exported(fixed: FixedParamsModel, model: Model) -> torch.export.ExportedProgram:
    """Trace the model for any batch size, on a batch of three."""
    batch = {"x": {0: torch.export.Dim("batch", min=1)}}
    try:
        with _quiet(), torch.no_grad():
            made = torch.export.export(fixed, (_samples(model, 3),), dynamic_shapes=batch)
    except Exception as error:  # torch documents no list of them
        raise ModelError(
            f"this trunk cannot be exported by torch ({type(error).__name__}: {_first(error)}): "
            "its forward must not depend on values or on the size of the batch"
        ) from error
    for part in made.graph_module.modules():
        for node in getattr(getattr(part, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)  # it has paths of this machine
    return made


def _portable(fixed: FixedParamsModel, model: Model) -> torch.export.ExportedProgram:
    """Trace the model for a runtime that is not torch."""
    with as_products(), torch.no_grad():
        fixed(_samples(model, 1))  # computes matrices before tracing
        return _exported(fixed, model)


def _onnx(exported: torch.export.ExportedProgram, metadata: dict[str, Any]) -> bytes:
    name = "probabilities" if metadata["classes"] else "values"
    with _quiet(), torch.no_grad():
        made = torch.onnx.export(
            exported, dynamo=True, verbose=False, opset_version=OPSET, output_names=[name]
        )
    assert made is not None
    proto = made.model_proto
    for node in (*proto.graph.node, *(n for f in proto.functions for n in f.node)):
        del node.metadata_props[:]  # internals of torch
    for key, value in metadata.items():
        entry = proto.metadata_props.add()
        entry.key = key
        entry.value = value if isinstance(value, str) else json.dumps(value)
    proto.producer_name, proto.producer_version = "augnet", augnet.__version__
    return proto.SerializeToString()


def _difference(content: bytes, fixed: FixedParamsModel, x: Tensor) -> float:
    """Return the largest difference between the outputs of ONNX Runtime and ours."""
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    with torch.no_grad():
        ours = fixed(x)
    theirs = torch.from_numpy(session.run(None, {"x": x.numpy()})[0])
    scale = 1.0 if fixed.classes else max(ours.std().item(), 1e-12)
    return (ours - theirs).abs().max().item() / scale


def _samples(model: Model, count: int = 8) -> Tensor:
    """Draw random samples in the range of the data."""
    draw = torch.rand if len(model.header.shape) == 3 else torch.randn
    x = draw(count, *model.header.shape, generator=Generator().manual_seed(0))
    spec = model.header.input_spec
    if spec is None:
        return x
    shape = (-1, *(1,) * (x.dim() - 2))
    center, scale = (torch.tensor(v).reshape(shape) for v in (spec.center, spec.scale))
    return x * scale + center


def _reason(model: Model, error: Exception | None = None) -> str:
    """Return which transforms cannot be exported to ONNX, by trying each alone."""
    failing = [each.name for each in _transforms(model) if not _exportable(each, model)]
    if failing:
        reason = f"ONNX cannot express {', '.join(failing)}: learn without, or use --to pt2"
    else:
        reason = f"the trunk {model.header.trunk} cannot be exported to ONNX: use --to pt2"
    return reason if error is None else f"{reason} ({type(error).__name__}: {_first(error)})"


def _transforms(model: Model) -> list[Transform]:
    augment = model.net.augment
    layers = augment if isinstance(augment, AugmentationModule) else ()
    return list(dict.fromkeys(transform for layer in layers for transform in layer.transforms))


def _exportable(transform: Transform, model: Model) -> bool:
    """Return whether a transform can be exported alone, with a trunk that returns its input."""
    augment = AugmentationModule(AugmentationLayer(transform))
    net = AugNet(augment, nn.Flatten(), "values", copies=2).eval()
    header = model.header.model_copy(update={"classes": (), "input_spec": None})
    alone = replace(model, net=net, header=header)
    fixed, x = FixedParamsModel(alone), _samples(alone)
    try:
        content = _onnx(_portable(fixed, alone), {"classes": []})
        return _difference(content, fixed, x) < TOLERANCE
    except Exception:  # exporters and runtimes document no list of errors
        return False


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"ONNX needs packages that are not installed ({error}): pip install 'augnet[onnx]'"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the messages of exporters, which are about their internals."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200]
