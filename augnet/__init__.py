"""Learn which transformations data is invariant to, how far, and build that into any network.

    x ──► augment ──► trunk ──► aggregate ──► prediction ──► loss = task + λ · regularizer
          (C views)    f(g·x)     mean over C                  −‖w ⊙ μ‖

Read on in that order:

    transforms   the transforms: T(x; μ), the identity at μ = 0 and at its limit at μ = 1
    augment      what is learned about them: weights w and magnitudes μ, in layers
    trunk        any nn.Module; the paper's own
    aggregate    the predictions for all copies become one
    net          AugNet, all of it
    regularizers what rewards strong transforms, and when
    invariance   how invariant is a model to a transformation?
    learn        all of it in one call: what leaves the label alone, and how far

The method is that of Rommel, Moreau and Gramfort, "Deep invariant networks with differentiable
augmentation layers", NeurIPS 2022; sections and equations in the docstrings are that paper's.
"""

from augnet.invariance import invariance, summary
from augnet.layers import Augerino, AugmentationLayer, AugmentationModule, identity
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

__version__ = "0.1.0"
__all__ = [
    "AugNet",
    "Augerino",
    "AugmentationLayer",
    "AugmentationModule",
    "DataSpaceNorm",
    "LogDisplacement",
    "MagnitudeNorm",
    "MeanDisplacement",
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
