"""Count copies of values from the host to another device, for which the host waits."""

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

MAKES = (torch.tensor, torch.as_tensor, Tensor.new_tensor)


class HostCopies(TorchFunctionMode):
    """List the calls that make a tensor on another device from values of the host."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        copies = function in MAKES or (function is Tensor.to and args[0].device.type == "cpu")
        if copies and made.device.type != "cpu":
            self.calls.append(function.__name__)
        return made
