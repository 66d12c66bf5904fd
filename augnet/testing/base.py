"""The registry of laws, and what laws have in common."""

from collections.abc import Callable
from typing import Any, TypeAlias

from torch import Generator, Tensor

from augnet.transforms import Transform

Law: TypeAlias = Callable[[Transform, Tensor], None]

LAWS: dict[str, Law] = {}


def law(function: Law) -> Law:
    """Register a law by the name of its function."""
    LAWS[function.__name__] = function
    return function


def expect(condition: object, message: str) -> None:
    """Raise an AssertionError with this message if the condition is false."""
    if not condition:
        raise AssertionError(message)


def params_of(transform: Transform, x: Tensor, seed: int = 1) -> Any:
    """Draw params for a batch from a seed."""
    return transform.sample_params(x.shape, x, seeded(x, seed))


def seeded(x: Tensor, seed: int) -> Generator:
    """Make a generator in a known state on the device of `x`."""
    return Generator(device=x.device).manual_seed(seed)


def many(x: Tensor, count: int) -> Tensor:
    """Repeat a batch up to `count` samples."""
    return x.repeat(-(-count // len(x)), *(1,) * (x.dim() - 1))[:count]


def refused(call: Callable[[], object], error: type[Exception], message: str) -> None:
    """Raise an AssertionError unless a call raises this error with this message."""
    try:
        call()
    except error as raised:
        expect(message in str(raised), f"the error does not mention {message!r}: {raised}")
        return
    raise AssertionError(f"no {error.__name__} with {message!r} was raised")


def tensors(params: Any) -> list[Tensor]:
    """List the tensors of params."""
    if isinstance(params, tuple | list):
        return [tensor for part in params for tensor in tensors(part)]
    return [] if params is None else [params]
