"""The whole averaged model as one file that runs without augnet: ONNX, or torch's own program."""

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
from augnet.export.frozen import Frozen
from augnet.export.steps import steps
from augnet.layers import AugmentationLayer, AugmentationModule
from augnet.model import Model, ModelError
from augnet.net import AugNet
from augnet.transforms import SamplePairing, Transform
from augnet.transforms.frequency import as_products
from augnet.validation import nearest

PROGRAMS = ("onnx", "pt2")
OPSET = 20
"""The first whose GridSample and DFT are those that transforms need."""
TOLERANCE = 1e-3
"""By how much ONNX Runtime may differ: in probabilities, or in parts of the spread of values."""


@dataclass(frozen=True)
class Program:
    """The bytes of a file, what they say of themselves, and what should be known about them."""

    content: bytes
    said: dict[str, Any]
    notes: tuple[str, ...] = ()


def program(model: Model, to: str, seed: int = 0, copies: int | None = None) -> Program:
    """Write a model as a program, with its dice frozen (see `Frozen`) and a free batch size.

    Its input `x` (B, ...) is in float32, samples as they are read; its output is `probabilities`
    (B, K) or `values`. What ONNX Runtime answers is compared with what we do before anything is
    given away.
    """
    if to not in PROGRAMS:
        raise ValueError(f"unknown program {to!r}{nearest(to, PROGRAMS)}")
    if to == "onnx":
        _need_onnx()
    frozen = Frozen(model, seed, copies)
    said = {
        "augnet": augnet.__version__,
        "classes": list(model.header.classes),
        "seed": seed,
        "copies": frozen.copies,
        "shape": list(model.header.shape),
        "transforms": [step.says for layer in steps(model.net.augment) for step in layer],
    }
    notes = tuple(
        f"{step.transform.name} is left out: it blends a sample with others, and this model answers "
        "each for itself"
        for layer in steps(model.net.augment)
        for step in layer
        if isinstance(step.transform, SamplePairing)
    )
    if to == "pt2":
        exported = _exported(frozen, model)
        file = io.BytesIO()
        with _quiet():
            torch.export.save(exported, file, extra_files={"augnet.json": json.dumps(said)})
        return Program(file.getvalue(), said, notes)
    try:
        content = _onnx(_portable(frozen, model), said)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(_reason(model, error)) from error
    x = _samples(model)
    worst = _difference(content, frozen, x)
    if worst > TOLERANCE:
        raise ModelError(
            f"ONNX Runtime answers otherwise than augnet does, by up to {worst:.2g}: nothing was "
            f"written. {_reason(model)}"
        )
    told = f"ONNX Runtime gives the same answers, to {worst:.1g}, for {len(x)} made-up samples"
    return Program(content, said, (*notes, told))


def _exported(frozen: Frozen, model: Model) -> torch.export.ExportedProgram:
    """Trace the model; a batch of three stands for one of any size."""
    batch = {"x": {0: torch.export.Dim("batch", min=1)}}
    try:
        with _quiet(), torch.no_grad():
            made = torch.export.export(frozen, (_samples(model, 3),), dynamic_shapes=batch)
    except Exception as error:  # of many kinds, all of them about the same
        raise ModelError(
            f"this trunk cannot be exported by torch ({type(error).__name__}: {_first(error)}): "
            "its forward must not depend on values or on the size of the batch"
        ) from error
    for part in made.graph_module.modules():
        for node in getattr(getattr(part, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)  # the paths of this machine are nobody's business
    return made


def _portable(frozen: Frozen, model: Model) -> torch.export.ExportedProgram:
    """Trace the model for a runtime that is not torch."""
    with as_products(), torch.no_grad():
        frozen(_samples(model, 1))  # matrices are made now, not in the graph
        return _exported(frozen, model)


def _onnx(exported: torch.export.ExportedProgram, said: dict[str, Any]) -> bytes:
    name = "probabilities" if said["classes"] else "values"
    with _quiet(), torch.no_grad():
        made = torch.onnx.export(
            exported, dynamo=True, verbose=False, opset_version=OPSET, output_names=[name]
        )
    assert made is not None
    proto = made.model_proto
    for node in (*proto.graph.node, *(n for f in proto.functions for n in f.node)):
        del node.metadata_props[:]  # of torch's insides
    for key, value in said.items():
        entry = proto.metadata_props.add()
        entry.key = key
        entry.value = value if isinstance(value, str) else json.dumps(value)
    proto.producer_name, proto.producer_version = "augnet", augnet.__version__
    return proto.SerializeToString()


def _difference(content: bytes, frozen: Frozen, x: Tensor) -> float:
    """Say by how much ONNX Runtime's answers differ from ours, at most."""
    import onnxruntime

    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    with torch.no_grad():
        ours = frozen(x)
    theirs = torch.from_numpy(session.run(None, {"x": x.numpy()})[0])
    scale = 1.0 if frozen.classes else max(ours.std().item(), 1e-12)
    return (ours - theirs).abs().max().item() / scale


def _samples(model: Model, count: int = 8) -> Tensor:
    """Make up samples as they may be read."""
    draw = torch.rand if len(model.header.shape) == 3 else torch.randn
    x = draw(count, *model.header.shape, generator=Generator().manual_seed(0))
    reading = model.header.reading
    if reading is None:
        return x
    around = (-1, *(1,) * (x.dim() - 2))
    center, scale = (torch.tensor(v).reshape(around) for v in (reading.center, reading.scale))
    return x * scale + center


def _reason(model: Model, error: Exception | None = None) -> str:
    """Find out which transforms cannot be written in ONNX, by trying each alone."""
    guilty = [transform.name for transform in _transforms(model) if not _writable(transform, model)]
    if guilty:
        said = f"ONNX cannot express {', '.join(guilty)}: learn without, or use --to pt2"
    else:
        said = f"the trunk {model.header.trunk} cannot be written in ONNX: use --to pt2"
    return said if error is None else f"{said} ({type(error).__name__}: {_first(error)})"


def _transforms(model: Model) -> list[Transform]:
    augment = model.net.augment
    layers = augment if isinstance(augment, AugmentationModule) else ()
    return list(dict.fromkeys(transform for layer in layers for transform in layer.transforms))


def _writable(transform: Transform, model: Model) -> bool:
    """Try a transform alone, with a trunk that gives the view itself."""
    augment = AugmentationModule(AugmentationLayer(transform))
    net = AugNet(augment, nn.Flatten(), "values", copies=2).eval()
    header = model.header.model_copy(update={"classes": (), "reading": None})
    alone = replace(model, net=net, header=header)
    frozen, x = Frozen(alone), _samples(alone)
    try:
        content = _onnx(_portable(frozen, alone), {"classes": []})
        return _difference(content, frozen, x) < TOLERANCE
    except Exception:  # exporters and runtimes raise what they like; that they do is the answer
        return False


def _need_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise ModelError(
            f"ONNX takes packages that are not here ({error}): pip install 'augnet[onnx]'"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporters' notes to themselves, which are about their own insides."""
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
