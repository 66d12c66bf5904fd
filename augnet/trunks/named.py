"""Trunks by name: what a command line can say and a file can hold."""

import importlib
import inspect
from collections.abc import Callable

from torch import nn

from augnet.trunks import PreActResNet18
from augnet.trunks.small import default_trunk
from augnet.validation import nearest


def resnet18(shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Build the pre-activation ResNet-18 for images of any size."""
    if len(shape) != 3:
        raise ValueError(f"resnet18 takes images (C, H, W); these samples are {shape}: small?")
    return PreActResNet18(classes=outputs, channels=shape[0])


TRUNKS: dict[str, Callable[[tuple[int, ...], int], nn.Module]] = {
    "small": default_trunk,
    "resnet18": resnet18,
}


def trunk(name: str, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Build a trunk for samples of a shape: one of `TRUNKS`, or a module:Class, which is imported.

    The class, or function, is called with (shape, outputs), or with nothing if it takes nothing.
    """
    if name in TRUNKS:
        return TRUNKS[name](shape, outputs)
    module, separator, attribute = name.partition(":")
    if not separator:
        raise ValueError(f"unknown trunk {name!r}{nearest(name, [*TRUNKS, 'module:Class'])}")
    try:
        maker = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"trunk {name!r} cannot be imported ({error}): is its folder in PYTHONPATH?"
        ) from None
    parameters = inspect.signature(maker).parameters
    made = maker(shape, outputs) if len(parameters) > 1 else maker()
    if not isinstance(made, nn.Module):
        raise ValueError(f"trunk {name!r} makes a {type(made).__name__}, which is no nn.Module")
    return made
