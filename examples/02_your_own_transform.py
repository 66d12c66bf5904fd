"""Add a transformation of your own
================================

One class, one registration. Here: a drift, a slow straight line added to a signal, as from a loose
electrode.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from augnet import AugmentationLayer, build_transforms, register_transform
from augnet.transforms import SIGNALS, Domain, Signed, spread


@register_transform
@dataclass(frozen=True)
class Drift(Signed):
    """Add a straight line that rises or falls by up to ±limit over the whole signal."""

    limit: float = 1.0

    unit: ClassVar[str] = "units over the window"
    domain: ClassVar[Domain] = SIGNALS

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Add one line per sample, each of its own slope."""
        line = torch.linspace(-0.5, 0.5, x.shape[-1], dtype=x.dtype, device=x.device)
        return x + spread(strength, x) * line


# It is in the transforms now, by the kebab-case of its name, beside the built-in transforms...
layer = AugmentationLayer(*build_transforms(["sign_flip", {"name": "drift", "limit": 3.0}]))

# ... gives each sample a view of its own, repeatably ...
x = torch.randn(8, 2, 100)
view = layer(x, torch.Generator().manual_seed(0))
assert torch.equal(view, layer(x, torch.Generator().manual_seed(0)))

# ... and its magnitude is learned like any other.
view.square().mean().backward()
assert layer.raw_magnitudes.grad[1] > 0
print(layer)

for strength in (-3.0, 0.0, 3.0):
    plt.plot(
        Drift().transform(x[:1, :1], torch.tensor([strength])).flatten(), label=f"{strength:+g}"
    )
plt.legend(title="drift over the window", frameon=False)
plt.show()
