"""The options and constants of `learn`, with their defaults and meaning."""

import inspect
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar

from torch import nn

from augnet import validation
from augnet.transforms import TRANSFORMS, TransformSpec

Trunk: TypeAlias = str | nn.Module | Callable[..., nn.Module]
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}

FRACTIONS = (
    "search_fraction", "start", "settled", "min_effort", "near_limit", "min_crossing",
)  # fmt: skip


def option(default: Any, help: str) -> Any:
    """Declare a field that users set: an argument, a parameter, a command-line option."""
    return field(default=default, metadata={"help": help, "option": True})


def constant(default: Any, help: str) -> Any:
    """Declare a field that was chosen once, and that ablations change."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class LearnConfig:
    """Options and constants of `learn`. Options are for users; constants were chosen once.

    A fraction of a limit is a magnitude. An error is the fraction of wrong classes, or the
    squared error as a fraction of the variance of the targets.
    """

    transforms: str | TransformSpec | Iterable[TransformSpec] = option(  # noqa: RUF009
        "auto", "Names, tables or Transforms; auto: all that fit."
    )
    layers: Iterable[Iterable[TransformSpec]] | None = option(
        None, "Train the paper's selective layers: a list of transforms for each."
    )
    trunk: Trunk = option(  # noqa: RUF009
        "small", "A name of TRUNKS, a module, or a function that builds one."
    )
    budget: int | float | str | None = option(
        None, "Epochs, or a time such as 90s, 10m or 1h. Default: as long as it takes."
    )
    seed: int = option(0, "One seed gives one result.")
    seeds: int = option(1, "Measure with this many seeds, and join the results.")
    copies: int = option(10, "Average the predictions of the net over this many views.")
    threads: int | None = option(
        None, "Threads of torch on the CPU. Default: fewer where the machine is busy."
    )

    # Data
    min_samples: int = constant(16, "Fewer samples are refused.")
    min_samples_per_class: int = constant(4, "Fewer samples of a class are refused.")
    hold_out: bool = constant(
        True, "Measure on held-out samples, half of each class; else on fitted."
    )

    # Range search: training
    batch_size: int = constant(64, "Samples of a batch, if there are few transforms.")
    search_steps: int = constant(900, "Steps of the range search without a budget.")
    search_epochs: int = constant(10, "Epochs of the range search, if these are more steps.")
    search_lr: float = constant(3e-3, "Peak learning rate of the range search.")
    weight_decay: float = constant(1e-3, "Weight decay of all training.")
    search_fraction: float = constant(0.7, "Fraction of all work; the net gets the rest.")

    # Range search: how ranges move
    start: float = constant(0.15, "Fraction of the limit at which every range starts.")
    growth: float = constant(1.4, "A range grows by at most this factor per measurement.")
    shrinkage: float = constant(1.5, "A range shrinks by at most this factor per measurement.")
    settled: float = constant(0.8, "After this fraction of the steps, ranges hardly grow.")
    settled_growth: float = constant(1.02, "The factor by which they may grow then.")
    margin: float = constant(1.15, "Train up to this multiple of a range, to correct guesses.")
    border_margin: float = constant(0.85, "The same at a border, beyond which labels are wrong.")
    rounds: int = constant(24, "Measurements during the search.")
    rejections: int = constant(3, "Measurements in a row that drop a Bernoulli transform.")
    persistence: float = constant(0.8, "They find at least this fraction of the last added error.")

    # Range search: a budget in seconds
    timed_margin: float = constant(1.3, "Plan steps as if each took this many times as long.")
    min_rounds: int = constant(10, "Measurements, however short the time.")
    min_steps: int = constant(60, "Steps, however short the time.")
    min_effort: float = constant(0.25, "Fraction of the final strengths, however short the time.")

    # Measurement
    round_samples: int = constant(128, "Held-out samples measured during the search.")
    round_strengths: int = constant(8, "Strengths of each of these samples.")
    final_samples: int = constant(512, "Samples of either half measured at the end, at most.")
    bootstrap: int = constant(200, "Resamplings that give the intervals.")
    tolerance: float = constant(0.08, "Error that a strength may add, for classes.")
    value_tolerance: float = constant(0.2, "The same for values, of the spread of the targets.")
    bernoulli_tolerance: float = constant(0.15, "Error that a Bernoulli transform may add.")
    bernoulli_value_tolerance: float = constant(0.3, "The same for values.")
    near_limit: float = constant(0.8, "Least fraction at which an interval can hold the limit.")
    min_range: float = constant(0.1, "Least range, of the strength that adds half the most error.")
    border_distance: float = constant(0.6, "Distance to the other class left at a border, at most.")
    border_uncertainty: float = constant(0.05, "Error of a border's place, as a part of the range.")

    near_border: float = constant(1.3, "Borders up to this multiple of the nearest are averaged.")
    min_remaining: float = constant(0.25, "Least factor by which the base error lowers tolerances.")
    memorized_deviations: float = constant(
        1.5, "Fitted samples are memorized if their error is this many deviations lower."
    )
    memorized_error: float = constant(1e-3, "The error by which it must be lower besides.")

    # Response curve
    bins: int = constant(32, "Bins of the strength.")
    ramp_widths: tuple[float, ...] = constant(
        (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.3, 1.7, 2.2),
        "Widths of the ramps that are compared, in windows.",
    )
    min_crossing: float = constant(0.2, "Least fraction of a class that crosses a border.")

    # Net
    net_steps: float = constant(0.4, "Steps of the net, as a fraction of those of the search.")
    net_lr: float = constant(2e-3, "Peak learning rate of the net.")
    factors: tuple[float, ...] = constant(
        (1.0, 0.8, 0.6, 0.4, 0.2, 0.1, 0.0),
        "Factors of ranges that are compared; Bernoulli transforms are used from 0.5.",
    )
    compared_copies: int = constant(3, "Copies while factors are compared.")
    compared_samples: int = constant(512, "Held-out samples that compare factors, at most.")
    net_tolerance: float = constant(0.01, "Error that all transforms together may add.")

    # Selective layers
    reward: float = constant(0.5, "Nats per displacement; 1 is the distance between samples.")
    temperature: float = constant(0.5, "Temperature of the weights of a layer.")
    logits_lr: float = constant(3e-2, "Learning rate of the weights of a layer.")

    def __post_init__(self) -> None:
        """Refuse values that would fail late."""
        parse_budget(self.budget)
        if self.threads is not None:
            validation.count(self.threads, "threads")
        if isinstance(self.seed, bool) or not isinstance(self.seed, Integral):
            raise ValueError(f"seed takes a whole number; got {self.seed!r}")
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is int and each.name != "seed":
                validation.count(value, each.name)
            if each.type is float and not (isinstance(value, Real) and value > 0):
                raise ValueError(f"{each.name} takes a positive number; got {value!r}")
        for name in FRACTIONS:
            if getattr(self, name) > 1:
                raise ValueError(f"{name} takes a fraction in (0, 1]; got {getattr(self, name)!r}")
        if self.factors[:1] != (1.0,) or list(self.factors) != sorted(self.factors, reverse=True):
            raise ValueError(f"factors takes falling numbers from 1.0; got {self.factors!r}")

    @property
    def epochs(self) -> int | None:
        """The budget, if it is a number of epochs."""
        budget = parse_budget(self.budget)
        return budget if isinstance(budget, int) else None

    @property
    def seconds(self) -> float | None:
        """The budget, if it is a time."""
        budget = parse_budget(self.budget)
        return budget if isinstance(budget, float) else None


OPTIONS = tuple(each for each in fields(LearnConfig) if each.metadata.get("option"))


def parse_budget(budget: int | float | str | None) -> int | float | None:
    """Read a budget: epochs as a whole number, or seconds as a float.

    Text is read as on the command line: "90s", "10m" and "1.5h" are times, "30" is epochs.
    """
    if budget is None or (isinstance(budget, Integral) and not isinstance(budget, bool)):
        return None if budget is None else validation.count(int(budget), "budget")
    if isinstance(budget, str):
        if budget.isdecimal() and int(budget):
            return int(budget)
        match = re.fullmatch(r"(\d+\.?\d*|\.\d+)\s*([smh])", budget.strip())
        value = float(match[1]) * SECONDS[match[2]] if match else math.nan
    else:
        value = float(budget) if isinstance(budget, Real) else math.nan
    if isinstance(budget, bool) or not value > 0:
        raise ValueError(
            "budget takes a whole number of epochs, or a time, such as '90s', '10m' or '1h', or "
            f"seconds as 30.0; got {budget!r}"
        )
    return value


DEFAULTS = LearnConfig()


def configure(
    config: LearnConfig | None, transforms: Any, options: Mapping[str, Any]
) -> tuple[LearnConfig, dict[str, Any]]:
    """Split named arguments into a config and what transforms share, such as `sfreq`."""
    names = [each.name for each in OPTIONS]
    shared = {each.name for cls in TRANSFORMS.values() for each in fields(cls)} - {"limit"}
    for name in options:
        if name in DEFAULTS.__dict__ and name not in names:
            raise TypeError(f"{name} is a constant of learn: config=LearnConfig({name}=...)")
        if name not in names and name not in shared:
            known = [*names, *sorted(shared), "config"]
            raise TypeError(f"learn does not take {name!r}{validation.nearest(name, known)}")
    changes = {name: value for name, value in options.items() if name in names}
    if transforms is not None:
        changes["transforms"] = transforms
    rest = {name: value for name, value in options.items() if name not in names}
    return replace(config or DEFAULTS, **changes), rest


T = TypeVar("T", bound=Callable[..., Any])


def with_options(target: T) -> T:
    """Show the options in the signature and the docstring of what takes them by name."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=each.type)
        for each in OPTIONS
    ]
    given = inspect.signature(target).parameters
    first = [
        options[0].replace(kind=each.kind) if name == "transforms" else each
        for name, each in given.items()
        if each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    rest = [each for each in given.values() if each.kind is keyword]
    shared = inspect.Parameter("shared", inspect.Parameter.VAR_KEYWORD, annotation=Any)
    signature = inspect.Signature([*first, *options[1:], *rest, shared])
    target.__signature__ = signature  # type: ignore[attr-defined]
    lines = [f"    {each.name}: {each.metadata['help']}" for each in OPTIONS]
    target.__doc__ = "\n".join([inspect.cleandoc(target.__doc__ or ""), "", "Options:", "", *lines])
    return target
