"""Describe what a search is given: data, trunk, transforms, budget; and count what it costs.

Costs are counted in seconds and in passes. A pass is one sample that goes through the trunk
forward and backward; unlike seconds, passes do not depend on other jobs on the machine.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Generator, Tensor, nn

from augnet.layers import identity
from augnet.net import AugNet
from augnet.paper.config import Regularization, Training
from augnet.paper.datasets import Samples, Splits
from augnet.paper.objective import build_optimizer, class_weights
from augnet.paper.train import Trainer
from augnet.transforms import Transform

Augment: TypeAlias = Callable[[Tensor, Generator | None], Tensor]
FORWARD = 1 / 3  # cost of a forward pass alone, as a fraction of a pass


@dataclass
class Task:
    """Data, trunk, transforms and budget of a search, and the cost so far.

    `transforms` have gradients; searches without gradients may also use `more_transforms`.
    `trunk()` builds a new trunk. `passes` counts all passes, those of retraining included.
    `other_seconds` are seconds that other processes spent on this search.
    """

    splits: Splits
    trunk: Callable[[], nn.Module]
    transforms: list[Transform]
    training: Training
    more_transforms: list[Transform] = field(default_factory=list)
    seed: int = 0
    passes: float = 0.0
    other_seconds: float = 0.0
    fabric: Fabric = field(default_factory=lambda: Fabric(accelerator="auto", devices=1))

    def __post_init__(self) -> None:
        parts = (Samples(*map(self.fabric.to_device, part)) for part in self.splits)
        self.splits = Splits(*parts)
        classes = 1 + max(int(part.y.max()) for part in self.splits)
        self._weights = class_weights(self.splits.train.y, classes)

    @property
    def device(self) -> torch.device:
        """The device on which everything is computed."""
        return self.fabric.device

    @property
    def all_transforms(self) -> list[Transform]:
        """The transforms for searches that need no gradients."""
        return [*self.transforms, *self.more_transforms]

    def generator(self, number: int = 0) -> Generator:
        """Return a generator on the device, seeded by the seed of the task plus a number."""
        return Generator(device=self.device).manual_seed(self.seed + number)

    def net(self, augment: Augment = identity, seed: int | None = None) -> AugNet:
        """Build a net with a new trunk, the same for the same seed."""
        with torch.random.fork_rng():
            torch.manual_seed(self.seed if seed is None else seed)
            return AugNet(augment, self.trunk().to(self.device), copies=1)

    def train(
        self,
        augment: Augment = identity,
        splits: Splits | None = None,
        seed: int | None = None,
        on_epoch: Callable[[int, float], None] | None = None,
    ) -> "TrainedNet":
        """Train a trunk from scratch with an augmentation; return the net and its scores.

        With patience, that is the net of the best epoch, else of the last. `on_epoch` is called
        with each epoch and its validation score, and may stop the training by an exception.
        """
        metric = self.training.metric
        seed = self.seed if seed is None else seed
        splits = splits or self.splits
        with torch.random.fork_rng():
            net = self.net(augment, seed)
            trainer = Trainer(
                net,
                with_one_test_sample(splits),
                self.training,
                Regularization(),
                seed,
                self.fabric,
            )
            for epoch, row in enumerate(trainer):
                self.passes += len(splits.train.y)
                if on_epoch:
                    on_epoch(epoch, row[f"valid_{metric}"])
            trainer.finish()
        kept = trainer.rows[trainer.best_epoch if self.training.patience else -1]
        test = splits.test
        valid = kept[f"valid_{metric}"]
        return TrainedNet(trainer.net, valid, lambda: trainer.score(test)[metric])

    def batch_size(self, samples: Samples) -> int:
        """Return the size of the batches of some samples."""
        return min(self.training.batch_size, len(samples.y))

    def batches(self, samples: Samples, order: Generator) -> Iterator[Samples]:
        """Go through samples once in a new order; drop an incomplete last batch."""
        size = self.batch_size(samples)
        shuffled = torch.randperm(len(samples.y), generator=order)
        for rows in shuffled.to(samples.y.device).split(size):
            if len(rows) == size:
                yield Samples(samples.x[rows], samples.y[rows])

    def loss(self, trunk: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Return the loss that training minimizes, and count the pass."""
        self.passes += len(y)
        return self.class_loss(trunk(x), y)

    def class_loss(self, scores: Tensor, y: Tensor) -> Tensor:
        """Return the loss of scores of classes, weighted as in training."""
        losses = F.cross_entropy(scores, y, reduction="none")
        return (self._weights[y] * losses if self.training.balanced else losses).mean()

    def optimizer(self, trunk: nn.Module) -> torch.optim.Optimizer:
        """Build the optimizer of training for a trunk that a search trains itself."""
        return build_optimizer(AugNet(identity, trunk), self.training)


def with_one_test_sample(splits: Splits) -> Splits:
    """Keep one test sample, for a training whose epochs need no test score."""
    return Splits(splits.train, splits.valid, Samples(*(each[:1] for each in splits.test)))


@dataclass
class TrainedNet:
    """A trained net with its validation and test scores.

    The test set is scored when `test` is read, so that searches spend no time on it.
    """

    net: AugNet
    valid: float
    score_test: Callable[[], float]

    @cached_property
    def test(self) -> float:
        """The test score."""
        return self.score_test()
