"""The work of `learn`, epoch by epoch: it can be watched, left, and taken up again."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Generator

from augnet.learn import door
from augnet.learn.compose import Composition
from augnet.learn.door import Trunk
from augnet.learn.found import Found, Invariance, Row
from augnet.learn.layers import SelectiveLayers
from augnet.learn.profile import PART, Profile
from augnet.transforms import Word


class Learning:
    """Iterate over the rows of the history; then ask for what was `found`.

    The arguments are those of `learn`. Between two rows `state_dict` holds all there is: another
    Learning with the same arguments that loads it goes on to the same result.
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        words: str | Word | Iterable[Word] = "auto",
        *,
        layers: Iterable[Iterable[Word]] | None = None,
        trunk: Trunk = None,
        budget: int | float | str | None = None,
        seed: int = 0,
        **shared: Any,
    ) -> None:
        seconds = door.seconds(budget)
        self.seconds = None if seconds is None else PART * seconds
        self.epochs = budget if isinstance(budget, int) and not isinstance(budget, bool) else None
        self.data = door.data(x, y, Generator().manual_seed(seed))
        self.layers = [door.candidates(some, self.data.x, **shared) for some in layers or ()]
        if layers is None:
            self.words = door.candidates(words, self.data.x, **shared)
        elif not self.layers:
            raise ValueError("learn takes at least one layer, a list of words; got none")
        else:
            self.words = list(dict.fromkeys(word for some in self.layers for word in some))
        self.dice = Generator(device=self.data.x.device).manual_seed(seed)
        self.history: list[Row] = []
        self.answers: list[Invariance] = []
        self.built: Composition | SelectiveLayers | None = None
        self.random = torch.random.get_rng_state()
        with self._global_dice():
            torch.manual_seed(seed)
            self.trunk = door.trunk(trunk, self.data)
        self.profile = Profile(self.data, self.words, self.trunk, self.dice)

    def __iter__(self) -> Iterator[Row]:
        """Work; give a row after each epoch."""
        rows = self._rows()
        while True:
            with self._global_dice():
                row = next(rows, None)
            if row is None:
                return
            self.history.append(row)
            yield row

    @property
    def found(self) -> Found:
        """What was found, once there are no more rows."""
        if self.built is None or not self.history or self.history[-1]["done"] < 1:
            raise RuntimeError("nothing is found before all rows are there: list(learning)")
        selective = isinstance(self.built, SelectiveLayers)
        rows = self.built.selected() if selective else self.answers  # type: ignore[union-attr]
        return Found(tuple(rows), self.built.net.eval(), list(self.history))

    def _rows(self) -> Iterator[Row]:
        if self.built is None:
            yield from self.profile.fit(self.epochs, self.seconds)
            self.answers = self.profile.verdicts()
            self.built = self._build()
        yield from self.built.fit(max(1, self.profile.steps * 2 // 5), len(self.history) + 1)

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
            "answers": [(a.verdict, a.strength, a.interval) for a in self.answers],
            "history": self.history,
            "dice": self.dice.get_state(),
            "random": self.random,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up the work where another with the same arguments left it."""
        self.trunk.load_state_dict(state["trunk"])
        self.profile.load_state_dict(state["profile"])
        self.history = list(state["history"])
        if state["built"] is not None:
            self.answers = [
                Invariance(word, verdict, strength, interval)
                for word, (verdict, strength, interval) in zip(
                    self.words, state["answers"], strict=True
                )
            ]
            self.built = self._build()
            self.built.load_state_dict(state["built"])
        self.dice.set_state(state["dice"])
        self.random = state["random"]

    @contextmanager
    def _global_dice(self) -> Iterator[None]:
        """Let trunks with dropout have dice of our own, and leave everybody else's alone."""
        device = self.data.x.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.random.set_rng_state(self.random)
            yield
            self.random = torch.random.get_rng_state()
