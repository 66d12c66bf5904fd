"""The directory of `augnet learn`: it can be left at any moment, and the same command goes on."""

import io
import json
import platform
import time
from collections.abc import Iterator
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from pydantic import ValidationError

import augnet
from augnet import files
from augnet.allocator import keep_freed_memory
from augnet.app.examine import Examined, examine
from augnet.app.page import page
from augnet.app.settings import Settings
from augnet.data import DataError, Parts, read, split
from augnet.learn import Learner
from augnet.learn.config import parse_budget
from augnet.learn.result import Invariance
from augnet.model import Model, save
from augnet.model.header import SCHEMA, Answer
from augnet.training import Row

KEPT = 0.1
"""Of a time: for testing the model and drawing the page."""
SAVED_EVERY = 30.0
"""Seconds: at most so much work is lost if the machine is switched off."""


class Job:
    """Read, learn, examine and write; give the rows of learning on the way."""

    def __init__(self, settings: Settings, out: Path) -> None:
        self.settings, self.out = settings, out
        self.parts: Parts | None = None
        self.learning: Learner | None = None

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do."""
        return (self.out / "index.html").exists()

    def check(self) -> None:
        """Refuse a directory that holds anything but this very job."""
        if not self.out.exists() or (self.out.is_dir() and not any(self.out.iterdir())):
            return
        refusal = f"{self.out} is not empty, and not this command's: choose another --out"
        try:
            found = json.loads((self.out / "settings.json").read_text(encoding="utf-8"))
            same = Settings(**found["settings"]) == self.settings
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            raise DataError(refusal) from None
        if not same:
            raise DataError(f"{refusal}, or the settings it was begun with")

    def read(self) -> Parts:
        """Read the data, and set a part aside."""
        self.check()
        self.parts = split(read(self.settings.data, **self.settings.reading), self.settings.seed)
        return self.parts

    def begin(self) -> Learner:
        """Make everything ready, and take up what was left."""
        keep_freed_memory()
        learned = (self.parts or self.read()).learned
        reading = learned.reading.fitted(learned.x)
        said = self.settings
        assert learned.y is not None
        self.learning = Learner(
            reading.prepare(learned.x),
            learned.y,
            said.transforms or "auto",
            layers=said.layers or None,
            trunk=said.trunk,
            budget=_for_learning(parse_budget(said.budget)),
            seed=said.seed,
            seeds=said.seeds,
            **reading.shared,
        )
        self.reading = reading
        self.out.mkdir(parents=True, exist_ok=True)
        self._write_json("settings.json", {"settings": said.model_dump(mode="json")})
        state = self.out / "state.pt"
        if state.exists():
            try:
                self.learning.load_state_dict(torch.load(state, weights_only=True))
            except (RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
                raise DataError(
                    f"{state} is damaged, or the data changed ({error}): remove it to begin anew"
                ) from None
        return self.learning

    def __iter__(self) -> Iterator[Row]:
        """Learn; what there is is saved now and then, and when the iteration is left."""
        learning = self.learning or self.begin()
        saved = time.monotonic()
        try:
            for row in learning:
                if time.monotonic() - saved > SAVED_EVERY:
                    self.save()
                    saved = time.monotonic()
                yield row
        except GeneratorExit:
            self.save()
            raise
        self.save()  # examining takes a while too, and may be left

    def save(self) -> None:
        """Keep what there is."""
        assert self.learning is not None
        content = io.BytesIO()
        torch.save(self.learning.state_dict(), content)
        files.write(self.out / "state.pt", content.getvalue())

    def finish(self) -> Examined:
        """Examine what was learned, and write it all; the page comes last."""
        assert self.learning is not None
        assert self.parts is not None
        found, tested = self.learning.result, self.parts.tested
        assert tested.y is not None
        said: dict[str, Any] = {
            "trunk": self.settings.trunk,
            "classes": tested.classes,
            "reading": self.reading,
            "answers": found.invariances,
            "settings": self.settings.model_dump(mode="json"),
        }
        shape = self.reading.shape
        model = Model.of(found.net, shape, **said)
        examined = examine(model, tested.x, tested.y, self.settings.seed)
        model = Model.of(found.net, shape, measured=examined.table, **said)
        save(model, self.out / "model.safetensors")
        self._write_json("invariances.json", summary(model, examined, self.parts))
        history = "".join(json.dumps(row) + "\n" for row in found.history)
        files.write(self.out / "history.jsonl", history)
        files.write(self.out / "index.html", page(model, examined, self.parts, found.history))
        (self.out / "state.pt").unlink(missing_ok=True)
        return examined

    def _write_json(self, name: str, value: Any) -> None:
        files.write(self.out / name, json.dumps({"schema": SCHEMA} | value, indent=1) + "\n")


def _for_learning(given: int | float | None) -> int | float | None:
    """Leave some of a time for what comes after learning; epochs stay epochs."""
    return (1 - KEPT) * given if isinstance(given, float) else given


def summary(model: Model, examined: Examined, parts: Parts) -> dict[str, Any]:
    """Give what was found, for programs."""
    return {
        "augnet": augnet.__version__,
        "python": platform.python_version(),
        "invariances": [_answer(row) for row in model.invariances],
        "net": [str(line) for line in str(model.net.augment).splitlines() if model.header.layers],
        "learned_from": len(parts.learned),
        "measured": examined.table,
        "notes": list(parts.learned.account),
    }


def _answer(row: Invariance) -> dict[str, Any]:
    said = Answer.of(row).model_dump(mode="json")
    return {"name": row.transform.name, "unit": row.unit, "says": str(row)} | said
