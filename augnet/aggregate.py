"""3 AGGREGATE: the predictions for all copies (C, B, ...) become one per sample (B, ...).

All of them can be given to `F.cross_entropy`, and each means the same for every number of copies.
The mean of logits and the mean of log-probabilities differ by a constant per sample, which the
softmax inside the cross-entropy removes: they are the same classifier, the geometric mean of the
copies' probabilities. The mean of probabilities is another one.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

from torch import Tensor

Aggregate: TypeAlias = Callable[[Tensor], Tensor]


def mean(outputs: Tensor) -> Tensor:
    """Average values or logits."""
    return outputs.mean(0)


def mean_log_probabilities(outputs: Tensor) -> Tensor:
    """Average the log-probabilities of logits, as the authors' code does."""
    return _log_probabilities(outputs).mean(0)


def mean_probabilities(outputs: Tensor) -> Tensor:
    """Average the probabilities of logits; the result is the logarithm of that average."""
    return _log_probabilities(outputs).logsumexp(0) - math.log(outputs.shape[0])


def _log_probabilities(outputs: Tensor) -> Tensor:
    """Normalise over the classes, which are where `F.cross_entropy` has them: (C, B, K, ...)."""
    if outputs.dim() < 3 or outputs.shape[2] < 2:
        raise ValueError(
            "probabilities need two classes or more, (B, K, ...); the trunk gave "
            f"{tuple(outputs.shape[1:])}: for values, aggregate='values'"
        )
    return outputs.log_softmax(2)


AGGREGATES: dict[str, Aggregate] = {
    "values": mean,
    "logits": mean,
    "log-probabilities": mean_log_probabilities,
    "probabilities": mean_probabilities,
}
