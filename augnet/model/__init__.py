"""Save a learned network as one file, with its invariances and how its samples are read.

net, invariances, input_spec ──► header (JSON) + tensors ──► one safetensors file, and back

header   everything about a model but its tensors
file     reading and writing, and every reason to refuse a file
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet import files, validation
from augnet.aggregate import AGGREGATES
from augnet.learn.inputs import Scaled
from augnet.learn.result import Invariance
from augnet.model import file
from augnet.model.file import ModelError, read_header
from augnet.model.header import Header, InvarianceRecord, Net, build_augment, describe_layers
from augnet.net import TOLERANCE, AugNet, Prediction
from augnet.text import one_line
from augnet.trunks import TRUNKS, build_trunk

__all__ = [
    "Header",
    "Model",
    "ModelError",
    "load",
    "load_augment",
    "read_header",
    "save",
    "to_bytes",
]


@dataclass(frozen=True)
class Model:
    """A network in eval mode, and its description. Predicting changes neither."""

    net: AugNet
    header: Header

    @classmethod
    def of(
        cls, net: AugNet, shape: tuple[int, ...], trunk: str = "small", **fields: Any
    ) -> "Model":
        """Describe a network for samples of a shape; `fields` are other fields of `Header`.

        The network is put into eval mode. `invariances` may be those of `learn`.
        """
        invariances = fields.pop("invariances", ())
        name = net.meaning
        if AGGREGATES.get(name) is not net.aggregate:
            raise TypeError(
                f"a model file stores the name of an aggregate: {', '.join(AGGREGATES)}"
            )
        if isinstance(net.trunk, Scaled):
            fields["values"] = tuple(net.trunk.mean.shape)
        header = Header(
            trunk=trunk,
            shape=shape,
            layers=describe_layers(net.augment),
            net=Net(aggregate=name, copies=net.copies, sampling=net.sampling),
            invariances=tuple(
                InvarianceRecord.of(row) if isinstance(row, Invariance) else row
                for row in invariances
            ),
            **fields,
        )
        return cls(net.eval(), header)

    @property
    def invariances(self) -> tuple[Invariance, ...]:
        """One invariance per transform."""
        return tuple(row.build() for row in self.header.invariances)

    def prepare(self, x: Tensor) -> Tensor:
        """Scale samples, as they are read, for the network."""
        return x.float() if self.header.input_spec is None else self.header.input_spec.prepare(x)

    @torch.no_grad()
    def outputs(
        self, x: Tensor, seed: int = 0, batch: int = 256, copies: int | None = None
    ) -> Tensor:
        """Return the logits or values of samples as they are read.

        Each batch has its own generator, so that the outputs for a sample do not depend on later
        batches. `copies` replaces those of the network.
        """
        batches = self._batches(x, seed, batch)
        return _finite(torch.cat([self.net(part, source, copies) for part, source in batches]))

    def predict(
        self,
        x: Tensor,
        tolerance: float = TOLERANCE,
        seed: int = 0,
        batch: int = 256,
        copies: int | None = None,
    ) -> Prediction:
        """Return the same with stratified copies, more of them only where an answer needs them.

        See `AugNet.predict`; at tolerance 0 all samples get all copies. The tolerance of values is
        in standard deviations of the targets.
        """
        if isinstance(self.net.trunk, Scaled):
            tolerance *= self.net.trunk.scale.abs().min().item()
        parts = [
            self.net.predict(part, tolerance, generator, copies=copies)
            for part, generator in self._batches(x, seed, batch)
        ]
        output, used = (torch.cat(each) for each in zip(*parts, strict=True))
        return Prediction(_finite(output), used)

    @torch.no_grad()
    def trunk_outputs(self, x: Tensor, batch: int = 256) -> Tensor:
        """Return the logits or values of the trunk alone, without copies."""
        batches = self._batches(x, 0, batch)
        return _finite(torch.cat([self.net.trunk(part) for part, _ in batches]))

    def _batches(self, x: Tensor, seed: int, batch: int) -> Iterator[tuple[Tensor, Generator]]:
        if any(module.training for module in self.net.modules()):
            raise RuntimeError("this model is being trained: call model.net.eval() first")
        dtype = next((each.dtype for each in self.net.parameters()), torch.float32)
        for number, part in enumerate(x.split(batch)):
            yield self.prepare(part).to(dtype), Generator().manual_seed(seed + 1_000_003 * number)


def _finite(output: Tensor) -> Tensor:
    """Refuse predictions that are no numbers."""
    validation.finite(
        output,
        "the model predicts NaN or infinite values: its weights or these samples are too large",
    )
    return output


def save(model: Model, path: str | Path) -> Path:
    """Write a model to one file, atomically."""
    return files.write(Path(path), to_bytes(model))


def to_bytes(model: Model) -> bytes:
    """Return the content of the file of a model."""
    return file.to_bytes(model.header, model.net.state_dict())


def load(path: str | Path, trunk: nn.Module | None = None) -> Model:
    """Read a model; `path` may be the directory that `augnet learn` wrote.

    Nothing in the file is executed. A trunk that is not one of augnet's has to be passed.
    """
    path = Path(path)
    header, tensors = file.read(path)
    if trunk is None and header.trunk not in TRUNKS:
        raise ModelError(
            f"{path} has the trunk {header.trunk!r}, which a file may not import: pass it "
            "as trunk=... in Python or --trunk on the command line"
        )
    if bool(header.classes) == (header.values is not None):
        raise ModelError(f"{path} is damaged: it has neither classes nor values, or both")
    try:
        net = _build(header, trunk, "meta")  # as a damaged shape may need any amount of memory
    except (TypeError, ValueError, KeyError, RuntimeError, ArithmeticError) as error:
        raise ModelError(
            f"{path} cannot be built: {one_line(error)}. Register transforms of your own, by "
            "importing their module, before the file is read"
        ) from None
    file.fill(net, tensors, path)
    if any(each.is_meta for each in net.buffers()):  # some are not in the file, but computed
        net = _build(header, trunk, "cpu")
        file.fill(net, tensors, path)
    return Model(net.eval(), header)


def load_augment(path: str | Path) -> Any:
    """Read the augmentation only, for any trunk: an AugmentationModule, or the identity."""
    path = Path(path)
    header, tensors = file.read(path)
    try:
        augment = build_augment(header.layers)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise ModelError(f"{path} has unknown transforms: {one_line(error)}") from None
    if isinstance(augment, nn.Module):
        prefix = "augment."
        own = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
        file.fill(augment, own, path)
        augment.eval()
    return augment


def _build(header: Header, trunk: nn.Module | None, device: str) -> AugNet:
    with torch.device(device):
        if trunk is None:
            outputs = len(header.classes) or max(1, math.prod(header.values or ()))
            trunk = build_trunk(header.trunk, header.shape, outputs)
        if header.values is not None and not isinstance(trunk, Scaled):
            trunk = Scaled(trunk, torch.zeros(header.values), torch.ones(header.values))
    options = header.net
    return AugNet(
        build_augment(header.layers),
        trunk,
        options.aggregate,
        options.copies,
        sampling=options.sampling,
    )
