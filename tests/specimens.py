"""Specimens: one transform of each kind, and inputs that fit it."""

import torch
from torch import Tensor

from augnet.transforms import Domain, Transform, build_transforms

CHANNELS = ("C3", "C4", "F3", "F4", "O1", "O2")
SFREQ = 100.0


def specimen(name: str) -> Transform:
    """Build a transform by name, with the facts about the recording that it may need."""
    return build_transforms(name, sfreq=SFREQ, channels=CHANNELS)[0]


def inputs(
    domain: Domain, batch: int = 8, dtype: torch.dtype = torch.float32, seed: int = 0
) -> Tensor:
    """Make a batch that fits a domain: images in [0, 1], or signals."""
    generator = torch.Generator().manual_seed(seed)
    if domain.name.endswith("images"):
        return torch.rand(batch, 3, 18, 20, generator=generator, dtype=dtype)
    return torch.randn(batch, len(CHANNELS), 256, generator=generator, dtype=dtype)


def seeded(seed: int) -> torch.Generator:
    """Make a generator in a known state."""
    return torch.Generator().manual_seed(seed)
