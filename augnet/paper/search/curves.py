"""Compute the points of figure 6b: cost and scores, after each policy or after each epoch.

`SearchCurve` retrains the trunk from scratch with each policy that a search finds. `TrainingCurve`
trains a variant of the experiment end to end. Both can be left after any point and resumed. Neither
counts the time to score the test set.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lightning_fabric import Fabric

from augnet.layers import ByClass, Policy
from augnet.net import AugNet
from augnet.paper.config import Config
from augnet.paper.datasets import Samples, Splits
from augnet.paper.run import build_probe
from augnet.paper.search.gradient import GradientSearch
from augnet.paper.search.task import Task, with_one_test_sample
from augnet.paper.train import Trainer


class FoundPolicy(NamedTuple):
    """The best policy so far, and what the search has cost, pretraining included."""

    policy: Policy | ByClass
    seconds: float
    passes: float


class Point(NamedTuple):
    """The cost of a method so far, retraining included, and its scores."""

    seconds: float
    passes: float
    valid: float
    test: float
    policy: Policy | ByClass | None = None


def with_cost(
    policies: Iterable[Policy | ByClass], task: Task, seconds: float = 0.0, passes: float = 0.0
) -> Iterator[FoundPolicy]:
    """Yield the policies of a search with its own cost, without that of the caller in between.

    `seconds` and `passes` are what an earlier process has spent.
    """
    search = iter(policies)
    while True:
        began, before = time.perf_counter() + task.other_seconds, task.passes
        policy = next(search, None)
        seconds += time.perf_counter() + task.other_seconds - began
        passes += task.passes - before
        if policy is None:
            return
        yield FoundPolicy(policy, seconds, passes)


class SearchCurve:
    """Retrain with each policy of a search; iterate for one point per policy."""

    def __init__(self, search: Iterable[Policy | ByClass], task: Task) -> None:
        self.search, self.task = search, task
        self.seconds = self.passes = 0.0

    def __iter__(self) -> Iterator[Point]:
        task = self.task
        for found in with_cost(self.search, task, self.seconds, self.passes):
            _, self.seconds, self.passes = found
            began, before = time.perf_counter(), task.passes
            trained = task.train(found.policy)
            seconds = found.seconds + time.perf_counter() - began
            passes = found.passes + task.passes - before
            # The test set is scored here, after the time is taken.
            yield Point(seconds, passes, trained.valid, trained.test, found.policy)

    def state_dict(self) -> dict[str, Any] | None:
        """Return what is needed to go on after the last point; None if the search has no state."""
        if not isinstance(self.search, GradientSearch):
            return None
        spent = {"seconds": self.seconds, "passes": self.passes, "all_passes": self.task.passes}
        return {"search": self.search.state_dict(), **spent}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on after the last point of an earlier process."""
        assert isinstance(self.search, GradientSearch)
        self.search.load_state_dict(state["search"])
        self.seconds, self.passes = state["seconds"], state["passes"]
        self.task.passes = state["all_passes"]


class TrainingCurve:
    """Train a variant end to end; iterate for one point per epoch, that of the best epoch so far.

    A probe of the tuner sees each sample once per epoch, which is a pass, too.
    """

    def __init__(self, config: Config, seed: int, net: AugNet, splits: Splits) -> None:
        self.metric, self.splits = config.train.metric, splits
        self.fabric = Fabric(accelerator="auto", devices=1)
        # Invariances are not part of a point.
        scores = config.scores.model_copy(update={"invariance": []})
        probe = build_probe(config)
        training = (config.train, config.regularizer, seed, self.fabric, scores, config.tuner)
        self.trainer = Trainer(net, with_one_test_sample(splits), *training, probe)
        self.passes_per_epoch = len(splits.train.y) * (net.train_copies + (probe is not None))
        self.seconds = self.test = 0.0

    def __iter__(self) -> Iterator[Point]:
        trainer, epochs = self.trainer, iter(self.trainer)
        while True:
            began = time.perf_counter()
            if next(epochs, None) is None:
                return
            self.seconds += time.perf_counter() - began
            if trainer.best_epoch == len(trainer.rows) - 1:
                test = Samples(*map(self.fabric.to_device, self.splits.test))
                self.test = trainer.score(test, trainer.scores.final_views)[self.metric]
            passes = float(len(trainer.rows) * self.passes_per_epoch)
            valid = trainer.rows[trainer.best_epoch][f"valid_{self.metric}"]
            yield Point(self.seconds, passes, valid, self.test)

    def state_dict(self) -> dict[str, Any]:
        """Return what is needed to go on after the last epoch."""
        return {"trainer": self.trainer.state_dict(), "seconds": self.seconds, "test": self.test}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on after the last epoch of an earlier process."""
        self.trainer.load_state_dict(state["trainer"])
        self.seconds, self.test = state["seconds"], state["test"]
