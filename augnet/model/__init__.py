"""A learned network as a file: what it does, what was found, and how its samples were read.

net, answers, reading ──► header (JSON) + tensors ──► one safetensors file, and back

header   all of a model but its tensors, with a version
trunks   trunks by name
file     reading and writing, and every reason to refuse a file
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.aggregate import AGGREGATES
from augnet.learn.inputs import Scaled
from augnet.learn.result import Invariance
from augnet.model import file
from augnet.model.file import ModelError, read_header
from augnet.model.header import Answer, Header, Net, augment_of, layers_of
from augnet.net import AugNet, Prediction
from augnet.trunks import TRUNKS, build_trunk

__all__ = ["Header", "Model", "ModelError", "load", "load_augment", "read_header", "save"]


@dataclass(frozen=True)
class Model:
    """A network, and all that a file says of it."""

    net: AugNet
    header: Header

    @classmethod
    def of(cls, net: AugNet, shape: tuple[int, ...], trunk: str = "small", **said: Any) -> "Model":
        """Describe a network for samples of a shape; `said` are other fields of `Header`.

        `answers` may be given as `learn` gives them.
        """
        answers = said.pop("answers", ())
        name = net.meaning
        if AGGREGATES.get(name) is not net.aggregate:
            raise TypeError(f"a model file holds aggregates by name: {', '.join(AGGREGATES)}")
        if isinstance(net.trunk, Scaled):
            said["values"] = tuple(net.trunk.mean.shape)
        header = Header(
            trunk=trunk,
            shape=shape,
            layers=layers_of(net.augment),
            net=Net(aggregate=name, copies=net.copies, sampling=net.sampling),
            answers=tuple(Answer.of(a) if isinstance(a, Invariance) else a for a in answers),
            **said,
        )
        return cls(net, header)

    @property
    def invariances(self) -> tuple[Invariance, ...]:
        """What was found, per transform."""
        return tuple(answer.build() for answer in self.header.answers)

    def prepare(self, x: Tensor) -> Tensor:
        """Bring samples, as they are read, to the numbers that the network takes."""
        return x.float() if self.header.reading is None else self.header.reading.prepare(x)

    @torch.no_grad()
    def outputs(self, x: Tensor, seed: int = 0, batch: int = 256) -> Tensor:
        """Give scores or values of samples as they were read.

        Each batch has dice of its own, so that the answer to a sample does not depend on what comes
        after its batch.
        """
        return torch.cat([self.net(part, dice) for part, dice in self._batches(x, seed, batch)])

    def predict(
        self, x: Tensor, tolerance: float = 0.05, seed: int = 0, batch: int = 256
    ) -> Prediction:
        """Give the same with no more copies of a sample than its answer takes."""
        parts = [
            self.net.predict(part, tolerance, dice) for part, dice in self._batches(x, seed, batch)
        ]
        return Prediction(*(torch.cat(each) for each in zip(*parts, strict=True)))

    def _batches(self, x: Tensor, seed: int, batch: int) -> Iterator[tuple[Tensor, Generator]]:
        self.net.eval()
        for number, part in enumerate(x.split(batch)):
            yield self.prepare(part), Generator().manual_seed(seed + 1_000_003 * number)


def save(model: Model, path: str | Path) -> Path:
    """Write a model to one file, in one piece."""
    return file.write(Path(path), model.header, model.net.state_dict())


def load(path: str | Path, trunk: nn.Module | None = None) -> Model:
    """Read a model; `path` may be the directory that `augnet learn` wrote.

    Nothing in the file is executed. A trunk that is not one of augnet's own has to be given.
    """
    path = Path(path)
    header, tensors = file.read(path)
    if trunk is None and header.trunk not in TRUNKS:
        raise ModelError(
            f"{path} has the trunk {header.trunk!r}, which a file may not import: give it "
            "yourself, as trunk=... in Python or --trunk on the command line"
        )
    if bool(header.classes) == (header.values is not None):
        raise ModelError(f"{path} is damaged: it predicts neither classes nor values, or both")
    try:
        net = _build(header, trunk)
    except (TypeError, ValueError, KeyError) as error:
        raise ModelError(
            f"{path} cannot be built here: {error}. Transforms of your own are to be registered, by "
            "importing their module, before the file is read"
        ) from None
    file.fill(net, tensors, path)
    return Model(net.eval(), header)


def load_augment(path: str | Path) -> Any:
    """Read the augmentation alone, whatever the trunk: layers, or the identity."""
    path = Path(path)
    header, tensors = file.read(path)
    try:
        augment = augment_of(header.layers)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{path} has transforms that are not known here: {error}") from None
    if isinstance(augment, nn.Module):
        mine = {k.removeprefix("augment."): v for k, v in tensors.items() if "augment." in k[:8]}
        file.fill(augment, mine, path)
        augment.eval()
    return augment


def _build(header: Header, trunk: nn.Module | None) -> AugNet:
    if trunk is None:  # without memory: a damaged shape costs nothing
        outputs = len(header.classes) or max(1, torch.Size(header.values or ()).numel())
        with torch.device("meta"):
            trunk = build_trunk(header.trunk, header.shape, outputs)
    if header.values is not None and not isinstance(trunk, Scaled):
        trunk = Scaled(trunk, torch.zeros(header.values), torch.ones(header.values))
    how = header.net
    return AugNet(
        augment_of(header.layers), trunk, how.aggregate, how.copies, sampling=how.sampling
    )
