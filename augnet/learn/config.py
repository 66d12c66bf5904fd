"""Every option and constant of `learn`, with its default and meaning."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, TypeAlias

from torch import nn

from augnet.transforms import TransformSpec

Trunk: TypeAlias = str | nn.Module | Callable[..., nn.Module]


def option(default: Any, help: str) -> Any:
    """Declare a field that users set: an argument, a parameter, a command-line option."""
    return field(default=default, metadata={"help": help, "option": True})


@dataclass(frozen=True)
class LearnConfig:
    """Options and constants of `learn`. Options are for users; constants were chosen once."""

    transforms: str | TransformSpec | Iterable[TransformSpec] = option(
        "auto", "Names, tables or Transforms; auto: all that fit."
    )
    layers: Iterable[Iterable[TransformSpec]] | None = option(
        None, "Train the paper's selective layers: a list of transforms for each."
    )
    trunk: Trunk = option("small", "A name of TRUNKS, a module, or a function that builds one.")
    budget: int | float | str | None = option(
        None, "Epochs, or a time such as 90s, 10m or 1h. Default: as long as it takes."
    )
    seed: int = option(0, "One seed gives one result.")
    seeds: int = option(1, "Measure with this many seeds, and join the results.")


OPTIONS = tuple(each for each in fields(LearnConfig) if each.metadata.get("option"))
