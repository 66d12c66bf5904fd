"""How samples were read, so that others can be read alike."""

from typing import Annotated, Any, Literal, TypeAlias

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

Kind: TypeAlias = Literal["images", "signals", "vectors"]
Size: TypeAlias = Annotated[int, Field(ge=1)]
Finite: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]
DIMENSIONS: dict[int, Kind] = {1: "vectors", 2: "signals", 3: "images"}


class Reading(BaseModel):
    """What kind of samples these are, and how their numbers become the network's.

    All kinds follow one rule, `(x − center) / scale`, per channel or column, or one for all: bytes
    of images go to [0, 1], signals and vectors to mean 0 and standard deviation 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    shape: tuple[Size, ...]
    """Of one sample: (C, H, W), (C, T) or (D,)."""
    center: tuple[Finite, ...] = (0.0,)
    scale: tuple[Annotated[Finite, Field(gt=0)], ...] = (1.0,)
    mode: Literal["L", "RGB"] | None = None
    """Of image files: gray or color."""
    sfreq: Annotated[Finite, Field(gt=0)] | None = None
    """Samples per second, of signals."""
    channels: tuple[str, ...] = ()
    """Their names, of signals."""
    window: Annotated[Finite, Field(gt=0)] | None = None
    """Seconds that are cut out of recordings."""

    @property
    def shared(self) -> dict[str, Any]:
        """What transforms may want to know about the data."""
        known = {"sfreq": self.sfreq, "channels": list(self.channels)}
        return {key: value for key, value in known.items() if value}

    def fitted(self, x: Tensor) -> "Reading":
        """Learn center and scale from the samples that are learned from, images (N, C, H, W) apart.

        Bytes are 0 to 255; other images keep their numbers if those lie in [0, 1], and else go
        from their least to their largest.
        """
        if self.kind == "images":
            if not x.is_floating_point():
                low, high = 0.0, float(torch.iinfo(x.dtype).max)
            else:
                low, high = x.min().item(), x.max().item()
                if low >= 0 and high <= 1:
                    low, high = 0.0, 1.0
            return self.model_copy(update={"center": (low,), "scale": (max(high - low, 1e-12),)})
        others = [dim for dim in range(x.dim()) if dim != 1]
        spread, mean = torch.std_mean(x.double(), dim=others, correction=0)
        spread = torch.where(spread > 1e-9 * mean.abs().clamp(min=1e-30), spread, 1.0)
        return self.model_copy(
            update={"center": tuple(mean.tolist()), "scale": tuple(spread.tolist())}
        )

    def prepare(self, x: Tensor) -> Tensor:
        """Give samples as the network takes them, in float32."""
        if tuple(x.shape[1:]) != self.shape:
            raise ValueError(
                f"these samples are {tuple(x.shape[1:])}; the model was made for {self.shape}"
            )
        around = (-1, *(1,) * (x.dim() - 2))
        center, scale = (
            torch.tensor(values, dtype=torch.float64, device=x.device).reshape(around)
            for values in (self.center, self.scale)
        )
        if x.dtype == torch.float64 or self.kind != "images":
            return ((x - center) / scale).float()
        return (x - center.float()) / scale.float()  # bytes, of which there may be many
