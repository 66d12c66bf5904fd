"""Read experiments from TOML files, and resolve their variants and protocols to configs.

A file in `experiments/` holds our settings; `[protocols.*]` and `[variants.*]` hold only what
differs. `resolve` merges them, and `--set` on top, into a complete `Config`.
"""

import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from itertools import product
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from augnet.layers.tuner import TOLERANCE
from augnet.model.header import MAX_COPIES
from augnet.regularizers import REGULARIZERS, Schedule
from augnet.validation import nearest

EXPERIMENTS = resources.files("augnet.paper") / "experiments"


MAX_COUNT = 10**9
"""Epochs, and samples of a batch: more is a slip of the keyboard."""
Fraction = Annotated[float, Field(ge=0, lt=1)]
Copies = Annotated[int, Field(ge=1, le=MAX_COPIES)]


class Section(BaseModel):
    """A table that refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Named(BaseModel):
    """The name of an entry of a registry, and its arguments."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str

    @property
    def arguments(self) -> dict[str, Any]:
        """All keys but the name."""
        return dict(self.model_extra or {})


class Net(Section):
    """How the predictions for several copies are aggregated."""

    aggregate: str = "logits"
    copies: Copies = 20
    train_copies: Copies = 1
    max_batch: int | None = Field(default=None, ge=1, le=MAX_COUNT)
    sampling: Literal["independent", "stratified"] = "independent"


class Regularization(Section):
    """A regularizer of `REGULARIZERS` or "none", and its weight over the epochs."""

    name: str = "none"
    weight: float | list[tuple[int, float]] = 0.0

    @field_validator("name")
    @classmethod
    def _is_registered(cls, name: str) -> str:
        known = ("none", *REGULARIZERS)
        if (plain := name.replace("-", "_")) not in known:
            raise ValueError(f"unknown regularizer {name!r}{nearest(name, known)}")
        return plain

    @field_validator("weight")
    @classmethod
    def _is_a_schedule(cls, weight: float | list[tuple[int, float]]) -> Any:
        Schedule(weight)
        return weight


class Tuning(Section):
    """Whether a `RangeTuner` finds the ranges, what it selects in a layer, and its tolerance."""

    select: Literal["none", "all", "one"] = "none"
    tolerance: float = Field(default=TOLERANCE, gt=0)  # nats; the same in all experiments
    probe: Named | None = None  # a trunk whose losses are read; default: the one that is trained
    wait: bool = False  # no range grows before the trunk knows more than how frequent classes are


class Training(Section):
    """How a net is trained; `augment_*` are for the parameters of the augmentation only."""

    epochs: int = Field(ge=1, le=MAX_COUNT)
    batch_size: int = Field(ge=1, le=MAX_COUNT)
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    lr: float = Field(default=1e-3, gt=0)
    betas: tuple[Fraction, Fraction] = (0.9, 0.999)
    momentum: float = Field(default=0.0, ge=0)
    weight_decay: float = Field(default=0.0, ge=0)
    augment_lr: float | None = Field(default=None, gt=0)
    augment_weight_decay: float = Field(default=0.0, ge=0)
    schedule: Literal["constant", "cosine"] = "constant"
    shuffle: bool = True
    patience: int | None = Field(default=None, ge=1)
    metric: Literal["accuracy", "balanced_accuracy"] = "accuracy"
    balanced: bool = False  # weigh samples so that all classes have the same weight in the loss


class Measure(Section):
    """Measure the invariance to a transform at its limit at the end of a run (eq. 4)."""

    transform: str | dict[str, Any]
    copies: list[Copies] = Field(min_length=1)


class Scores(Section):
    """How a net is scored (`augnet.paper.score`), after each epoch and at the end of a run."""

    views: Literal["net", "plain", "own"] = "net"
    final_views: Literal["net", "plain", "own"] | None = None  # of the net that is kept; as above
    invariance: list[str | dict[str, Any]] = []  # to these transforms, after each epoch
    samples: int = Field(default=500, ge=2)  # test samples on which invariance is measured
    copies: list[Copies] = []  # numbers of own views, at the end
    epoch_samples: int | None = Field(default=None, ge=2)  # scored after an epoch; all at the end


class Searches(Section):
    """Settings of `augnet paper search`: more transforms than those of the layers, and options."""

    more: list[str | dict[str, Any]] = []  # for searches that need no gradients
    options: dict[str, dict[str, Any]] = {}


class Config(Section):
    """All settings of a run but its seed."""

    experiment: str
    variant: str
    protocol: str
    data: Named
    augment: Named
    trunk: Named
    net: Net = Net()
    regularizer: Regularization = Regularization()
    tuner: Tuning = Tuning()
    train: Training
    measure: Measure | None = None
    scores: Scores = Scores()
    search: Searches = Searches()
    sweep: dict[str, Any] = {}  # the swept settings and their values, if it is part of a sweep


