"""Checks of inputs: errors say what came, what was expected, and the likely fix.

On accelerators no check waits for the device: shapes and types are known to the host, and values
are checked when the device reaches the check.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from numbers import Integral, Real

import torch
from torch import Tensor

FLOATS = (torch.float32, torch.float64)


def batch(x: object, who: str) -> None:
    """Raise an error unless `x` is a non-empty batch of finite numbers."""
    if not isinstance(x, Tensor):
        raise TypeError(f"{who} takes a tensor (B, ...); got {type(x).__name__}: torch.as_tensor?")
    if x.dim() == 0 or x.shape[0] == 0:
        raise ValueError(
            f"{who} takes a batch of at least one sample; got shape {tuple(x.shape)}"
            + (": an empty batch" if x.dim() else ": x.unsqueeze(0) makes a batch of one")
        )
    if x.is_floating_point():
        finite(x, f"{who} takes finite numbers; the input has NaN or infinite values")


def floats(x: Tensor, who: str) -> None:
    """Raise an error unless `x` is float32 or float64.

    Integers have no gradient, and half precision has no FFT on CPU.
    """
    if x.dtype not in FLOATS:
        hint = "augment in float32 and let autocast lower the trunk"
        if not x.is_floating_point():
            hint = "x.float(), and x.float() / 255 for 8-bit images"
        raise TypeError(f"{who} takes float32 or float64; got {x.dtype}: {hint}")


def finite(x: Tensor, message: str) -> None:
    """Raise an error if `x` has NaN or infinite values."""
    if _unseen(x):
        return
    x = x.detach()
    # The sum is several times cheaper than a check of each value, and nearly always enough.
    if x.device.type == "cpu" and bool(x.sum().isfinite()):
        return
    insist(x.isfinite().all(), message)


def magnitude(value: float | Tensor, x: Tensor, who: str) -> None:
    """Raise an error unless a magnitude is in [0, 1], on the device of `x`, and fits its batch."""
    outside = f"{who} takes a magnitude in [0, 1]"
    if not isinstance(value, Tensor):
        if not isinstance(value, Real):
            raise TypeError(f"{outside}, a number or a tensor; got {type(value).__name__}")
        if not 0 <= value <= 1:
            raise ValueError(f"{outside}; got {value}: strengths in physical units go in limit=")
        return
    if value.dim() and tuple(value.shape) != (x.shape[0],):
        raise ValueError(
            f"{who} takes one magnitude, or one per sample, shape ({x.shape[0]},); "
            f"got shape {tuple(value.shape)}"
        )
    same_device(value, x, f"{who}: the magnitude")
    detached = value.detach()
    insist(((detached >= 0) & (detached <= 1)).all(), f"{outside}; some of these are not")


def same_device(value: Tensor, x: Tensor, whose: str) -> None:
    """Raise an error if two tensors are on different devices."""
    if value.device != x.device:
        raise ValueError(
            f"{whose} is on {value.device} and the input is on {x.device}: move one with .to(...)"
        )


def count(value: int, name: str) -> int:
    """Raise an error unless `value` is a whole number from 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} takes a whole number from 1; got {value!r}")
    return int(value)


def one_of(value: object, choices: Collection[str], who: str) -> None:
    """Raise an error if a name is unknown."""
    if value not in choices:
        raise ValueError(f"{who} knows {', '.join(choices)}; got {value!r}")


def sizes(value: object) -> None:
    """Raise an error unless `value` has three sizes: of training, validation and test set."""
    listed = list(value) if isinstance(value, list | tuple) else []
    if len(listed) != 3 or not all(type(size) is int and size >= 1 for size in listed):
        hint = "three whole numbers from 1: train, valid and test"
        raise ValueError(f"sizes takes {hint}; got {value!r}")


def nearest(name: object, known: Iterable[str]) -> str:
    """Suggest the known name that is nearest to an unknown one, or list all known names."""
    plain = {transform.lower().replace("-", "_"): transform for transform in known}
    near = get_close_matches(str(name).lower().replace("-", "_"), plain, n=1)
    return (
        f": did you mean {plain[near[0]]!r}?" if near else f". Known: {', '.join(plain.values())}"
    )


def insist(condition: Tensor, message: str) -> None:
    """Raise an error if the condition is false: at once on CPU, asynchronously elsewhere."""
    if _unseen(condition):
        return
    if condition.device.type != "cpu":
        torch._assert_async(condition, message)
    elif not bool(condition):
        raise ValueError(message)


def _unseen(x: Tensor) -> bool:
    """Tell whether values cannot be read: in a traced graph, or on the meta device."""
    return torch.compiler.is_compiling() or x.device.type == "meta"
