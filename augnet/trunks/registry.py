"""The registry of trunks: names for `learn`, the command line, files and experiments."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from torch import nn

from augnet.text import one_line
from augnet.validation import nearest

Shape: TypeAlias = tuple[int, ...]
Builder = TypeVar("Builder", bound=Callable[..., nn.Module])

TRUNKS: dict[str, Callable[..., nn.Module]] = {}
"""Classes, or functions that build a module, by name."""
_DERIVE: dict[str, Callable[[Shape, int], dict[str, Any]]] = {}


def register_trunk(
    name: str, derive: Callable[[Shape, int], dict[str, Any]] | None = None
) -> Callable[[Builder], Builder]:
    """Register a class or function that builds a trunk from keyword arguments.

    `derive(shape, outputs)` returns its arguments for samples of a shape, or raises ValueError for
    a shape that does not fit. Without it, the arguments are `shape` and `outputs` themselves.

    >>> from augnet.trunks import TRUNKS, register_trunk
    >>> @register_trunk("linear_example")
    ... def linear(shape, outputs):
    ...     return nn.Sequential(nn.Flatten(), nn.LazyLinear(outputs))
    >>> TRUNKS.pop("linear_example") is linear
    True
    """

    def register(builder: Builder) -> Builder:
        if name in TRUNKS:
            raise ValueError(f"trunk {name!r} is registered already: choose another name")
        if not name.isidentifier():
            raise ValueError(f"a trunk's name is snake_case; got {name!r}")
        TRUNKS[name] = builder
        _DERIVE[name] = derive or (lambda shape, outputs: {"shape": shape, "outputs": outputs})
        return builder

    return register


def build_trunk(name: str, shape: Shape, outputs: int, **arguments: Any) -> nn.Module:
    """Build a trunk for samples of a shape: one of `TRUNKS`, or a module:Class, which is imported.

    `arguments` replace those that follow from shape and outputs. A class or function of another
    module is called with (shape, outputs), or without arguments if it takes none.
    """
    known = name.replace("-", "_")
    if known in TRUNKS:
        return TRUNKS[known](**_DERIVE[known](tuple(shape), outputs) | arguments)
    module, separator, attribute = name.partition(":")
    if not separator:
        raise ValueError(f"unknown trunk {name!r}{nearest(name, [*TRUNKS, 'module:Class'])}")
    try:
        builder = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"trunk {name!r} cannot be imported ({error}): is its folder in PYTHONPATH?"
        ) from None
    except (Exception, SystemExit) as error:  # whatever the module does
        raise ValueError(
            f"trunk {name!r} cannot be imported ({type(error).__name__}: {one_line(error)})"
        ) from error
    try:
        several = len(inspect.signature(builder).parameters) > 1
        built = builder(shape, outputs, **arguments) if several else builder(**arguments)
    except SystemExit:
        raise ValueError(f"trunk {name!r} ends the program, and builds no nn.Module") from None
    except Exception as error:  # whatever the builder does
        raise ValueError(
            f"trunk {name!r} is called with (shape, outputs), or without arguments if it takes "
            f"none, and failed: {one_line(error)}"
        ) from error
    if not isinstance(built, nn.Module):
        raise ValueError(f"trunk {name!r} builds a {type(built).__name__}, not an nn.Module")
    return built


def expect(name: str, fits: bool, expected: str, shape: Shape) -> None:
    """Refuse samples of a shape that a trunk does not take."""
    if not fits:
        raise ValueError(f"{name} takes {expected}; these samples are {shape}: try 'small'")
