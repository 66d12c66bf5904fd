"""Learn which transforms data is invariant to, how far, and build that into any network.

    x ──► augment ──► trunk ──► aggregate ──► prediction ──► loss = task + λ · regularizer
          (C copies)   f(g·x)    mean over C                  −‖w ⊙ μ‖

The parts, in that order:

    transforms    T(x; μ): the identity at magnitude μ = 0, at its limit at μ = 1
    layers        what is learned about transforms: weights w and magnitudes μ
    trunks        networks; any nn.Module will do
    aggregate     from the predictions for all copies to one
    net           AugNet: augment, trunk, aggregate
    regularizers  what rewards strong transforms, and when
    invariance    how invariant is a model to a transform?
    learn         all in one call: which transforms preserve the label, and how far
    audit         is a trained model invariant to what its labels allow?
    testing       check_transform, for transforms of your own
    training      the loop and the resumable directory that everything else uses

The method is that of Rommel, Moreau and Gramfort, "Deep invariant networks with differentiable
augmentation layers", NeurIPS 2022; docstrings refer to its sections and equations.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augnet.audit import audit
    from augnet.invariance import invariance, summary
    from augnet.layers import Augerino, AugmentationLayer, AugmentationModule, RangeTuner, identity
    from augnet.learn import learn
    from augnet.net import AugNet
    from augnet.regularizers import (
        REGULARIZERS,
        MagnitudeNorm,
        Schedule,
        WeightedNorm,
        register_regularizer,
    )
    from augnet.transforms import (
        TRANSFORMS,
        Transform,
        build_transforms,
        register_transform,
        transform_from,
    )

__version__ = "0.2.0"
__all__ = [
    "AugNet",
    "Augerino",
    "AugmentationLayer",
    "AugmentationModule",
    "MagnitudeNorm",
    "RangeTuner",
    "REGULARIZERS",
    "Schedule",
    "Transform",
    "TRANSFORMS",
    "WeightedNorm",
    "audit",
    "identity",
    "invariance",
    "learn",
    "register_regularizer",
    "register_transform",
    "build_transforms",
    "summary",
    "transform_from",
]

_NAMES = {
    "net": ("AugNet",),
    "layers": ("Augerino", "AugmentationLayer", "AugmentationModule", "RangeTuner", "identity"),
    "invariance": ("invariance", "summary"),
    "learn": ("learn",),
    "audit": ("audit",),
    "transforms": (
        "TRANSFORMS",
        "Transform",
        "build_transforms",
        "register_transform",
        "transform_from",
    ),
    "regularizers": (
        "REGULARIZERS",
        "MagnitudeNorm",
        "Schedule",
        "WeightedNorm",
        "register_regularizer",
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
_SUBMODULES = (
    "aggregate", "categories", "copies", "distill", "files", "groups", "layers", "net",
    "regularizers", "training", "transforms", "trunks", "validation",
)  # fmt: skip


class _Package(ModuleType):
    """Import public names when they are first used, so that `augnet --help` imports no torch."""

    def __getattr__(self, name: str) -> Any:
        if name in _SUBMODULES:
            return import_module(f"{__name__}.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_MODULES[name]}")
        value = getattr(module, name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds modules to their package, but `learn` and `invariance` are functions here.
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__, *_SUBMODULES})


sys.modules[__name__].__class__ = _Package
