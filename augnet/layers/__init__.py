"""Augmentations of a batch: layers that learn weights and magnitudes, Augerino, fixed policies."""

from augnet.layers.augerino import Augerino
from augnet.layers.layer import AugmentationLayer
from augnet.layers.module import AugmentationModule, identity
from augnet.layers.policy import ByClass, Chain, Policy, Step, active_in_eval

__all__ = [
    "Augerino",
    "AugmentationLayer",
    "AugmentationModule",
    "ByClass",
    "Chain",
    "Policy",
    "Step",
    "active_in_eval",
    "identity",
]
