"""The convolutional network of the Mario-Iggy experiment (table A.1)."""

from typing import Any

from torch import nn

from augnet.trunks.registry import Shape, expect, register_trunk


def conv_block(inputs: int, outputs: int) -> list[nn.Module]:
    """Convolve, normalize and rectify, keeping the size of the image."""
    return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]


def derive(shape: Shape, outputs: int) -> dict[str, Any]:
    """Return the arguments for images whose sides are pooled to 4 pixels."""
    fits = len(shape) == 3 and all(side // 8 == 4 for side in shape[1:])
    expect("mario_cnn", fits, "images (C, H, W) of about 32×32 pixels", shape)
    return {"classes": outputs, "channels": shape[0]}


@register_trunk("mario_cnn", derive)
class MarioCNN(nn.Sequential):
    """Four convolutions of 32, 64, 128 and 256 filters and a linear layer, for 32×32 images."""

    def __init__(self, classes: int = 4, channels: int = 3, width: int = 32) -> None:
        super().__init__(
            *conv_block(channels, width),
            *conv_block(width, 2 * width),
            nn.MaxPool2d(2),
            *conv_block(2 * width, 4 * width),
            nn.MaxPool2d(2),
            *conv_block(4 * width, 8 * width),
            nn.MaxPool2d(2),
            nn.MaxPool2d(4, stride=1),
            nn.Flatten(),
            nn.Linear(8 * width, classes),
        )
