"""How samples are read and scaled, so that others can be read in the same way."""

from typing import Annotated, Any, Literal, TypeAlias

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor

Kind: TypeAlias = Literal["images", "signals", "vectors"]
Size: TypeAlias = Annotated[int, Field(ge=1, lt=2**31)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
DIMENSIONS: dict[int, Kind] = {1: "vectors", 2: "signals", 3: "images"}


class InputSpec(BaseModel):
    """The kind and shape of samples, and how their values are scaled for the network.

    All kinds are scaled by `(x - center) / scale`, per channel or column, or the same for all:
    images to [0, 1], signals and vectors to mean 0 and standard deviation 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    shape: tuple[Size, ...]
    """Of one sample: (C, H, W), (C, T) or (D,)."""
    center: tuple[Finite, ...] = (0.0,)
    scale: tuple[Annotated[Finite, Field(gt=0)], ...] = (1.0,)
    values: Literal["bytes", "floats"] | None = None
    """What images are as they are read; None in files of older versions, which do not say it."""
    mode: Literal["L", "RGB"] | None = None
    """Of image files: gray or color."""
    white: Annotated[Finite, Field(gt=0)] | None = None
    """The value of white in image files of more than 8 bits; None if there are none."""
    sfreq: Annotated[Finite, Field(gt=0)] | None = None
    """The sampling rate of signals, in Hz."""
    channels: tuple[str, ...] = ()
    """The names of the channels of signals."""
    window: Annotated[Finite, Field(gt=0)] | None = None
    """The length of windows of recordings, in seconds."""

    @model_validator(mode="after")
    def _lengths_fit(self) -> "InputSpec":
        if DIMENSIONS.get(len(self.shape)) != self.kind:
            raise ValueError(f"{self.kind} do not have shape {self.shape}")
        for name in ("center", "scale"):
            if len(getattr(self, name)) not in (1, self.shape[0]):
                raise ValueError(f"{name} has {len(getattr(self, name))} values for {self.shape}")
        if self.channels and len(self.channels) != self.shape[0]:
            raise ValueError(f"{len(self.channels)} names of channels for shape {self.shape}")
        return self

    @property
    def shared(self) -> dict[str, Any]:
        """The settings that transforms may take from the data."""
        known = {"sfreq": self.sfreq, "channels": list(self.channels)}
        return {key: value for key, value in known.items() if value}

    def fitted(self, x: Tensor) -> "InputSpec":
        """Return a copy with `center`, `scale` and `values` computed from training samples.

        Images of bytes go from 0 to 255. Other images keep their values if these lie in [0, 1], and
        else go from their minimum to their maximum.
        """
        if self.kind == "images":
            if not x.is_floating_point():
                low, high = 0.0, float(torch.iinfo(x.dtype).max)
            else:
                low, high = x.min().item(), x.max().item()
                if low >= 0 and high <= 1:
                    low, high = 0.0, 1.0
            scaled = {"center": (low,), "scale": (max(high - low, 1e-12),)}
            values = "floats" if x.is_floating_point() else "bytes"
            return self.model_copy(update=scaled | {"values": values})
        others = [dim for dim in range(x.dim()) if dim != 1]
        std, mean = torch.std_mean(x.double(), dim=others, correction=0)
        std = torch.where(std > 1e-9 * mean.abs().clamp(min=1e-30), std, 1.0)
        return self.model_copy(
            update={"center": tuple(mean.tolist()), "scale": tuple(std.tolist())}
        )

    def prepare(self, x: Tensor) -> Tensor:
        """Scale samples for the network, in float32."""
        if tuple(x.shape[1:]) != self.shape:
            raise ValueError(
                f"these samples have shape {tuple(x.shape[1:])}; the model takes {self.shape}"
            )
        shape = (-1, *(1,) * (x.dim() - 2))
        center, scale = (
            torch.tensor(values, dtype=torch.float64, device=x.device).reshape(shape)
            for values in (self.center, self.scale)
        )
        if x.dtype == torch.float64 or self.kind != "images":
            return ((x - center) / scale).float()
        # Bytes of images: there may be many, and float32 is exact enough.
        return (x - center.float()) / scale.float()
