"""Run `learn` epoch by epoch: it can be watched, left, and resumed."""

import copy
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Generator

from augnet.learn.config import LearnConfig, configure, with_options
from augnet.learn.final import FinalNet
from augnet.learn.inputs import prepare_data, prepare_transforms, prepare_trunk
from augnet.learn.reference import Reference
from augnet.learn.result import Invariance, InvarianceResult
from augnet.learn.search import Search, from_plain, to_plain, warnings_of
from augnet.learn.seeds import join_seeds
from augnet.learn.selective import SelectiveLayers
from augnet.training import (
    RandomState,
    Row,
    choose_threads,
    keep_freed_memory,
    use_threads,
)
from augnet.transforms import TransformSpec


@with_options
class Learner:
    """Iterate over the rows of the history; `result` is available after the last row.

    The arguments are those of `learn`. Freed memory stays in the process, which saves time on
    glibc (`keep_freed_memory`). Between two rows `state_dict` holds all that changes:
    another Learner with the same arguments that loads it continues to the same result.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        transforms: str | TransformSpec | Iterable[TransformSpec] | None = None,
        *,
        groups: Any = None,
        config: LearnConfig | None = None,
        **options: Any,
    ) -> None:
        self.config, shared = configure(config, transforms, options)
        keep_freed_memory()
        self.started, self.spent = time.monotonic(), 0.0
        self.threads = choose_threads(self.config.threads)
        seed = self.config.seed
        self.data = prepare_data(x, y, Generator().manual_seed(seed), self.config, groups)
        self.layers = self._prepare_layers(shared)
        if self.layers:
            listed = dict.fromkeys(transform for layer in self.layers for transform in layer)
            self.transforms = list(listed)
        else:
            self.transforms = prepare_transforms(self.config.transforms, self.data.x, **shared)
        self.generator = Generator(device=self.data.x.device).manual_seed(seed)
        self.history: list[Row] = []
        self.seconds: dict[str, float] = {}
        """The time that each phase took."""
        self.training: FinalNet | SelectiveLayers | None = None
        self.random = RandomState(self.data.x.device)
        with self.random:
            torch.manual_seed(seed)
            self.trunk = prepare_trunk(self.config.search_trunk, self.data)
            self.initial = copy.deepcopy(self.trunk)
            if self.config.net_trunk is not self.config.search_trunk:
                torch.manual_seed(seed)  # as if there were no search
                self.initial = prepare_trunk(self.config.net_trunk, self.data)
        reference = Reference(self.data, self.trunk, self.generator, self.config)
        self.search = Search(reference, self.transforms, self.config)
        self._given, self._groups = (x, y), groups
        self.other_seeds: list[list[Invariance]] = []
        self.other_steps = 0
        self.other: Learner | None = None
        """The seed that is running, if it is not the first."""

    def _prepare_layers(self, shared: Mapping[str, Any]) -> list[Any]:
        if self.config.layers is None:
            return []
        layers = [prepare_transforms(each, self.data.x, **shared) for each in self.config.layers]
        if not layers:
            raise ValueError("learn takes at least one layer, a list of transforms; got none")
        return layers

    def __iter__(self) -> Iterator[Row]:
        """Train and measure; yield a row after each epoch."""
        rows = self._rows()
        while True:
            self.started = time.monotonic()
            with self.random, use_threads(self.threads):
                row = next(rows, None)
            took = time.monotonic() - self.started
            self.spent += took
            if row is None:
                return
            self.seconds[row["phase"]] = self.seconds.get(row["phase"], 0.0) + took
            self.history.append(row)
            yield row

    @property
    def result(self) -> InvarianceResult:
        """The result, once there are no more rows."""
        if self.training is None or not self.history or self.history[-1]["done"] < 1:
            raise RuntimeError("the result is available after all rows: list(learner)")
        rows = self.invariances
        if isinstance(self.training, SelectiveLayers):
            rows = self.training.selected()
        score, chance = self.search.scores
        return InvarianceResult(
            tuple(rows),
            self.training.net.eval(),
            list(self.history),
            score=score,
            chance=chance,
            steps=self.search.steps + self.other_steps + self.training.steps,
            warnings=(*self.search.warnings, *warnings_of(self.invariances)),
            gain=self.training.gain if isinstance(self.training, FinalNet) else None,
        )

    def _rows(self) -> Iterator[Row]:
        config = self.config
        if self.training is None:
            if not self.search.finished:
                yield from self._rescale(self.search.fit(self._seconds_of_search(0)), 0)
            for number in range(len(self.other_seeds) + 1, config.seeds):
                yield from self._rescale(self._search_seed(number), number)
            self.training = self._build()
        mine = sum(row.get("seed", config.seed) == config.seed for row in self.history)
        rows = self.training.fit(1 + mine, self._seconds_left())
        yield from self._rescale(rows, config.seeds - 1)

    @property
    def invariances(self) -> list[Invariance]:
        """The answers of all seeds, joined; all transforms must be measured."""
        return join_seeds([self.search.invariances, *self.other_seeds])

    @property
    def measuring(self) -> str:
        """What is measured until the next row comes: a transform, several, or nothing."""
        search = (self.other or self).search
        left = search.transforms[len(search.invariances) :]
        if not left or not search.reference.loop.finished:
            return ""
        return (
            left[0].name if self.config.jobs == 1 or len(left) == 1 else f"{len(left)} transforms"
        )

    def _time_spent(self) -> float:
        return self.spent + time.monotonic() - self.started

    def _seconds_of_search(self, number: int) -> float | None:
        """Return the time until the search with a seed has to end."""
        seconds = self.config.seconds
        if seconds is None:
            return None
        share = (number + 1) * self.config.search_fraction / self._work
        return share * seconds - self._time_spent()

    def _seconds_left(self) -> float | None:
        """Return the time that is left for the net, a twentieth of all at least."""
        seconds = self.config.seconds
        return None if seconds is None else max(0.05 * seconds, seconds - self._time_spent())

    @property
    def _work(self) -> float:
        """The work of a range search for each seed and of one net; 1 for one seed."""
        return self.config.search_fraction * (self.config.seeds - 1) + 1

    def _search_seed(self, number: int) -> Iterator[Row]:
        """Search with another seed: another split, another trunk, other random numbers."""
        seed = self.config.seed + number
        self.other = other = self.other or self._with_seed(seed)
        rows = other.search.fit(self._seconds_of_search(number))
        while True:
            with other.random:
                row = next(rows, None)
            if row is None:
                break
            yield row | {"seed": seed}
        self.other_seeds.append(other.search.invariances)
        self.other_steps += other.search.steps
        self.other = None

    def _with_seed(self, seed: int) -> "Learner":
        config = replace(self.config, layers=None, budget=self.config.epochs, seed=seed, seeds=1)
        return Learner(*self._given, self.transforms, groups=self._groups, config=config)

    def _rescale(self, rows: Iterator[Row], number: int) -> Iterator[Row]:
        """Make "done" a fraction of the work of all seeds."""
        fraction = self.config.search_fraction
        for row in rows:
            if self.config.seeds > 1:
                done = 1.0 if row["done"] >= 1 else (fraction * number + row["done"]) / self._work
                row = {"seed": self.config.seed} | row | {"done": done}
            yield row

    def _build(self) -> FinalNet | SelectiveLayers:
        reference = self.search.reference
        steps = max(1, int(self.config.net_steps * reference.planned + 1e-9))
        rest = (self.generator, self.config, steps)
        if self.layers:
            self.trunk.load_state_dict(reference.network.state_dict())
            return SelectiveLayers(self.data, self.layers, self.invariances, self.trunk, *rest)
        return FinalNet(reference, self.invariances, self.initial, *rest)

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes, as tensors and plain values."""
        return {
            "trunk": self.trunk.state_dict(),
            "search": self.search.state_dict(),
            "training": None if self.training is None else self.training.state_dict(),
            "other_seeds": [to_plain(each) for each in self.other_seeds],
            "other_steps": self.other_steps,
            "other": None if self.other is None else self.other.state_dict(),
            "spent": self.spent,
            "seconds": self.seconds,
            "history": self.history,
            "generator": self.generator.get_state(),
            "random": self.random.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another Learner with the same arguments was left."""
        self.trunk.load_state_dict(state["trunk"])
        self.search.load_state_dict(state["search"])
        self.history = list(state["history"])
        self.other_seeds = [from_plain(each, self.transforms) for each in state["other_seeds"]]
        if state["other"] is not None:
            self.other = self._with_seed(self.config.seed + len(self.other_seeds) + 1)
            self.other.load_state_dict(state["other"])
        self.other_steps, self.spent = state["other_steps"], state["spent"]
        self.seconds = dict(state["seconds"])
        if state["training"] is not None:
            self.training = self._build()
            self.training.load_state_dict(state["training"])
        self.generator.set_state(state["generator"])
        self.random.load_state_dict(state["random"])
