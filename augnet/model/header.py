"""What a model file says about its tensors, in JSON."""

from dataclasses import fields
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue

import augnet
from augnet.data.reading import Finite, Reading, Size
from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.layers.layer import Mixing
from augnet.learn.result import Invariance
from augnet.transforms import Transform, build_transforms

SCHEMA = 1
"""Grows when older versions can no longer read what newer ones write."""


class Table(BaseModel):
    """A table whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Layer(Table):
    """A layer's transforms, as tables, and how it chooses among them; what it learned is in tensors."""

    transforms: tuple[dict[str, JsonValue], ...]
    temperature: Finite = 1.0
    tolerance: Finite = 1e-3
    mixing: Mixing = "weighted"

    @classmethod
    def of(cls, layer: AugmentationLayer) -> "Layer":
        """Describe a layer."""
        return cls(
            transforms=tuple(table(transform) for transform in layer.transforms),
            temperature=layer.temperature,
            tolerance=layer.tolerance,
            mixing=layer.mixing,
        )

    def build(self) -> AugmentationLayer:
        """Make the layer; its weights and magnitudes are those of every new one."""
        return AugmentationLayer(
            *build_transforms(self.transforms),
            temperature=self.temperature,
            tolerance=self.tolerance,
            mixing=self.mixing,
        )


class Answer(Table):
    """What was found about one transform."""

    transform: dict[str, JsonValue]
    verdict: Literal["none", "within", "at least"]
    strength: Finite
    interval: tuple[Finite, Finite]
    weight: Finite | None = None
    agree: tuple[int, int] = (1, 1)
    """How many seeds say so, of how many."""

    @classmethod
    def of(cls, row: Invariance) -> "Answer":
        """Describe an invariance."""
        return cls(
            transform=table(row.transform),
            verdict=row.verdict,
            strength=row.strength,
            interval=row.interval,
            weight=row.weight,
            agree=row.agree,
        )

    def build(self) -> Invariance:
        """Make the invariance."""
        (transform,) = build_transforms(self.transform)
        return Invariance(
            transform, self.verdict, self.strength, self.interval, self.weight, self.agree
        )


class Net(Table):
    """How predictions for copies become one."""

    aggregate: str
    copies: Size
    sampling: Literal["independent", "stratified"] = "independent"


class Header(Table):
    """All of a model but its tensors."""

    schema_version: int = SCHEMA
    augnet: str = augnet.__version__
    trunk: str
    """A name of `augnet.trunks.named`, or a module:Class, which is never imported unasked."""
    shape: tuple[Size, ...]
    """Of one sample, as the network takes it."""
    classes: tuple[str, ...] = ()
    """Their names, in the order of the network's outputs; none for values."""
    values: tuple[Size, ...] | None = None
    """The shape of one target, where it is values."""
    layers: tuple[Layer, ...]
    net: Net
    reading: Reading | None = None
    answers: tuple[Answer, ...] = ()
    settings: dict[str, JsonValue] = {}
    """How it was learned, for who reads it later."""
    measured: dict[str, JsonValue] = {}
    """How well it does on samples that it was not learned from."""


def table(transform: Transform) -> dict[str, Any]:
    """Write a transform as the table that `transforms` reads."""
    given = {
        field.name: getattr(transform, field.name) for field in fields(transform) if field.init
    }
    return {"name": transform.name} | {key: _plain(value) for key, value in given.items()}


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def augment_of(layers: tuple[Layer, ...]) -> Any:
    """Make the augmentation; with no layers, the identity."""
    return AugmentationModule(*(layer.build() for layer in layers)) if layers else identity


def layers_of(augment: Any) -> tuple[Layer, ...]:
    """Describe an augmentation that a file can hold."""
    if augment is identity:
        return ()
    if isinstance(augment, AugmentationModule):
        return tuple(Layer.of(layer) for layer in augment)
    raise TypeError(
        "a model file holds augmentation layers, or none (identity); this net augments by "
        f"{type(augment).__name__}: save its state_dict() yourself"
    )
