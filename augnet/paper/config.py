"""Experiments as data: what a TOML file may say, and how variants change it.

A file in `experiments/` holds our settings; `[protocols.*]` and `[variants.*]` hold only what
differs. `resolve` merges them, with `--set` on top, into a `Config` in which nothing is implied.
"""

import tomllib
from collections.abc import Iterable, Mapping
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

from augnet.regularizers import REGULARIZERS, Schedule
from augnet.validation import nearest

EXPERIMENTS = resources.files("augnet.paper") / "experiments"


class Section(BaseModel):
    """A table whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Named(BaseModel):
    """A thing of a registry, by name, and the arguments that it takes."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str

    @property
    def arguments(self) -> dict[str, Any]:
        """All that was said but the name."""
        return dict(self.model_extra or {})


class Net(Section):
    """How predictions for several copies become one."""

    aggregate: str = "logits"
    copies: int = Field(default=20, ge=1)
    train_copies: int = Field(default=1, ge=1)
    max_batch: int | None = Field(default=None, ge=1)


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


class Training(Section):
    """How everything is trained together; what is said of the augmentation is for it alone."""

    epochs: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    lr: float = Field(default=1e-3, gt=0)
    betas: tuple[float, float] = (0.9, 0.999)
    momentum: float = 0.0
    weight_decay: float = Field(default=0.0, ge=0)
    augment_lr: float | None = Field(default=None, gt=0)
    augment_weight_decay: float = Field(default=0.0, ge=0)
    schedule: Literal["constant", "cosine"] = "constant"
    shuffle: bool = True
    patience: int | None = Field(default=None, ge=1)
    metric: Literal["accuracy", "balanced_accuracy"] = "accuracy"
    balanced: bool = False  # samples of rare classes weigh more, so that all classes weigh alike


class Measure(Section):
    """What is measured when a run is over: invariance to a transform at its limit (eq. 4)."""

    transform: str | dict[str, Any]
    copies: list[int] = Field(min_length=1)


class Scores(Section):
    """How a net is scored (`augnet.paper.score`): the views in each epoch, and more when it is over."""

    views: Literal["net", "plain", "own"] = "net"
    invariance: list[
        str | dict[str, Any]
    ] = []  # transforms, after each epoch, on some test samples
    samples: int = Field(default=500, ge=2)
    copies: list[Annotated[int, Field(ge=1)]] = []  # own views, when a run is over; and plain


class Searches(Section):
    """What `augnet paper search` is given: transforms besides those of the layers, and options by search."""

    more: list[str | dict[str, Any]] = []  # for searches that need no gradients
    options: dict[str, dict[str, Any]] = {}


class Config(Section):
    """One run, except for its seed: all that decides what comes out."""

    experiment: str
    variant: str
    protocol: str
    data: Named
    augment: Named
    trunk: Named
    net: Net = Net()
    regularizer: Regularization = Regularization()
    train: Training
    measure: Measure | None = None
    scores: Scores = Scores()
    search: Searches = Searches()
    sweep: dict[str, Any] = {}  # the point of a grid at which this run is, if it is part of one


class Other(Section):
    """The same quantity elsewhere: of other variants, place by place, or with other copies."""

    variants: list[str] | None = None
    copies: int | None = None


class Claim(Section):
    """One thing that the paper says, and what each seed must show for it.

    `quantity` says what is read off a run (`report.quantities` says how), and exactly one
    criterion what it must be, in every seed of every one of the variants.
    """

    says: str
    source: str
    variants: list[str] = Field(min_length=1)
    quantity: Literal[
        "selected", "weight", "strength", "used-strength", "used-magnitude", "used-layers",
        "leads-from", "spread-widths", "test-accuracy", "accuracy", "invariance",
        "plain-accuracy", "own-accuracy", "net-accuracy", "balanced-accuracy", "time",
    ]  # fmt: skip
    transform: str | None = None
    copies: int | None = None
    # The criteria, of which there is one; the last two compare with the same quantity elsewhere.
    equals: str | None = None
    at_least: float | None = None
    at_most: float | None = None
    near: float | None = None
    away_from: float | None = None
    close_to: Other | None = None
    above: Other | None = None
    tolerance: float | None = Field(default=None, ge=0)  # relative

    @model_validator(mode="after")
    def _is_one_question(self) -> "Claim":
        criteria = ("equals", "at_least", "at_most", "near", "away_from", "close_to", "above")
        given = [name for name in criteria if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"a claim has one of {', '.join(criteria)}; this one has {given}")
        tolerant = given[0] in ("near", "away_from", "close_to")
        if tolerant != (self.tolerance is not None):
            raise ValueError(f"{given[0]} {'needs a' if tolerant else 'takes no'} tolerance")
        needed = {"transform": ("weight", "strength", "used-strength", "leads-from"),
                  "copies": ("accuracy", "invariance", "own-accuracy", "time")}  # fmt: skip
        for key, quantities in needed.items():
            if (self.quantity in quantities) != (getattr(self, key) is not None):
                raise ValueError(f"{key} is for {', '.join(quantities)}, and these need it")
        others = self.other.variants if self.other else None
        if others is not None and len(others) != len(self.variants):
            raise ValueError(f"{given[0]}.variants has one for each of {self.variants}")
        return self

    @property
    def other(self) -> Other | None:
        """What the quantity is compared with, if not with a number."""
        return self.above or self.close_to


