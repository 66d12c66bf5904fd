"""The pre-activation ResNet-18 of the CIFAR-10 experiment (He et al. 2016b)."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from augnet.trunks.registry import Shape, expect, register_trunk
from augnet.validation import count


class Standardize(nn.Module):
    """Center and scale channels: after augmentation, which needs pixels in [0, 1]."""

    mean: Tensor
    std: Tensor

    def __init__(self, mean: Sequence[float], std: Sequence[float]) -> None:
        super().__init__()
        for name, values in (("mean", mean), ("std", std)):
            self.register_buffer(name, torch.tensor(values)[:, None, None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Standardize each channel."""
        return (x - self.mean) / self.std


class PreActBlock(nn.Module):
    """Two 3×3 convolutions, each after normalization and rectification, beside a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        changes = stride != 1 or inputs != outputs
        self.shortcut = nn.Conv2d(inputs, outputs, 1, stride, bias=False) if changes else None

    def forward(self, x: Tensor) -> Tensor:
        """Add what the block learned to what came in."""
        active = F.relu(self.norm1(x))
        shortcut = x if self.shortcut is None else self.shortcut(active)
        return self.conv2(F.relu(self.norm2(self.conv1(active)))) + shortcut


def derive(shape: Shape, outputs: int) -> dict[str, Any]:
    """Return the arguments for images of any size."""
    expect("resnet18", len(shape) == 3, "images (C, H, W)", shape)
    return {"classes": outputs, "channels": shape[0]}


@register_trunk("resnet18", derive)
class PreActResNet18(nn.Sequential):
    """Eight pre-activation blocks in four stages, of 64, 128, 256 and 512 filters for width 64.

    Given the `mean` and `std` of each channel, images are standardized first.
    """

    def __init__(
        self,
        classes: int = 10,
        channels: int = 3,
        width: int = 64,
        mean: Sequence[float] = (),
        std: Sequence[float] = (),
    ) -> None:
        if len(mean) != len(std) or len(mean) not in (0, channels):
            raise ValueError(
                f"mean and std are one value for each of {channels} channels, or both left out; "
                f"got {list(mean)} and {list(std)}"
            )
        count(width, "width")
        stages = [width, 2 * width, 4 * width, 8 * width]
        blocks: list[nn.Module] = []
        inputs = width
        for stage, outputs in enumerate(stages):
            for stride in (1 if stage == 0 else 2, 1):
                blocks.append(PreActBlock(inputs, outputs, stride))
                inputs = outputs
        super().__init__(
            *([Standardize(mean, std)] if mean else []),
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            *blocks,
            nn.BatchNorm2d(inputs),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(inputs, classes),
        )
