"""What a search is given, and how policies are judged: the same for all searches.

A search is a generator of ever better policies. `points` runs it, retrains the trunk from scratch
with each policy that it gives, and tells what that came to, in seconds and in passes: samples that
went through the trunk forwards and backwards, which no other job on the machine can change.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from lightning_fabric import Fabric
from torch import Generator, Tensor, nn

from augnet.layers import ByClass, Policy, identity
from augnet.net import AugNet
from augnet.paper.config import Regularization, Training
from augnet.paper.datasets import Samples, Splits
from augnet.paper.train import Trainer, class_weights
from augnet.transforms import Transform

Augment: TypeAlias = Callable[[Tensor, Generator | None], Tensor]
FORWARD = 1 / 3  # of a pass, is what it costs to go forwards alone


@dataclass
class Task:
    """Data, trunk and budget; and the meter of all passes that were made for it.

    `transforms` have gradients; the searches without may use `more` of them. `trunk` builds a new one.
    """

    splits: Splits
    trunk: Callable[[], nn.Module]
    transforms: list[Transform]
    training: Training
    more: list[Transform] = field(default_factory=list)
    seed: int = 0
    passes: float = 0.0
    elsewhere: float = 0.0  # seconds that other processes, or an earlier one, spent for this
    fabric: Fabric = field(default_factory=lambda: Fabric(accelerator="auto", devices=1))

    def __post_init__(self) -> None:
        parts = (Samples(*map(self.fabric.to_device, part)) for part in self.splits)
        self.splits = Splits(*parts)
        classes = 1 + max(int(part.y.max()) for part in self.splits)
        self._weights = class_weights(self.splits.train.y, classes)

    @property
    def device(self) -> torch.device:
        """Where all of it happens."""
        return self.fabric.device

    def dice(self, number: int = 0) -> Generator:
        """Make dice for what happens on the device."""
        return Generator(device=self.device).manual_seed(self.seed + number)

    @property
    def all_transforms(self) -> list[Transform]:
        """The transforms for searches that need no gradients."""
        return [*self.transforms, *self.more]

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
        watch: Callable[[int, float], None] | None = None,
    ) -> "Trained":
        """Train a trunk from scratch with an augmentation; keep what training keeps.

        That is the net that validates best, where there is a patience; else the last.
        `watch` sees the validation score of each epoch, and may end it all by an exception.
        """
        metric = self.training.metric
        seed = self.seed if seed is None else seed
        splits = splits or self.splits
        with torch.random.fork_rng():
            net = self.net(augment, seed)
            trainer = Trainer(
                net, seldom_tested(splits), self.training, Regularization(), seed, self.fabric
            )
            for epoch, row in enumerate(trainer):
                self.passes += len(splits.train.y)
                if watch:
                    watch(epoch, row[f"valid_{metric}"])
            trainer.finish()
        kept = trainer.rows[trainer.best_epoch if self.training.patience else -1]
        test = trainer.score(splits.test)
        return Trained(trainer.net, kept[f"valid_{metric}"], test[metric])

    def batches(self, samples: Samples, order: Generator) -> Iterator[Samples]:
        """Go through samples once in a new order; the remainder of a last batch is left out."""
        size = min(self.training.batch_size, len(samples.y))
        shuffled = torch.randperm(len(samples.y), generator=order)
        for rows in shuffled.to(samples.y.device).split(size):
            if len(rows) == size:
                yield Samples(samples.x[rows], samples.y[rows])

    def loss(self, trunk: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        """Give the loss that training minimizes, and count the pass."""
        self.passes += len(y)
        losses = F.cross_entropy(trunk(x), y, reduction="none")
        return (self._weights[y] * losses if self.training.balanced else losses).mean()


def seldom_tested(splits: Splits) -> Splits:
    """Leave one test sample, for a training whose test score is wanted of what was kept alone."""
    return Splits(splits.train, splits.valid, Samples(*(each[:1] for each in splits.test)))


class Trained(NamedTuple):
    """A net that was kept, and its validation and test score."""

    net: AugNet
    valid: float
    test: float


Search: TypeAlias = Callable[[Task], Iterator[Policy | ByClass]]


class Found(NamedTuple):
    """The best policy so far, and what it took to find it, pretraining included."""

    policy: Policy | ByClass
    seconds: float
    passes: float


class Point(NamedTuple):
    """What a method came to after so many seconds and passes, retraining included."""

    seconds: float
    passes: float
    valid: float
    test: float
    policy: Policy | ByClass | None = None


def metered(search: Search, task: Task) -> Iterator[Found]:
    """Run a search with its own time and passes on the meter, not those of who asks for it."""
    policies = iter(search(task))
    seconds = passes = 0.0
    while True:
        began, before = time.perf_counter() + task.elsewhere, task.passes
        policy = next(policies, None)
        seconds += time.perf_counter() + task.elsewhere - began
        passes += task.passes - before
        if policy is None:
            return
        yield Found(policy, seconds, passes)


def points(search: Search, task: Task) -> Iterator[Point]:
    """Retrain with each policy of a search: a point of figure 6b for each."""
    for found in metered(search, task):
        began, before = time.perf_counter(), task.passes
        trained = task.train(found.policy)
        yield Point(
            found.seconds + time.perf_counter() - began,
            found.passes + task.passes - before,
            trained.valid,
            trained.test,
            found.policy,
        )
