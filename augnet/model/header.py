"""The header of a model file, in JSON: everything but the tensors."""

import sys
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

import augnet
from augnet.data.input_spec import Finite, InputSpec, Size
from augnet.layers import AugmentationLayer, AugmentationModule, identity
from augnet.layers.layer import Mixing
from augnet.learn.parts import CurvePoint, PartRange
from augnet.learn.result import Invariance, InvarianceResult, Status
from augnet.text import MAX_NAME, printable
from augnet.transforms import Bernoulli, Transform, build_transforms

SCHEMA = 3
"""The version of the format."""
OLDEST = 2
"""The oldest version that is read: its files lack optional fields only."""


MAX_COPIES = 10_000
MAX_CLASSES = 10_000
MAX_ROWS = 1000
"""Layers and transforms, at most: a file with more is damaged, or would run for hours."""
Spec: TypeAlias = dict[str, JsonValue]
Name: TypeAlias = Annotated[str, Field(max_length=MAX_NAME)]


class StrictModel(BaseModel):
    """A part of the header; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Layer(StrictModel):
    """The transforms of a layer and its options; weights and magnitudes are tensors of the file."""

    transforms: Annotated[tuple[Spec, ...], Field(min_length=1, max_length=MAX_ROWS)]
    temperature: Finite = 1.0
    tolerance: Finite = 1e-3
    mixing: Mixing = "weighted"
    edges: Annotated[Finite, Field(ge=0, le=1)] = 0.0

    @classmethod
    def of(cls, layer: AugmentationLayer) -> "Layer":
        """Return the description of a layer."""
        return cls(
            transforms=tuple(to_spec(transform) for transform in layer.transforms),
            temperature=layer.temperature,
            tolerance=layer.tolerance,
            mixing=layer.mixing,
            edges=layer.edges,
        )

    def build(self) -> AugmentationLayer:
        """Build the layer, with initial weights and magnitudes."""
        return AugmentationLayer(
            *build_transforms(self.transforms),
            temperature=self.temperature,
            tolerance=self.tolerance,
            mixing=self.mixing,
            edges=self.edges,
        )


class PartRecord(StrictModel):
    """One `PartRange`, in JSON."""

    name: Name
    status: Status
    strength: Finite
    interval: tuple[Finite, Finite]
    samples: int
    reason: str = ""


class PointRecord(StrictModel):
    """One `CurvePoint`, in JSON."""

    strength: Finite
    fraction: Finite
    added: Finite
    interval: tuple[Finite, Finite]
    changed: Finite


class InvarianceRecord(StrictModel):
    """One `Invariance`, in JSON."""

    transform: Spec
    status: Status
    strength: Finite
    interval: tuple[Finite, Finite]
    weight: Finite | None = None
    seeds_agreeing: tuple[int, int] = (1, 1)
    """How many seeds have this status, of how many."""
    cost: Finite | None = None
    """The error that the transform adds at `strength`, on held-out samples."""
    reason: str = ""
    """Why the status is `unclear`."""
    benefit: Finite | None = None
    """By how much training with it improves predictions of samples as they are."""
    by_class: Annotated[tuple[PartRecord, ...], Field(max_length=MAX_CLASSES)] = ()
    """The range of each class."""
    by_direction: Annotated[tuple[PartRecord, ...], Field(max_length=2)] = ()
    """The ranges of the two directions, if they differ."""
    curve: Annotated[tuple[PointRecord, ...], Field(max_length=MAX_ROWS)] = ()
    """The error that each strength adds."""
    response: Annotated[tuple[tuple[Finite, Finite], ...], Field(max_length=MAX_ROWS)] = ()
    """The response curve: strengths, and the error that each adds on held-out samples."""

    @classmethod
    def of(cls, row: Invariance) -> "InvarianceRecord":
        """Return the record of an invariance."""
        return cls(
            transform=to_spec(row.transform),
            status=row.status,
            strength=row.strength,
            interval=row.interval,
            weight=row.weight,
            seeds_agreeing=row.seeds_agreeing,
            cost=row.cost,
            reason=row.reason,
            benefit=row.benefit,
            by_class=tuple(PartRecord(**asdict(part)) for part in row.by_class),
            by_direction=tuple(PartRecord(**asdict(part)) for part in row.by_direction),
            curve=tuple(PointRecord(**asdict(point)) for point in row.curve),
            response=row.response,
        )

    def build(self) -> Invariance:
        """Build the invariance.

        Files of schema 2 may keep a transform whose interval includes 0: it is unclear now.
        """
        (transform,) = build_transforms(self.transform)
        given = {name: getattr(self, name) for name in type(self).model_fields}
        parts = {
            "by_class": tuple(PartRange(**dict(part)) for part in self.by_class),
            "by_direction": tuple(PartRange(**dict(part)) for part in self.by_direction),
            "curve": tuple(CurvePoint(**dict(point)) for point in self.curve),
        }
        row = Invariance(**given | {"transform": transform} | parts)
        if not (row.kept and row.includes_zero):
            return row
        bernoulli = isinstance(transform, Bernoulli)
        reason = "samples disagree" if bernoulli else "the interval includes 0"
        return replace(row, status="unclear", reason=reason)


class GainRecord(StrictModel):
    """One `Gain`, in JSON."""

    draws: int
    score: Finite
    plain_score: Finite
    difference: Finite
    interval: tuple[Finite, Finite]
    averaging: Finite
    scores: tuple[Finite, ...]
    compared: tuple[int, ...]

    @model_validator(mode="before")
    @classmethod
    def _read_older(cls, given: Any) -> Any:
        """Read records that say how flips were used, and of nets that draw 0, 1, 2, ... each."""
        if not isinstance(given, dict):
            return given
        kept = {name: value for name, value in given.items() if name not in ("pooled", "flips")}
        if "compared" not in kept and isinstance(kept.get("scores"), Sequence):
            kept["compared"] = tuple(range(len(kept["scores"])))
        return kept

    @model_validator(mode="after")
    def _one_score_each(self) -> "GainRecord":
        if len(self.scores) != len(self.compared):
            raise ValueError(f"{len(self.compared)} nets have {len(self.scores)} scores")
        return self


class Measurement(StrictModel):
    """How well the network predicted with which the invariances were measured."""

    score: Finite | None = None
    """Accuracy on held-out samples without any transform; for values, the variance explained."""
    chance: Finite | None = None
    """The score of a constant prediction."""
    steps: int = 0
    """Training steps of all networks together."""
    warnings: tuple[str, ...] = ()
    """What limits the result, such as a budget that was too short."""
    gain: GainRecord | None = None
    """What transforms brought to the net, on held-out samples."""

    @classmethod
    def of(cls, result: InvarianceResult) -> "Measurement":
        """Return the measurement of a result."""
        return cls(
            score=result.score,
            chance=result.chance,
            steps=result.steps,
            warnings=result.warnings,
            gain=None if result.gain is None else GainRecord(**asdict(result.gain)),
        )


class Net(StrictModel):
    """How many copies are predicted, and how their predictions are aggregated."""

    aggregate: str
    copies: Annotated[Size, Field(le=MAX_COPIES)]
    sampling: Literal["independent", "stratified"] = "independent"


class Header(StrictModel):
    """Everything about a model but its tensors."""

    schema_version: int = SCHEMA
    augnet: str = augnet.__version__
    trunk: str
    """A name of `augnet.trunks`, or a module:Class, which is not imported when the file is read."""
    shape: tuple[Size, ...]
    """The shape of one sample."""
    classes: Annotated[tuple[Name, ...], Field(max_length=MAX_CLASSES)] = ()
    """The names of the classes, in the order of the outputs; none for regression."""
    values: tuple[Size, ...] | None = None
    """The shape of one target; None for classification."""
    layers: Annotated[tuple[Layer, ...], Field(max_length=MAX_ROWS)]
    net: Net
    input_spec: InputSpec | None = None
    invariances: Annotated[tuple[InvarianceRecord, ...], Field(max_length=MAX_ROWS)] = ()
    measurement: Measurement = Measurement()
    settings: dict[str, JsonValue] = {}
    """The settings of the command that made the model."""
    evaluation: dict[str, JsonValue] = {}
    """Scores on test samples."""

    @property
    def left_out(self) -> list[Invariance]:
        """The transforms that preserve the label and are in no layer, if there are layers."""
        used = [each for layer in self.layers for each in build_transforms(layer.transforms)]
        rows = [record.build() for record in self.invariances] if used else []
        return [row for row in rows if row.kept and row.transform not in used]

    @field_validator("classes")
    @classmethod
    def _differ(cls, classes: tuple[str, ...]) -> tuple[str, ...]:
        names = tuple(map(printable, classes))
        if len(set(names)) < len(names):
            raise ValueError("two classes have the same name")
        return names

    @field_validator("evaluation")
    @classmethod
    def _has_scores(cls, evaluation: dict[str, JsonValue]) -> dict[str, JsonValue]:
        for name in ("samples", "score", "score_without_averaging") if evaluation else ():
            value = evaluation.get(name)
            if not _is_number(value) or (name == "samples" and value < 0):
                raise ValueError(f"{name} is {str(value)[:50]}, not a number")
        return evaluation

    @model_validator(mode="after")
    def _shapes_agree(self) -> "Header":
        if self.input_spec is not None and self.input_spec.shape != self.shape:
            raise ValueError(f"shape is {self.shape}, that of input_spec {self.input_spec.shape}")
        return self


def _is_number(value: Any) -> TypeGuard[int | float]:
    """Tell whether a value is a finite number, and not so large that it is no float."""
    return type(value) in (int, float) and abs(value) < sys.float_info.max


def to_spec(transform: Transform) -> dict[str, Any]:
    """Return the spec of a transform, which `build_transforms` reads."""
    given = {
        field.name: getattr(transform, field.name) for field in fields(transform) if field.init
    }
    return {"name": transform.name} | {key: _plain(value) for key, value in given.items()}


def _plain(value: Any) -> Any:
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def build_augment(layers: tuple[Layer, ...]) -> Any:
    """Build the augmentation; without layers, the identity."""
    return AugmentationModule(*(layer.build() for layer in layers)) if layers else identity


def describe_layers(augment: Any) -> tuple[Layer, ...]:
    """Return the description of an augmentation; raise TypeError if a file cannot store it."""
    if augment is identity:
        return ()
    if isinstance(augment, AugmentationModule):
        return tuple(Layer.of(layer) for layer in augment)
    raise TypeError(
        "a model file stores an AugmentationModule, or the identity; this net has "
        f"{type(augment).__name__}: save its state_dict() instead"
    )
