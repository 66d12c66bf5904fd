"""Add a transform of your own
===========================

One class and one registration. Here: a drift, a slow straight line added to a signal, as from a
loose electrode.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from augnet import AugmentationLayer, build_transforms, register_transform
from augnet.testing import check_transform
from augnet.transforms import SIGNALS, Domain, Signed, spread


@register_transform
@dataclass(frozen=True)
class Drift(Signed):
    """Add a straight line that rises or falls by up to ±limit over the whole signal."""

    limit: float = 1.0

    unit: ClassVar[str] = "units over the window"
    domain: ClassVar[Domain] = SIGNALS

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Add one line per sample, each with its own slope."""
        line = torch.linspace(-0.5, 0.5, x.shape[-1], dtype=x.dtype, device=x.device)
        return x + spread(strength, x) * line


# It is in TRANSFORMS now, by the snake_case of its name. Check that it keeps the laws.
check_transform(Drift())

# It has a name in layers, like the built-in transforms.
layer = AugmentationLayer(*build_transforms(["sign_flip", {"name": "drift", "limit": 3.0}]))

# It transforms each sample differently, and repeatably.
x = torch.randn(8, 2, 100)
view = layer(x, torch.Generator().manual_seed(0))
assert torch.equal(view, layer(x, torch.Generator().manual_seed(0)))

# Its magnitude is learned like any other.
view.square().mean().backward()
assert layer.raw_magnitudes.grad[1] > 0
print(layer)

for strength in (-3.0, 0.0, 3.0):
    plt.plot(
        Drift().transform(x[:1, :1], torch.tensor([strength])).flatten(), label=f"{strength:+g}"
    )
plt.legend(title="drift over the window", frameon=False)
plt.show()
