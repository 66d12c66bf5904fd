"""1 AUGMENT: what is learned about the transforms. Anything `(x, generator) -> x` can stand here."""

from augnet.layers.augerino import Augerino
from augnet.layers.layer import AugmentationLayer
from augnet.layers.module import AugmentationModule, identity
from augnet.layers.policy import ByClass, Chain, Policy, Step, built_in

__all__ = [
    "Augerino",
    "AugmentationLayer",
    "AugmentationModule",
    "ByClass",
    "Chain",
    "Policy",
    "Step",
    "built_in",
    "identity",
]
