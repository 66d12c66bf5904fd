"""1 AUGMENT: what is learned about the words. Anything `(x, generator) -> x` can stand here."""

from augnet.augment.affine import Augerino
from augnet.augment.layer import AugmentationLayer
from augnet.augment.module import AugmentationModule, identity
from augnet.augment.policy import ByClass, Chain, Policy, Step, built_in

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
