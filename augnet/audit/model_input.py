"""What a model expects: the scale of values, mean and std, the order of channels, the size."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import torch
import torch.nn.functional as F
from torch import Tensor

if TYPE_CHECKING:
    from augnet.data.input_spec import InputSpec

Values: TypeAlias = Literal["auto", "raw", "0-1", "0-255", "standardized"]
MAX_PIXELS = 64_000_000
"""Larger inputs would fill the memory."""
SPELLINGS = {"standardised": "standardized"}


@dataclass(frozen=True)
class ModelInput:
    """How samples, scaled as `learn` takes them, become the input of a model.

    `values`: `0-1` and `0-255` for images; `standardized` by `mean` and `std` per channel (without
    them: as `learn` scales signals, to mean 0 and std 1); `raw`: as samples are in their files.
    `auto` is `raw` for models that augnet wrote, and leaves samples as they are for others.
    """

    values: Values = "auto"
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    layout: Literal["channels_first", "channels_last"] = "channels_first"
    order: Literal["RGB", "BGR"] = "RGB"
    size: tuple[int, int] | None = None
    """Height and width of images."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", SPELLINGS.get(self.values, self.values))
        for name, kind in (
            ("values", Values),
            ("layout", ("channels_first", "channels_last")),
            ("order", ("RGB", "BGR")),
        ):
            known = kind if isinstance(kind, tuple) else get_args(kind)
            if getattr(self, name) not in known:
                raise ValueError(
                    f"the {name} of a model's input is one of {', '.join(known)}; got "
                    f"{getattr(self, name)!r}"
                )
        if bool(self.mean) != bool(self.std):
            raise ValueError("a model's input has both mean and std, or neither: give the other")
        if self.mean and self.values not in ("auto", "standardized"):
            raise ValueError(f"mean and std are for standardized values, not for {self.values}")
        if not all(map(math.isfinite, (*self.mean, *self.std))):
            raise ValueError(f"mean and std are finite; got {self.mean} and {self.std}")
        if any(each <= 0 for each in self.std):
            raise ValueError(f"std is above 0 in each channel; got {self.std}")
        if self.size is not None and not (
            min(self.size) >= 1 and math.prod(self.size) <= MAX_PIXELS
        ):
            raise ValueError(
                f"size is height and width in pixels, at most {MAX_PIXELS} together; got "
                f"{self.size}"
            )

    @classmethod
    def of(cls, given: Any) -> "ModelInput":
        """Return a ModelInput as it is, or one with these values, such as `0-255`."""
        return given if isinstance(given, ModelInput) else cls(given)

    @classmethod
    def of_plain(cls, values: Mapping[str, Any]) -> "ModelInput":
        """Build one from JSON, where tuples are lists."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        return cls(**given)

    def __call__(self, x: Tensor, spec: "InputSpec | None" = None, raw: bool = False) -> Tensor:
        """Convert samples; `spec` says how they were scaled, `raw` what `auto` is."""
        images = x.dim() == 4
        if self.values == "raw" or (self.values == "auto" and raw and not self.mean):
            x = _unscaled(x, spec)
        elif self.values == "0-255":
            x = x * 255
        elif self.mean:
            x = x if images else _unscaled(x, spec)
            x = (x - _spread(self.mean, x, "mean")) / _spread(self.std, x, "std")
        if self.size is not None:
            if not images:
                raise ValueError(f"size is for images; these samples are {tuple(x.shape[1:])}")
            x = F.interpolate(x, self.size, mode="bilinear", antialias=True)
        if self.order == "BGR" and x.shape[1] == 3:
            x = x.flip(1)
        return x.movedim(1, -1) if self.layout == "channels_last" else x


def _unscaled(x: Tensor, spec: "InputSpec | None") -> Tensor:
    """Undo the scaling of `InputSpec.prepare`."""
    if spec is None:
        return x
    return x * _spread(spec.scale, x, "scale") + _spread(spec.center, x, "center")


def _spread(values: Sequence[float], x: Tensor, name: str) -> Tensor:
    if len(values) not in (1, x.shape[1]):
        raise ValueError(f"{name} has {len(values)} numbers; samples have {x.shape[1]} channels")
    given = torch.tensor(values, dtype=x.dtype, device=x.device)
    return given.reshape(-1, *(1,) * (x.dim() - 2))
