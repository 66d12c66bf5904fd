"""Learn which transformations data is invariant to, how far, and build that into any network.

    x ──► augment ──► trunk ──► aggregate ──► prediction ──► loss = task + λ · penalty
          (C views)    f(g·x)     mean over C                  −‖w ⊙ μ‖

Read on in that order:

    transforms   the words: T(x; μ), the identity at μ = 0 and at its limit at μ = 1
    augment      what is learned about them: weights w and magnitudes μ, in layers
    trunk        any nn.Module; the paper's own
    aggregate    the predictions for all copies become one
    net          AugNet, all of it
    penalty      what rewards strong transformations, and when
    invariance   how invariant is a model to a transformation?
    learn        all of it in one call: what leaves the label alone, and how far

The method is that of Rommel, Moreau and Gramfort, "Deep invariant networks with differentiable
augmentation layers", NeurIPS 2022; sections and equations in the docstrings are that paper's.
"""

from augnet.augment import Augerino, AugmentationLayer, AugmentationModule, identity
from augnet.invariance import invariance, summary
from augnet.learn import learn
from augnet.net import AugNet
from augnet.penalty import Schedule, magnitude_only, selective
from augnet.transforms import VOCABULARY, Transform, register, words

__version__ = "0.1.0"
__all__ = [
    "AugNet",
    "Augerino",
    "AugmentationLayer",
    "AugmentationModule",
    "Schedule",
    "Transform",
    "VOCABULARY",
    "identity",
    "invariance",
    "learn",
    "magnitude_only",
    "register",
    "selective",
    "summary",
    "words",
]
