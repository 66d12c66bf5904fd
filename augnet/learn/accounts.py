"""What a stage of a sweep costs each class, or all samples in one direction.

A class pays for its samples that are taken for others, and for those of others that are taken for
it, half of each. So an ambiguity costs both classes, whichever of them a network prefers, and the
mean over classes is the error of all samples.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from augnet.learn.config import LearnConfig
from augnet.learn.reference import Reference
from augnet.learn.sweep import Stage


@dataclass(frozen=True)
class Costs:
    """The error that a stage adds to each part, of all samples first, then of resampled ones."""

    added: Tensor
    """At the edge, and within the range (2, 1 + R, P), for R resamplings and P parts."""
    allowed: Tensor
    """The error that may be added (2, P)."""
    met: Tensor
    """Whether a class has met another one (P,): then it is lost, whatever a network predicts."""

    @property
    def excess(self) -> Tensor:
        """By how much too much is added (1 + R, P): at the edge or within, whichever is more."""
        excess = (self.added - self.allowed[:, None]).amax(0)
        return torch.where(self.met, excess.maximum(self.allowed.amax(0)), excess)

    @property
    def worst(self) -> tuple[Tensor, Tensor]:
        """What is added to all samples (P,), and what may be, where the excess is largest."""
        where = (self.added[:, 0] - self.allowed).argmax(0, keepdim=True)
        return self.added[:, 0].gather(0, where)[0], self.allowed.gather(0, where)[0]


class Accounts:
    """Compute costs on the held-out samples of a reference."""

    def __init__(self, reference: Reference, config: LearnConfig, by_class: bool) -> None:
        self.evaluator, self.rows = reference.evaluator, reference.held_out
        self.config, self.by_class = config, by_class
        data = reference.data
        # If one of two directions loses this much, all samples lose half of it; if two of K classes
        # do, all samples lose two K-ths of it.
        share = min(config.class_factor, data.classes / 2) if by_class else 2.0
        self.tolerance = share * reference.tolerance
        self.owned = data.x.new_ones(len(self.rows), 1)
        if by_class:
            self.owned = F.one_hot(data.y[self.rows], data.classes).to(data.x)
        generator = Generator(device=data.x.device).manual_seed(config.seed)
        drawn = self.evaluator.resample(self.rows, config.bootstrap, generator)
        self.weights = torch.cat((self.evaluator.weights[self.rows][None], drawn))
        self.totals = (self.weights @ self.owned).clamp(min=1e-12)
        self.before = self.errors(self.evaluator.outputs(reference.network, data.x[self.rows]))
        """The errors without a transform that costs are compared with (N, P)."""

    @property
    def samples(self) -> list[int]:
        """How many samples each part has."""
        return [int(each) for each in self.owned.sum(0)]

    def errors(self, output: Tensor) -> Tensor:
        """Return for what each sample makes each part pay (N, P)."""
        if not self.by_class:
            return self.evaluator.errors(output, self.rows)[:, None]
        predicted = F.one_hot(output.argmax(1), self.owned.shape[1])
        return (predicted != self.owned).to(self.owned) / 2

    def mean(self, values: Tensor) -> Tensor:
        """Return the mean of values (N, P) in each part (1 + R, P)."""
        return (self.weights @ values) / self.totals

    def confused(self, stage: Stage) -> Tensor:
        """Return what each pair of classes pays for being taken for each other (P, P)."""
        places = stage.outputs[:, list(stage.edge)].flatten(0, 1)
        predicted = F.one_hot(places.argmax(2), self.owned.shape[1]).to(self.owned).mean(0)
        weighted = self.weights[0][:, None] * predicted
        taken = (self.owned.T @ weighted) / self.totals[0][:, None]
        return ((taken + taken.T) / 2).fill_diagonal_(0.0)

    def costs(self, stage: Stage, towards: int | None = None) -> Costs:
        """Return what a stage costs, at both ends of its range or at one."""
        errors = torch.stack(
            [torch.stack([self.errors(each) for each in places]) for places in stage.outputs]
        )
        rest = self.errors(stage.rest)
        some = errors if towards is None else errors[towards : towards + 1]
        edge = some[:, list(stage.edge)].mean((0, 1))
        within = errors.mean((0, 1))
        if all(stage.edge):  # a Bernoulli transform may cost the samples at rest
            within = (within + rest) / 2
        # A network that makes fewer errors than the one before is compared with itself.
        fewer = self.mean(rest)[0] < self.mean(self.before)[0]
        before = torch.where(fewer, rest, self.before)
        added = torch.stack([self.mean(each - before) for each in (edge, within)])
        allowed = (self.config.confidence * added[:, 1:].std(1)).clamp(min=self.tolerance)
        return Costs(added, allowed, torch.zeros_like(fewer))
