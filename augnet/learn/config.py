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
    "search_fraction", "reference_fraction", "identity_fraction", "start", "near_limit",
    "reference_average", "branch_average", "smoothing", "base_fraction", "compared_fraction",
    "edges",
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

    A fraction of a limit is a magnitude. An error is the fraction of wrong classes, each class
    weighted the same; for values, their distance from the targets relative to that of a constant.
    """

    transforms: str | TransformSpec | Iterable[TransformSpec] = option(  # noqa: RUF009
        "auto", "Names, tables or Transforms; auto: all that fit."
    )
    layers: Iterable[Iterable[TransformSpec]] | None = option(
        None, "Let each layer select one transform: a list of transforms for each."
    )
    trunk: Trunk = option(  # noqa: RUF009
        "auto",
        "A name of TRUNKS, a module, or a function that builds one. auto: small to measure, "
        "medium for the net.",
    )
    budget: int | float | str | None = option(
        None, "Epochs, or a time such as 90s, 10m or 1h. Default: as long as it takes."
    )
    seed: int = option(0, "One seed gives one result.")
    seeds: int = option(1, "Measure with this many seeds, and join the results.")
    copies: int = option(10, "Average the predictions of the net over this many views.")
    lr: float = option(2e-3, "Learning rate; a tenth of it for a trunk that is trained already.")
    threads: int | None = option(
        None, "Threads of torch on the CPU. Default: fewer where the machine is busy."
    )

    tolerance: float = option(
        0.01, "Error that a transform may add: 0.01 is one point of accuracy."
    )
    jobs: int = option(1, "Measure this many transforms at once, each in its own process.")
    by_class: bool = option(False, "Measure the range of each class, and of each direction.")

    # Data
    min_samples: int = constant(16, "Fewer samples are refused.")
    min_samples_per_class: int = constant(4, "Fewer samples of a class are refused.")
    max_held_out: int = constant(1500, "Held-out samples that are measured, at most.")
    max_class_weight: float = constant(20.0, "Largest weight of a sample of a rare class.")

    # Training
    batch_size: int = constant(64, "Samples of a batch.")
    weight_decay: float = constant(1e-3, "Weight decay of all training.")
    warm_up: int = constant(40, "Steps until the reference has this learning rate.")
    search_fraction: float = constant(0.5, "Fraction of all work; the net gets the rest.")

    # The reference: a network that is trained without transforms
    reference_steps: int = constant(600, "Steps without a budget, at most.")
    reference_epochs: int = constant(10, "Epochs, if these are more steps.")
    reference_average: float = constant(0.98, "Factor of the running average of its weights.")
    reference_fraction: float = constant(0.3, "Fraction of the time of the search, at most.")
    evaluations: int = constant(30, "How often its held-out error is measured.")
    patience: float = constant(0.35, "Stop if this fraction of all steps improved nothing.")
    min_improvement: float = constant(0.01, "The fraction by which the Brier score has to improve.")
    perfect_loss: float = constant(3e-3, "Stop if the held-out loss is lower.")
    min_steps: int = constant(40, "If the time is over before, nothing is measured.")
    min_deviations: float = constant(3.0, "Standard errors by which it has to beat chance.")
    min_better: float = constant(0.05, "The error by which it has to beat chance.")
    min_tolerances: float = constant(1.5, "The same in tolerances.")

    # The control: training goes on without a transform
    control_steps: float = constant(0.25, "Steps of the control, as a fraction of the reference's.")
    control_fraction: float = constant(0.1, "Fraction of the time of the search, at most.")

    # Branches: training goes on with one transform
    branch_steps: float = constant(0.65, "Steps of a branch, as a fraction of the reference's.")
    value_branch_steps: float = constant(0.8, "The same for values, which are learned later.")
    branch_average: float = constant(0.95, "Factor of the running average of its weights.")
    identity_fraction: float = constant(0.25, "Fraction of samples that stay untransformed.")
    trace_noise: float = constant(
        0.4, "Noise that hides traces of a transform, in local standard deviations."
    )
    start: float = constant(0.05, "Fraction of the limit at which every range starts.")
    rate: float = constant(0.15, "A measurement moves the logarithm of a range by at most this.")
    smoothing: float = constant(0.5, "Weight of earlier measurements of the cost.")
    measurements: int = constant(50, "Measurements of the cost in so many steps of the reference.")
    leniency: float = constant(3.0, "Tolerances that a range may cost at first.")
    lenient_fraction: float = constant(0.4, "Fraction of a branch in which this falls to 1.")
    measured_samples: int = constant(512, "Held-out samples of a measurement, at most.")
    cost_samples: int = constant(256, "Those of a measurement of the cost, at most.")
    growth: float = constant(0.25, "The same until the cost exceeds the tolerance once.")
    settled: int = constant(10, "Measurements at the limit, or that agree, that end a branch.")
    max_wobble: float = constant(0.04, "Deviation of the log of ranges that agree.")
    extensions: int = constant(2, "How often a branch goes on if its answer still moves.")
    max_drift: float = constant(0.3, "A range that moves by a larger factor still moves.")
    falling: float = constant(0.9, "A cost that falls below this fraction still moves.")

    # Curves of the error against strength
    curves: bool = constant(False, "Measure curves and directions without by_class, too.")

    # Sweeps: training goes on with ranges that grow, for classes and directions
    stages: int = constant(15, "Ranges of a sweep, from the least to the limit.")
    least_stage: float = constant(0.04, "The least of them, as a fraction of the limit.")
    stage_steps: float = constant(0.15, "Steps in each, as a fraction of the reference's.")
    warm_stages: int = constant(4, "How often these are repeated before the first measurement.")
    stage_average: float = constant(0.98, "Factor of the running average of weights.")
    class_factor: float = constant(
        3.0, "Tolerances of a class are so many times as large, at most."
    )
    stage_extensions: int = constant(3, "How often these are repeated while a cost falls.")
    meeting_share: float = constant(0.25, "Samples of each class that look like the other then.")
    stage_falling: float = constant(0.9, "A cost that falls below this fraction falls.")

    # Borders, beyond which a class has become another
    border_strengths: int = constant(20, "Strengths at which a border is searched for.")
    min_crossing: float = constant(0.2, "Least fraction of a class that crosses a border.")
    border_distance: float = constant(0.2, "Distance to the other class left there, at most.")

    # Flips that exchange two classes
    min_exchanged: int = constant(3, "Samples of each class that become the other, at least.")
    exchange_distance: float = constant(0.3, "Distance to outputs of the other class, at most.")

    # Decision
    value_factor: float = constant(3.0, "Tolerances of values are so many times as large.")
    relative_tolerance: float = constant(0.05, "Least tolerance, as a fraction of the error.")
    unstable_tolerance: float = constant(
        0.5, "The same, as a fraction of predictions that change by training alone."
    )
    confidence: float = constant(1.645, "Standard errors that a cost may have at least.")
    close_factor: float = constant(
        2.0, "Train on with a flip if it costs less than so many times what is allowed."
    )
    clear_fall: float = constant(0.7, "Accept it then if it costs at most this part of before.")
    slow_fall: float = constant(0.85, "Do not train on again if it costs more than that.")
    clear_distance: float = constant(
        0.33, "Refuse a flip that errors cannot tell if its Brier score rises by this fraction."
    )
    max_loss: float = constant(0.4, "A cost is unclear if it may be so much of what can be lost.")
    near_limit: float = constant(0.9, "A range above this fraction has reached the limit.")
    min_range: float = constant(0.15, "Least range, of the strength that adds half the most error.")
    min_value_range: float = constant(0.3, "The same for values.")
    rise_factor: float = constant(
        2.0, "The same, as a multiple of what may be added, of that half."
    )
    max_rise: float = constant(0.5, "The most that this may be.")
    max_instability: float = constant(
        0.03, "If more predictions change by training alone, labels may allow more."
    )
    start_level: float = constant(0.15, "There a range ends at this part of the most error.")
    min_start: float = constant(0.34, "If that is earlier, of the half, there is no range.")
    clear_start: float = constant(0.4, "If that is earlier, it cannot be told.")
    least_share: float = constant(0.2, "Nor if the interval spans a larger factor.")
    rise_strengths: int = constant(10, "Strengths that find where the error rises.")
    coarse_strengths: int = constant(12, "Strengths that find where half of it is added.")
    max_correction: float = constant(0.25, "Train on if the range is off by a larger factor.")
    interval_factors: tuple[float, ...] = constant(
        (0.5, 0.65, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 2.5),
        "Multiples of a range that are measured for its interval.",
    )
    final_repeats: int = constant(3, "How often each sample is measured at each, at most.")
    final_samples: int = constant(1500, "Measurements at each of them, if there are more samples.")
    bootstrap: int = constant(200, "Resamplings that give the intervals.")
    range_uncertainty: float = constant(0.08, "Least half width of the log of an interval.")
    wobble_weight: float = constant(1.0, "Weight of how much a range moved at the end.")
    max_width: float = constant(0.6, "A wider interval is unclear, as a fraction of the limit.")
    max_half_width: float = constant(1.1, "The same of half of its logarithm.")

    # Net
    net_steps: float = constant(6.0, "Steps of the net, as a multiple of the reference's.")
    base_fraction: float = constant(
        0.15, "Steps of the plain training before nets are compared, as a fraction of the net's."
    )
    compared_fraction: float = constant(0.1, "The same of each net that is compared.")
    edges: float = constant(
        0.5, "Fraction of samples at the ends of ranges, if the net has no `layers`; may be 0."
    )
    max_draws: int = constant(3, "Transforms that are drawn per sample, at most.")

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
            zero = each.name == "edges" and value == 0
            if each.type is float and not (
                zero or (isinstance(value, Real) and 0 < value < math.inf)
            ):
                raise ValueError(f"{each.name} takes a positive number; got {value!r}")
        for name in FRACTIONS:
            if getattr(self, name) > 1:
                raise ValueError(f"{name} takes a fraction in (0, 1]; got {getattr(self, name)!r}")

    @property
    def search_trunk(self) -> Trunk:
        """The trunk that measures transforms."""
        return "small" if _is_auto(self.trunk) else self.trunk

    @property
    def net_trunk(self) -> Trunk:
        """The trunk of the net. Selective layers go on with the trunk that measures."""
        if not _is_auto(self.trunk):
            return self.trunk
        return "medium" if self.layers is None else "small"

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


def _is_auto(trunk: Trunk) -> bool:
    return isinstance(trunk, str) and trunk == "auto"


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
    if isinstance(budget, bool) or not 0 < value < math.inf:
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
