"""The sleep staging network of Chambon et al. 2018 (table A.3)."""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from augnet.trunks.registry import Shape, expect, register_trunk

POOL = 16


class PooledConv(nn.Conv2d):
    """Convolve each row, take the maximum of every sixteen outputs, and rectify it.

    `nn.Conv2d` with a kernel of one row and "same" padding, `nn.MaxPool2d` and `nn.ReLU` do the
    same; a step of ChambonNet then takes 1.6 times as long (one thread). Here the outputs that
    share a maximum are one row of a matrix product, whose columns are the kernel at sixteen places.
    """

    def __init__(self, inputs: int, outputs: int, kernel: int) -> None:
        super().__init__(inputs, outputs, (1, kernel))

    def forward(self, x: Tensor) -> Tensor:
        """Make (B, inputs, C, T) into (B, outputs, C, T // 16)."""
        kernel, pooled = self.weight.shape[-1], x.shape[-1] // POOL
        length = kernel + POOL - 1
        places = F.pad(self.weight[:, :, 0], (POOL - 1, POOL - 1)).unfold(-1, length, 1)
        matrix = places.transpose(1, 2).flatten(0, 1).flatten(1)
        # An even kernel cannot be centered: half a kernel before, the other half after.
        rows = F.pad(x.transpose(1, 2), ((kernel - 1) // 2, kernel // 2 + POOL))
        windows = rows.unfold(-1, length, POOL)[..., :pooled, :]
        convolved = F.linear(windows.transpose(2, 3).flatten(3), matrix)
        highest = F.max_pool1d(convolved.flatten(0, 2), POOL).unflatten(0, convolved.shape[:3])
        assert self.bias is not None
        return F.relu(highest + self.bias).permute(0, 3, 1, 2)


def derive(shape: Shape, outputs: int) -> dict[str, Any]:
    """Return the arguments for windows of several channels."""
    fits = len(shape) == 2 and shape[1] >= POOL**2
    expect("chambon", fits, f"windows (C, T) of at least {POOL**2} samples", shape)
    return {"channels": shape[0], "times": shape[1], "classes": outputs}


@register_trunk("chambon", derive)
class ChambonNet(nn.Sequential):
    """A spatial filter, two temporal convolutions and a linear layer, for windows (B, C, T).

    Layers, sizes and numbers of parameters are those of the paper's table, which has no bias in
    the spatial filter and in the last layer. One channel has no spatial filter, as in
    braindecode: it would be one factor, and where it starts close to 0, the network learns nothing.
    """

    def __init__(self, channels: int, times: int, classes: int = 5, dropout: float = 0.5) -> None:
        if times < POOL**2:
            raise ValueError(f"ChambonNet pools over {POOL**2} samples; windows have only {times}")
        super().__init__(
            nn.Conv1d(channels, channels, 1, bias=False) if channels > 1 else nn.Identity(),
            nn.Unflatten(1, (1, channels)),
            PooledConv(1, 8, 64),
            PooledConv(8, 8, 64),
            nn.Flatten(),
            nn.Dropout(dropout),
            nn.Linear(8 * channels * (times // POOL**2), classes, bias=False),
        )
