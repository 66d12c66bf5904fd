"""3 AGGREGATE: the predictions for all copies (C, B, ...) become one per sample (B, ...).

All of them can be given to `F.cross_entropy`, and each means the same for every number of copies.
The mean of logits and the mean of log-probabilities differ by a constant per sample, which the
softmax inside the cross-entropy removes: they are the same classifier, the geometric mean of the
copies' probabilities. The mean of probabilities is another one.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

Aggregate: TypeAlias = Callable[[Tensor], Tensor]


def mean(outputs: Tensor) -> Tensor:
    """Average values or logits."""
    return outputs.mean(0)


def mean_log_probabilities(outputs: Tensor) -> Tensor:
    """Average the log-probabilities of logits, as the authors' code does."""
    return outputs.log_softmax(-1).mean(0)


def mean_probabilities(outputs: Tensor) -> Tensor:
    """Average the probabilities of logits; the result is the logarithm of that average."""
    return torch.logsumexp(outputs.log_softmax(-1), dim=0) - math.log(outputs.shape[0])


AGGREGATES: dict[str, Aggregate] = {
    "values": mean,
    "logits": mean,
    "log-probabilities": mean_log_probabilities,
    "probabilities": mean_probabilities,
}
