"""Evaluate a network on samples: which errors it makes, and the mean of errors over classes."""

import math

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet.learn.inputs import LearnData
from augnet.learn.strengths import apply_at_strength
from augnet.transforms import Transform
from augnet.transforms.base import full_precision
from augnet.transforms.noise import uniform

CHUNK = 512
"""Samples of one forward pass, and those whose random numbers are drawn at once."""
CPU_CHUNK = 128
"""Samples of one forward pass on a CPU: their activations fit into its cache."""


class Evaluator:
    """Errors of samples, weighted so that every class counts the same on each side of the split.

    An error is 1 for a wrong class and 0 for the right one; for values it is the distance from the
    target, relative to that of the best constant prediction.
    """

    def __init__(self, data: LearnData, max_weight: float, most: int | None = None) -> None:
        """Prepare weights and scales; at most about `most` held-out samples are measured."""
        self.data, self.rows = data, data.measured(most)
        self.weights = data.x.new_ones(len(data.y))
        self.scale = data.x.new_ones(())
        if data.classes:
            for rows, counted in ((data.fitted, data.fitted), (data.held_out, self.rows)):
                counts = data.y[counted].bincount(minlength=data.classes).clamp(min=1)
                weights = (counts.max() / counts).clamp(max=max_weight)
                self.weights[rows] = weights.to(self.weights)[data.y[rows]]
        else:
            median = data.y[data.fitted].median(0).values
            self.scale = (data.y[data.fitted] - median).abs().mean(0).clamp(min=1e-12)
        self.chance = self._chance(max_weight)

    @property
    def chance_score(self) -> float:
        """The score of the best constant prediction: an accuracy, or no variance explained."""
        return 1 - self.chance if self.data.classes else 0.0

    def _chance(self, max_weight: float) -> float:
        """Return the error of the best constant prediction on the samples that are measured."""
        y = self.data.y[self.rows]
        if self.data.classes:
            counts = y.bincount(minlength=self.data.classes).double()
            most = counts.max()
            return 1 - (most / (max_weight * counts).clamp(max=most).sum()).item()
        return self.errors(y.median(0).values.expand_as(y), self.rows).mean().item()

    @torch.no_grad()
    def outputs(self, network: nn.Module, x: Tensor) -> Tensor:
        """Return the outputs of a network in eval mode."""
        training, size = network.training, CPU_CHUNK if x.device.type == "cpu" else CHUNK
        network.eval()
        output = torch.cat([network(chunk) for chunk in x.split(size)])
        network.train(training)
        return output

    def errors(self, output: Tensor, rows: Tensor) -> Tensor:
        """Return the error of each sample."""
        y = self.data.y[rows]
        if self.data.classes:
            return (output.argmax(1) != y).to(self.data.x.dtype)
        return ((output - y).abs() / self.scale).reshape(len(y), -1).mean(1)

    def distances(self, output: Tensor, rows: Tensor) -> Tensor:
        """Return the squared distance of each prediction from the truth.

        It is that of the probabilities from the class (Brier); for values, a part of the variance.
        """
        y = self.data.y[rows]
        if self.data.classes:
            return (output.softmax(1) - F.one_hot(y, output.shape[1])).square().sum(1)
        return self.lacks(output, rows)

    def lacks(self, output: Tensor, rows: Tensor) -> Tensor:
        """Return what the score lacks, per sample: 1 for a wrong class, a part of the variance."""
        y = self.data.y[rows]
        if self.data.classes:
            return (output.argmax(1) != y).to(output.dtype)
        variance = y.var(0, correction=0).clamp(min=1e-12)
        return ((output - y).square() / variance).reshape(len(y), -1).mean(1)

    def score(self, output: Tensor, rows: Tensor) -> float:
        """Return the accuracy, each class weighted the same; for values the variance explained."""
        if self.data.classes:
            return 1 - self.mean(self.errors(output, rows), rows).item()
        y = self.data.y[rows]
        lost = (output - y).square().mean(0) / y.var(0, correction=0).clamp(min=1e-12)
        return 1 - lost.mean().item()

    def losses(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the loss of each sample."""
        if self.data.classes:
            return F.cross_entropy(output, target, reduction="none")
        difference = (output - target) / self.data.scale
        losses = F.smooth_l1_loss(
            difference, torch.zeros_like(difference), beta=0.1, reduction="none"
        )
        return losses.reshape(len(target), -1).mean(1)

    def mean(self, values: Tensor, rows: Tensor) -> Tensor:
        """Return the weighted mean of one value per sample."""
        weights = self.weights[rows]
        return (weights * values).sum() / weights.sum()

    def deviation(self, values: Tensor, rows: Tensor) -> float:
        """Return the standard error of the weighted mean."""
        weights = self.weights[rows]
        weights = weights / weights.sum()
        parts = weights * (values - (weights * values).sum())
        factor, units, count = 1.0, *self._units(rows)
        if units is not None:  # samples of a group are not independent
            parts = parts.new_zeros(count).index_add(0, units, parts)
            factor = math.sqrt(count / (count - 1))
        spread = factor * parts.square().sum().sqrt().item()
        # Errors that did not happen may still happen: at least half an error.
        return max(spread, 0.5 / len(values))

    def resample(self, rows: Tensor, count: int, generator: Generator) -> Tensor:
        """Return random weights of samples, or of whole groups, for `count` bootstraps."""
        units, groups = self._units(rows)
        if units is None:
            units = torch.arange(len(rows), device=rows.device)
        shape = (count, groups or len(rows))
        draws = -uniform(self.weights, shape, generator).clamp(min=1e-6).log()
        return draws[:, units] * self.weights[rows]

    def _units(self, rows: Tensor) -> tuple[Tensor | None, int]:
        """Return a number for the group of each sample; None if there are no groups, or only one.

        One group does not show how groups differ: its samples are then taken for independent.
        """
        if self.data.groups is None:
            return None, 0
        groups, units = self.data.groups[rows].unique(return_inverse=True)
        return (units, len(groups)) if len(groups) > 1 else (None, 0)

    def errors_at(
        self,
        network: nn.Module,
        transform: Transform,
        rows: Tensor,
        fraction: float | Tensor,
        generator: Generator,
    ) -> Tensor:
        """Return the error of each sample under a transform at a fraction of its limit."""
        x = self.data.x[rows]
        fractions = torch.as_tensor(fraction).to(x).expand(len(x))
        with full_precision(x):
            view = apply_at_strength(transform, x, fractions, generator)
        return self.errors(self.outputs(network, view), rows)
