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
    testing       check_transform, for transforms of your own
    training      the loop and the resumable directory that everything else uses

The method is that of Rommel, Moreau and Gramfort, "Deep invariant networks with differentiable
augmentation layers", NeurIPS 2022; docstrings refer to its sections and equations.
"""

from augnet.invariance import invariance, summary
from augnet.layers import Augerino, AugmentationLayer, AugmentationModule, RangeTuner, identity
from augnet.learn import learn
from augnet.net import AugNet
from augnet.regularizers import (
    REGULARIZERS,
    DataSpaceNorm,
    LogDisplacement,
    MagnitudeNorm,
    MeanDisplacement,
    Schedule,
    WeightedNorm,
    register_regularizer,
)
from augnet.transforms import TRANSFORMS, Transform, build_transforms, register_transform

__version__ = "0.2.0"
__all__ = [
    "AugNet",
    "Augerino",
    "AugmentationLayer",
    "AugmentationModule",
    "DataSpaceNorm",
    "LogDisplacement",
    "MagnitudeNorm",
    "MeanDisplacement",
    "RangeTuner",
    "REGULARIZERS",
    "Schedule",
    "Transform",
    "TRANSFORMS",
    "WeightedNorm",
    "identity",
    "invariance",
    "learn",
    "register_regularizer",
    "register_transform",
    "build_transforms",
    "summary",
]
