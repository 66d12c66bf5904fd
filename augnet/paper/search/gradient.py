"""Run a search by gradients: one step per batch, a policy after every few epochs, and a state."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.optim import Optimizer

from augnet.layers import ByClass, Policy
from augnet.paper.datasets import Samples
from augnet.paper.search.task import Task
from augnet.training import Loop, RandomState


class GradientSearch(ABC):
    """Learn a policy by gradients; iterate for ever better policies.

    A subclass implements `step` and `policy`. It builds what it needs within `random_state`, and
    registers all that changes in `parts` and `generators`: these are saved after each policy, and
    another process that loads them continues exactly as this one would.
    """

    def __init__(self, task: Task, epochs: int, pause: int) -> None:
        self.task, self.pause = task, pause
        self.order = Generator().manual_seed(task.seed)
        self.loop = Loop(self._batches, self.step, epochs=epochs)
        self.parts: dict[str, nn.Module | Optimizer | EndlessBatches] = {}
        self.generators: dict[str, Generator] = {"order": self.order}
        self._started = False
        with torch.random.fork_rng():
            torch.manual_seed(task.seed)
            self.random_state = RandomState(task.device)

    def start(self) -> None:  # noqa: B027  most searches need nothing here
        """Do what comes before the first epoch and must not be repeated, such as pretraining."""

    @abstractmethod
    def step(self, batch: Samples) -> Mapping[str, Tensor]:
        """Take one step; return the losses to record."""

    @abstractmethod
    def policy(self) -> Policy | ByClass:
        """Return the policy as it is now."""

    @property
    def step_seeds(self) -> tuple[int, int]:
        """The seeds of this step: of views, and of dropout. Other folds have others."""
        first = 1_000_003 * self.task.seed + 2 * (self.loop.done + 1)
        return first, first + 1

    def __iter__(self) -> Iterator[Policy | ByClass]:
        """Search to the end; yield the policy after every `pause` epochs and after the last."""
        epochs = iter(self.loop)
        while True:
            with self.random_state:
                if not self._started:
                    self.start()
                    self._started = True
                row = next(epochs, None)
            if row is None:
                return
            if row["epoch"] % self.pause == 0 or self.loop.finished:
                yield self.policy()

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes, as tensors and plain values."""
        return {
            "started": self._started,
            "loop": self.loop.state_dict(),
            "random_state": self.random_state.state_dict(),
            "parts": {name: part.state_dict() for name, part in self.parts.items()},
            "generators": {name: each.get_state() for name, each in self.generators.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where a search with the same arguments was left."""
        self._started = state["started"]
        self.loop.load_state_dict(state["loop"])
        self.random_state.load_state_dict(state["random_state"])
        for name, part in self.parts.items():
            part.load_state_dict(state["parts"][name])
        for name, generator in self.generators.items():
            generator.set_state(state["generators"][name])

    def _batches(self) -> Iterator[Samples]:
        return self.task.batches(self.task.splits.train, self.order)


class EndlessBatches:
    """Go through samples again and again, each time in a new order; keep the position as state."""

    def __init__(self, task: Task, samples: Samples, order: Generator) -> None:
        self.task, self.samples, self.order = task, samples, order
        self._begin()

    def __next__(self) -> Samples:
        """Return the next batch."""
        batch = next(self._batches, None)
        if batch is None:
            self._begin()
            batch = next(self._batches)
        self._taken += 1
        return batch

    def _begin(self) -> None:
        self._order_state, self._taken = self.order.get_state(), 0
        self._batches = self.task.batches(self.samples, self.order)

    def state_dict(self) -> dict[str, Any]:
        """Return the state of the order before this pass, and the batches taken from it."""
        return {"order": self._order_state, "taken": self._taken}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue after the batch that was taken last."""
        self.order.set_state(state["order"])
        self._begin()
        for _ in range(state["taken"]):
            next(self)