class Expect(Section):
    """What the paper found: the transform that matters and its strength, and all that it claims."""

    transform: str | None = None
    strength: float | None = None
    unit: str = ""
    claims: list[Claim] = []


class Experiment(Section):
    """A file of `experiments/`: a figure of the paper, its variants, and what it claims."""

    title: str
    section: str
    question: str
    data: dict[str, Any]
    augment: dict[str, Any]
    trunk: dict[str, Any]
    net: dict[str, Any] = {}
    regularizer: dict[str, Any] = {}
    train: dict[str, Any]
    measure: dict[str, Any] | None = None
    scores: dict[str, Any] = {}
    search: dict[str, Any] = {}
    protocols: dict[str, dict[str, Any]] = {}
    variants: dict[str, dict[str, Any]]
    expect: Expect = Expect()

    @model_validator(mode="after")
    def _claims_are_about_its_variants(self) -> "Experiment":
        for claim in self.expect.claims:
            others = (claim.other.variants if claim.other else None) or []
            for variant in (*claim.variants, *others):
                if variant not in self.variants:
                    hint = nearest(variant, self.variants)
                    raise ValueError(f"{claim.says!r} is about an unknown {variant!r}{hint}")
        return self

    def explained(self, protocols: Iterable[str]) -> dict[str, str]:
        """Say what each of some protocols is, part by part, where the file does."""
        parts = dict.fromkeys(part for each in protocols for part in each.split("+"))
        said = {part: self.protocols.get(part, {}).get("says") for part in parts}
        return {part: says for part, says in said.items() if says}

    @property
    def base(self) -> dict[str, Any]:
        """What all variants share."""
        shared = ("data", "augment", "trunk", "net", "regularizer", "train", "measure", "scores",
                  "search")  # fmt: skip
        return {key: getattr(self, key) for key in shared}


class ConfigError(ValueError):
    """Something that a user wrote cannot be meant; the message says what and what could be."""


def names() -> list[str]:
    """List the experiments."""
    files = (file.name for file in EXPERIMENTS.iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def read(name: str) -> Experiment:
    """Read an experiment of ours by name."""
    if name not in names():
        raise ConfigError(f"unknown experiment {name!r}{nearest(name, names())}")
    return parse((EXPERIMENTS / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")


def parse(text: str, source: str) -> Experiment:
    """Read an experiment from TOML."""
    try:
        return Experiment(**tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
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

    Protocols can be combined, such as `paper+small`: each changes what those before it left. A
    `sweep` is the point of a grid: changes too, which the config remembers as such.
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
    try:
        return Config(experiment=name, variant=variant, protocol=protocol, sweep=point, **settings)
    except ValidationError as error:
        raise ConfigError(explain(error, Config)) from None


def merge(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Change tables key by key; a table that names another thing replaces the whole."""
    merged = dict(base)
    for key, value in changes.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            same = value.get("name", old.get("name")) == old.get("name")
            value = merge(old, value) if same else value
        merged[key] = value
    return merged


def nested(key: str, value: Any) -> dict[str, Any]:
    """Turn `train.lr`, 0.1 into {"train": {"lr": 0.1}}."""
    first, _, rest = key.partition(".")
    return {first: nested(rest, value) if rest else value}


def parse_change(text: str) -> tuple[str, Any]:
    """Read `key=value` from the command line; the value is TOML, or else a plain string."""
    key, separator, value = text.partition("=")
    if not (separator and key.strip()):
        raise ConfigError(f"--set takes key=value, such as train.epochs=10; got {text!r}")
    return key.strip(), _parse_value(value)


def parse_sweep(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Read `key=a,b,c` from the command line, any number of them: the points of the grid."""
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


def explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Say in one line what is wrong, and for an unknown key which one is nearest."""
    # A key that is unknown is more telling than one that is missing for it.
    problem = min(error.errors(), key=lambda problem: problem["type"] != "extra_forbidden")
    path = [str(part) for part in problem["loc"]]
    where = ".".join(path)
    if problem["type"] == "missing":
        return f"{where} is missing"
    if problem["type"] == "value_error":  # one of our own, which says what came
        return ": ".join(filter(None, (where, str(problem["ctx"]["error"]))))
    if problem["type"] != "extra_forbidden":
        return f"{where}: {problem['msg']}; got {problem['input']!r}"
    for part in problem["loc"][:-1]:
        if isinstance(part, str):  # a number is a place in a list, whose model is the list's
            model = _model_in(model.model_fields[part].annotation) or model
    return f"unknown key {where!r}{nearest(path[-1], model.model_fields)}"


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the model in what a field may hold: itself, a list of it, or it or nothing."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