class Other(Section):
    """Compare with other variants, one for each variant of the claim, or other copies."""

    variants: list[str] | None = None
    copies: int | None = None


class Claim(Section):
    """A claim of the paper, and the criterion that each run must meet.

    `quantity` is read from a run by `report.quantities`. Exactly one criterion says what it must
    be, for every seed of every one of the variants.
    """

    says: str
    source: str
    authors: str = ""  # what the authors' code gave, measured by us
    variants: list[str] = Field(min_length=1)
    quantity: Literal[
        "selected", "weight", "strength", "used-strength", "used-magnitude", "used-layers",
        "leads-from", "spread-widths", "test-accuracy", "accuracy", "invariance",
        "authors-invariance",
        "plain-accuracy", "own-accuracy", "net-accuracy", "balanced-accuracy", "time",
    ]  # fmt: skip
    transform: str | None = None
    copies: int | None = None
    # The criteria, exactly one of them; the last two compare with the same quantity of other runs.
    equals: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None
    away_from: float | None = None
    close_to: Other | None = None
    above: Other | None = None
    tolerance: float | None = Field(default=None, ge=0)  # relative

    @model_validator(mode="after")
    def _has_one_criterion(self) -> "Claim":
        criteria = ("equals", "at_least", "at_most", "near", "away_from", "close_to", "above")
        given = [name for name in criteria if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a claim takes one of {', '.join(criteria)}; got {given}")
        tolerant = given[0] in ("near", "away_from", "close_to")
        if tolerant != (self.tolerance is not None):
            raise ValueError(f"{given[0]} {'needs a' if tolerant else 'takes no'} tolerance")
        needed = {"transform": ("weight", "strength", "used-strength", "leads-from"),
                  "copies": ("accuracy", "invariance", "authors-invariance", "own-accuracy",
                             "time")}  # fmt: skip
        for key, quantities in needed.items():
            if (self.quantity in quantities) != (getattr(self, key) is not None):
                raise ValueError(f"{key} is required for {', '.join(quantities)}, and for no other")
        others = self.other.variants if self.other else None
        if others is not None and len(others) != len(self.variants):
            raise ValueError(f"{given[0]}.variants takes one for each of {self.variants}")
        return self

    @property
    def other(self) -> Other | None:
        """The runs to compare with, if the criterion is not a number."""
        return self.above or self.close_to


class Expect(Section):
    """Results of the paper: the true transform, its strength, and all claims."""

    transform: str | None = None
    strength: float | None = None
    unit: str = ""
    claims: list[Claim] = []


class Experiment(Section):
    """A file of `experiments/`: settings, protocols, variants, and claims of the paper."""

    title: str
    section: str
    question: str
    data: dict[str, Any]
    augment: dict[str, Any]
    trunk: dict[str, Any]
    net: dict[str, Any] = {}
    regularizer: dict[str, Any] = {}
    tuner: dict[str, Any] = {}
    train: dict[str, Any]
    measure: dict[str, Any] | None = None
    scores: dict[str, Any] = {}
    search: dict[str, Any] = {}
    protocols: dict[str, dict[str, Any]] = {}
    variants: dict[str, dict[str, Any]]
    expect: Expect = Expect()

    @model_validator(mode="after")
    def _claims_name_its_variants(self) -> "Experiment":
        for claim in self.expect.claims:
            others = (claim.other.variants if claim.other else None) or []
            for variant in (*claim.variants, *others):
                if variant not in self.variants:
                    hint = nearest(variant, self.variants)
                    raise ValueError(f"{claim.says!r} has an unknown variant {variant!r}{hint}")
        return self

    def explained(self, protocols: Iterable[str]) -> dict[str, str]:
        """Return the descriptions of protocols, by the parts of combined ones."""
        parts = dict.fromkeys(part for each in protocols for part in each.split("+"))
        said = {part: self.protocols.get(part, {}).get("says") for part in parts}
        return {part: says for part, says in said.items() if says}

    @property
    def base(self) -> dict[str, Any]:
        """The settings that all variants share."""
        shared = ("data", "augment", "trunk", "net", "regularizer", "tuner", "train", "measure",
                  "scores", "search")  # fmt: skip
        return {key: getattr(self, key) for key in shared}


class ConfigError(ValueError):
    """A setting is wrong; the message says what came, what was expected and the likely fix."""


def names() -> list[str]:
    """List the experiments."""
    files = (file.name for file in EXPERIMENTS.iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def read(name: str) -> Experiment:
    """Read an experiment by name."""
    if name not in names():
        raise ConfigError(f"unknown experiment {name!r}{nearest(name, names())}")
    return parse((EXPERIMENTS / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")


def parse(text: str, source: str) -> Experiment:
    """Read an experiment from TOML."""
    try:
        return Experiment(**tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{source} is not valid TOML: {error}") from None
    except ValidationError as error:
        raise ConfigError(f"{source}: {explain(error, Experiment)}") from None


def resolve(
    name: str,
    experiment: Experiment,
    variant: str,
    *,
    protocol: str = "ours",
    changes: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
) -> Config:
    """Merge an experiment's settings, protocol, variant and the user's changes into a config.

    Protocols can be combined, such as `paper+small`: each changes the result of those before it.
    A `sweep` holds the values of swept settings; they are changes that the config lists.
    """
    if variant not in experiment.variants:
        raise ConfigError(
            f"{name} has no variant {variant!r}{nearest(variant, experiment.variants)}"
        )
    protocols = {"ours": {}, **experiment.protocols}
    settings: Mapping[str, Any] = experiment.base
    for part in protocol.split("+"):
        if part not in protocols:
            raise ConfigError(f"{name} has no protocol {part!r}{nearest(part, protocols)}")
        settings = merge(settings, protocols[part])
    settings = {key: value for key, value in settings.items() if key != "says"}
    own = dict(experiment.variants[variant])
    own_protocols = own.pop("protocols", {})
    settings = merge(settings, own)
    for part in protocol.split("+"):
        settings = merge(settings, own_protocols.get(part, {}))
    point = dict(sweep or {})
    for key, value in {**(changes or {}), **point}.items():
        if (section := key.partition(".")[0]) not in experiment.base:
            raise ConfigError(f"unknown key {section!r}{nearest(section, experiment.base)}")
        settings = merge(settings, nested(key, value))
    for key, number in _numbers(settings):
        if not math.isfinite(number):
            raise ConfigError(f"{key} is {number}: expected a finite number")
    try:
        return Config(experiment=name, variant=variant, protocol=protocol, sweep=point, **settings)
    except ValidationError as error:
        raise ConfigError(explain(error, Config)) from None


def _numbers(value: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Yield all floats in a value, with their keys."""
    if isinstance(value, float):
        yield key, value
    items = value.items() if isinstance(value, Mapping) else ()
    for name, each in (*items, *(enumerate(value) if isinstance(value, list) else ())):
        yield from _numbers(each, f"{key}.{name}" if key else str(name))


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge tables key by key; a table with another `name` replaces the whole table."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            same = value.get("name", old.get("name")) == old.get("name")
            value = merge(old, value) if same else value
        merged[key] = value
    return merged


def nested(key: str, value: Any) -> dict[str, Any]:
    """Return {"train": {"lr": 0.1}} for `train.lr` and 0.1."""
    first, _, rest = key.partition(".")
    return {first: nested(rest, value) if rest else value}


def parse_change(text: str) -> tuple[str, Any]:
    """Parse `key=value` of the command line; the value is TOML, or else a plain string."""
    key, separator, value = text.partition("=")
    if not (separator and key.strip()):
        raise ConfigError(f"--set takes key=value, such as train.epochs=10; got {text!r}")
    return key.strip(), _parse_value(value)


def parse_sweep(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Parse `key=a,b,c` of the command line, any number of them, to the points of a grid."""
    axes: dict[str, list[Any]] = {}
    for text in texts:
        key, separator, values = text.partition("=")
        if not (separator and key.strip() and values.strip()):
            raise ConfigError(f"--sweep takes key=a,b,c, such as train.lr=0.1,0.01; got {text!r}")
        if key.strip() in axes:
            raise ConfigError(f"--sweep {key.strip()} was given twice: name all values in one")
        parsed = _parse_value(f"[{values}]")
        axes[key.strip()] = (
            parsed if isinstance(parsed, list) else [_parse_value(v) for v in values.split(",")]
        )
    return [dict(zip(axes, point, strict=True)) for point in product(*axes.values())]


def _parse_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text.strip()
    except RecursionError:
        raise ConfigError(f"{text[:20]}... is nested too deeply") from None


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Explain a mistake in one line; suggest the nearest key for an unknown one."""
    # An unknown key is often the reason why another one is missing.
    problem = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    path = [str(part) for part in problem["loc"]]
    where = ".".join(path)
    if problem["type"] == "missing":
        return f"{where} is missing"
    if problem["type"] == "value_error":  # raised by a validator of this module
        return ": ".join(filter(None, (where, str(problem["ctx"]["error"]))))
    if problem["type"] != "extra_forbidden":
        return f"{where}: {problem['msg']}; got {problem['input']!r}"
    for part in problem["loc"][:-1]:
        if isinstance(part, str):  # a number is an index of a list, which has the same model
            model = _model_in(model.model_fields[part].annotation) or model
    return f"unknown key {where!r}{nearest(path[-1], model.model_fields)}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the model in an annotation: itself, a list of it, or an optional one."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
