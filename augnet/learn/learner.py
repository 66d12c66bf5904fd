"""The work of `learn`, epoch by epoch: it can be watched, left, and taken up again."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator

from augnet import validation
from augnet.learn import inputs
from augnet.learn.compose import Composition
from augnet.learn.inputs import Trunk
from augnet.learn.ranges import PART, Profile
from augnet.learn.result import Invariance, InvarianceResult, Row
from augnet.learn.seeds import joined
from augnet.learn.selective import SelectiveLayers
from augnet.transforms import TransformSpec


class Learner:
    """Iterate over the rows of the history; then read the `result`.

    The arguments are those of `learn`. Between two rows `state_dict` holds all there is: another
    Learner with the same arguments that loads it goes on to the same result.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        transforms: str | TransformSpec | Iterable[TransformSpec] = "auto",
        *,
        layers: Iterable[Iterable[TransformSpec]] | None = None,
        trunk: Trunk = None,
        budget: int | float | str | None = None,
        seed: int = 0,
        seeds: int = 1,
        **shared: Any,
    ) -> None:
        self.seed, self.seeds = seed, validation.count(seeds, "seeds")
        given = inputs.budget(budget)
        self.seconds, self.spent = given if isinstance(given, float) else None, 0.0
        self.begun = time.monotonic()
        self.epochs = given if isinstance(given, int) else None
        self.data = inputs.data(x, y, Generator().manual_seed(seed))
        self.layers = [inputs.candidates(some, self.data.x, **shared) for some in layers or ()]
        if layers is None:
            self.transforms = inputs.candidates(transforms, self.data.x, **shared)
        elif not self.layers:
            raise ValueError("learn takes at least one layer, a list of transforms; got none")
        else:
            self.transforms = list(
                dict.fromkeys(transform for some in self.layers for transform in some)
            )
        self.dice = Generator(device=self.data.x.device).manual_seed(seed)
        self.history: list[Row] = []
        self.answers: list[Invariance] = []
        self.built: Composition | SelectiveLayers | None = None
        self.random = torch.random.get_rng_state()
        with self._global_dice():
            torch.manual_seed(seed)
            self.trunk = inputs.trunk(trunk, self.data)
        self.profile = Profile(self.data, self.transforms, self.trunk, self.dice)
        self.others: list[list[Invariance]] = []  # what other seeds found
        self.other: Learner | None = None  # the seed that is at work
        self._with: Callable[[int], Learner] = lambda seed: Learner(
            x, y, self.transforms, trunk=trunk, budget=self.epochs, seed=seed
        )

    def __iter__(self) -> Iterator[Row]:
        """Work; give a row after each epoch."""
        rows = self._rows()
        while True:
            self.begun = time.monotonic()
            with self._global_dice():
                row = next(rows, None)
            self.spent += time.monotonic() - self.begun
            if row is None:
                return
            self.history.append(row)
            yield row

    @property
    def result(self) -> InvarianceResult:
        """What was found, once there are no more rows."""
        if self.built is None or not self.history or self.history[-1]["done"] < 1:
            raise RuntimeError("nothing is found before all rows are there: list(learning)")
        selective = isinstance(self.built, SelectiveLayers)
        rows = self.built.selected() if selective else self.answers  # type: ignore[union-attr]
        return InvarianceResult(tuple(rows), self.built.net.eval(), list(self.history))

    def _rows(self) -> Iterator[Row]:
        if self.built is None:
            seconds = None if self.seconds is None else PART / self._work * self.seconds
            if not self.answers:
                yield from self._told(self._profiled(seconds), 0)
            for number in range(len(self.others) + 1, self.seeds):
                yield from self._told(self._another(self.seed + number, seconds), number)
            if self.others:
                self.answers = joined([self.answers, *self.others])
            self.built = self._build()
        steps = max(1, self.profile.steps * 2 // 5)
        epoch = 1 + sum(row.get("seed", self.seed) == self.seed for row in self.history)
        yield from self._told(self.built.fit(steps, epoch, self._left()), self.seeds - 1)

    def _left(self) -> float | None:
        """Give the time that is left for the net, a tenth at the least."""
        if self.seconds is None:
            return None
        spent = self.spent + time.monotonic() - self.begun  # measuring, a moment ago, included
        return max(0.1 * self.seconds, self.seconds - spent)

    @property
    def _work(self) -> float:
        """A profile for each seed, and one net in the end; 1 for one seed."""
        return PART * self.seeds + 1 - PART

    def _profiled(self, seconds: float | None) -> Iterator[Row]:
        """Train on doses of single transforms, and measure."""
        yield from self.profile.fit(self.epochs, seconds)
        self.answers = self.profile.verdicts()

    def _another(self, seed: int, seconds: float | None) -> Iterator[Row]:
        """Do the same with another seed: another split, another trunk, other dice."""
        self.other = other = self.other or self._with(seed)
        rows = other._profiled(seconds)
        while True:
            with other._global_dice():
                row = next(rows, None)
            if row is None:
                break
            yield row | {"seed": seed}
        self.others.append(other.answers)
        self.other = None

    def _told(self, rows: Iterator[Row], number: int) -> Iterator[Row]:
        """Say which part of the whole is done, where there are several seeds."""
        for row in rows:
            if self.seeds > 1:
                done = 1.0 if row["done"] >= 1 else (PART * number + row["done"]) / self._work
                row = {"seed": self.seed} | row | {"done": done}
            yield row

    def _build(self) -> Composition | SelectiveLayers:
        if self.layers:
            return SelectiveLayers(self.data, self.layers, self.answers, self.trunk, self.dice)
        return Composition(self.data, self.answers, self.trunk, self.dice)

    def state_dict(self) -> dict[str, Any]:
        """Give all that changes, as tensors and plain values."""
        return {
            "trunk": self.trunk.state_dict(),
            "profile": self.profile.state_dict(),
            "built": None if self.built is None else self.built.state_dict(),
            "answers": _plain(self.answers),
            "others": [_plain(answers) for answers in self.others],
            "other": None if self.other is None else self.other.state_dict(),
            "spent": self.spent,
            "history": self.history,
            "dice": self.dice.get_state(),
            "random": self.random,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the work where another with the same arguments left it."""
        self.trunk.load_state_dict(state["trunk"])
        self.profile.load_state_dict(state["profile"])
        self.history = list(state["history"])
        self.answers = self._read(state["answers"])
        self.others = [self._read(answers) for answers in state["others"]]
        if state["other"] is not None:
            self.other = self._with(self.seed + len(self.others) + 1)
            self.other.load_state_dict(state["other"])
        self.spent = state["spent"]
        if state["built"] is not None:
            self.built = self._build()
            self.built.load_state_dict(state["built"])
        self.dice.set_state(state["dice"])
        self.random = state["random"]

    def _read(self, answers: Iterable[tuple[Any, ...]]) -> list[Invariance]:
        """Make answers of plain values; there may be none yet."""
        return [
            Invariance(transform, status, strength, interval, seeds_agreeing=agree)
            for transform, (status, strength, interval, agree) in zip(
                self.transforms, answers, strict=False
            )
        ]

    @contextmanager
    def _global_dice(self) -> Iterator[None]:
        """Let trunks with dropout have dice of our own, and leave everybody else's alone."""
        device = self.data.x.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.random.set_rng_state(self.random)
            yield
            self.random = torch.random.get_rng_state()


def _plain(answers: Iterable[Invariance]) -> list[tuple[Any, ...]]:
    return [(a.status, a.strength, a.interval, a.seeds_agreeing) for a in answers]
