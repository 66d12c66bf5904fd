"""Aggregates: from the predictions for all copies (C, B, ...) to one per sample (B, ...).

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
    return _log_probabilities(outputs).mean(0)


def mean_probabilities(outputs: Tensor) -> Tensor:
    """Average the probabilities of logits; the result is the logarithm of that average."""
    return _log_probabilities(outputs).logsumexp(0) - math.log(outputs.shape[0])


def _log_probabilities(outputs: Tensor) -> Tensor:
    """Normalize over the classes, which are where `F.cross_entropy` has them: (C, B, K, ...)."""
    _check_classes(outputs)
    return outputs.log_softmax(2)


def _check_classes(outputs: Tensor) -> None:
    if outputs.dim() < 3 or outputs.shape[2] < 2:
        raise ValueError(
            "probabilities need two classes or more, (B, K, ...); the trunk gave "
            f"{tuple(outputs.shape[1:])}: for values, aggregate='values'"
        )


AGGREGATES: dict[str, Aggregate] = {
    "values": mean,
    "logits": mean,
    "log-probabilities": mean_log_probabilities,
    "probabilities": mean_probabilities,
}

PRIOR = 4
"""How many copies the variance of the batch counts for in that of a sample."""


def uncertainty(outputs: Tensor, meaning: str) -> Tensor:
    """Say how far the answer to each sample may be off, given its copies (C, B, ...): (B,).

    `meaning` is a name of `AGGREGATES`. For values this is half the width of the confidence
    interval of the mean (95 %, Student's), of the most uncertain value. For mean probabilities it
    is the same in probabilities. For mean logits it is by how much the odds between the leading
    class and another may change within the interval of their difference, as a probability. One
    copy says nothing: infinite.

    A few copies may agree by chance. So the variance of a sample counts together with the mean
    variance of its batch, as if that had been seen in `PRIOR` more copies.
    """
    copies = outputs.shape[0]
    if copies < 2:
        return outputs.new_full(outputs.shape[1:2], math.inf)
    if meaning == "probabilities":
        outputs = _log_probabilities(outputs).exp()
    odds = meaning in ("logits", "log-probabilities")
    if odds:  # differences of logits are those of log-probabilities
        _check_classes(outputs)
        leader = outputs.mean(0, keepdim=True).argmax(2, keepdim=True)
        outputs = outputs - outputs.gather(2, leader.expand(copies, *leader.shape[1:]))
    prior = PRIOR if outputs.shape[1] > 1 else 0
    z, freedom = 1.96, copies - 1 + prior
    # The first terms of the expansion of Student's quantile around the normal one.
    quantile = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    variance, behind = torch.var_mean(outputs, 0)
    variance = ((copies - 1) * variance + prior * variance.mean(0, keepdim=True)) / freedom
    error = variance.sqrt() * (quantile / math.sqrt(copies))
    if odds:
        error = (behind + error).sigmoid() - behind.sigmoid()
        error = error.scatter(1, leader[0], 0.0)  # which is not behind itself
    return error.flatten(1).amax(1) if error.dim() > 1 else error
