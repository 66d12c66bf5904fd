"""Augmentations of a batch: layers that learn weights and magnitudes, Augerino, fixed policies.

    layer        AugmentationLayer (eq. 2)
    module       AugmentationModule: layers in sequence
    resampling   one resampling for several affine maps
    operators    one transform per sample: one pass for all that share an operator
    weight_gradient   the gradient for the weights of drawn transforms
    augerino     Augerino, a distribution on the affine group
    policy       Policy, Step, ByClass, Chain: they learn nothing
    published    the tables of AutoAugment, RandAugment, TrivialAugment, crop and flip
    tuner        RangeTuner: ranges grow while their edges cost little (edges, running, range_table)
    state        TransformState: what is known about each transform

Any callable `(x, generator) -> x` can stand in their place.
"""

from augnet.layers.augerino import Augerino
from augnet.layers.layer import AugmentationLayer
from augnet.layers.module import AugmentationModule, identity
from augnet.layers.policy import ByClass, Chain, Policy, Step, active_in_eval
from augnet.layers.range_table import RangeTable, TunedRange
from augnet.layers.tuner import RangeTuner

__all__ = [
    "Augerino",
    "AugmentationLayer",
    "AugmentationModule",
    "ByClass",
    "Chain",
    "Policy",
    "RangeTable",
    "RangeTuner",
    "Step",
    "TunedRange",
    "active_in_eval",
    "identity",
]
