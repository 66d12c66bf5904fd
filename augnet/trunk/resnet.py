"""The pre-activation ResNet-18 of the CIFAR-10 experiment (He et al. 2016b)."""

import torch.nn.functional as F
from torch import Tensor, nn


class PreActBlock(nn.Module):
    """Two 3×3 convolutions, each after normalisation and rectification, beside a shortcut."""

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


class PreActResNet18(nn.Sequential):
    """Eight pre-activation blocks in four stages, of 64, 128, 256 and 512 filters for width 64."""

    def __init__(self, classes: int = 10, channels: int = 3, width: int = 64) -> None:
        stages = [width, 2 * width, 4 * width, 8 * width]
        blocks: list[nn.Module] = []
        inputs = width
        for stage, outputs in enumerate(stages):
            for stride in (1 if stage == 0 else 2, 1):
                blocks.append(PreActBlock(inputs, outputs, stride))
                inputs = outputs
        super().__init__(
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            *blocks,
            nn.BatchNorm2d(inputs),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(inputs, classes),
        )
