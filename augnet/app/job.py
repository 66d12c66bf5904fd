"""The job of `augnet learn`: its directory can be left at any moment, and resumed."""

import json
import platform
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self

import torch

import augnet
from augnet.app.evaluate import Evaluation, evaluate
from augnet.app.page import page
from augnet.app.settings import Settings
from augnet.categories import listing
from augnet.data import Collection, Split, read, split
from augnet.learn import Learner
from augnet.learn.config import parse_budget
from augnet.learn.result import Invariance, name_classes
from augnet.model import Model, to_bytes
from augnet.model.header import SCHEMA, InvarianceRecord, Measurement
from augnet.training import (
    DirectoryError,
    ResumableDirectory,
    Row,
    fingerprint,
)
from augnet.training.manifest import digest

RESERVED = 0.1
"""The fraction of a time budget that is kept for the evaluation and the page."""
SAVE_EVERY = 30.0
"""Seconds between two saved states: this much work is lost at most if the process is killed."""


class Job:
    """Read, learn, evaluate and write. Iterate within `open` to learn; then call `finish`."""

    def __init__(self, settings: Settings, out: Path) -> None:
        self.settings = settings
        self.directory = ResumableDirectory(out, "learn", settings.values)
        self.learner: Learner | None = None

    def read(self) -> Split:
        """Read and split the data; refuse a directory that holds anything but this job."""
        self.directory.check()
        options, seed = asdict(self.settings.read), self.settings.learn.seed
        samples = read(self.settings.data, seed=seed, **options)
        self.fingerprint, self.described = describe_collection(samples)
        self.split = split(samples, seed)
        self.input_spec = self.split.train.input_spec.fitted(self.split.train.x)
        return self.split

    @contextmanager
    def open(self) -> Iterator[Self]:
        """Lock the directory, and resume what was left; the data must be the same as then."""
        if not self.directory.finished:  # refuse settings before creating the directory
            self.learner = self._learner()
        about = {"augnet": augnet.__version__, "torch": torch.__version__, **self.described}
        with self.directory.open(self.fingerprint, python=platform.python_version(), **about):
            if self.learner is not None:
                self._resume(self.learner)
            yield self

    @property
    def finished(self) -> bool:
        """Whether all files are there; raise DirectoryError if one of them is damaged."""
        return self.directory.finished and bool(self.directory.files())

    @property
    def measuring(self) -> str:
        """What is measured until the next row comes, if it is known."""
        return "" if self.learner is None else self.learner.measuring

    def __iter__(self) -> Iterator[Row]:
        """Learn, and yield a row per epoch; save the state now and then, and at the end."""
        assert self.learner is not None
        yield from saving(self.learner, self.save)
        self.save()  # the evaluation takes a while, too

    def save(self) -> None:
        """Save the state."""
        assert self.learner is not None
        self.directory.save_state(self.learner.state_dict())

    def finish(self) -> Evaluation:
        """Evaluate the model, and write all files."""
        assert self.learner is not None
        result, test = self.learner.result, self.split.test
        assert test.y is not None
        fields: dict[str, Any] = {
            "trunk": self.settings.learn.net_trunk,
            "classes": test.classes,
            "input_spec": self.input_spec,
            "invariances": name_classes(result.invariances, test.classes),
            "measurement": Measurement.of(result),
            "settings": self.directory.settings,
        }
        shape = self.input_spec.shape
        model = Model.of(result.net, shape, **fields)
        began = time.monotonic()
        evaluation = evaluate(model, test.x, test.y, self.settings.learn.seed)
        seconds = self.learner.seconds | {"test samples": time.monotonic() - began}
        model = Model.of(result.net, shape, evaluation=evaluation.values, **fields)
        summary = json.dumps(_summary(model, evaluation, self.split), indent=1, allow_nan=False)
        self.directory.write(  # before the page, so that an error in it does not lose the model
            {
                "model.safetensors": to_bytes(model),
                "invariances.json": f"{summary}\n",
                "history.jsonl": "".join(f"{json.dumps(row)}\n" for row in result.history),
            }
        )
        shown = page(model, self.settings, evaluation, self.split, result.history, seconds)
        self.directory.finish({"index.html": shown})
        return evaluation

    def _learner(self) -> Learner:
        train, config = self.split.train, self.settings.learn
        assert train.y is not None
        budget = _for_learning(parse_budget(config.budget))
        learner = Learner(
            self.input_spec.prepare(train.x),
            train.y,
            groups=train.groups,
            config=replace(config, budget=budget),
            **self.input_spec.shared,
        )
        if learner.data.group_counts is not None:
            fitted, held_out = learner.data.group_counts
            kind = train.group_kind
            train.log.note(f"of the training {kind}, {fitted} are fitted and {held_out} held out")
        return learner

    def _resume(self, learner: Learner) -> None:
        state = self.directory.load_state()
        if state is None:
            return
        try:
            learner.load_state_dict(state)
        except (RuntimeError, ValueError, KeyError, TypeError) as error:
            raise DirectoryError(
                f"{self.directory.path / 'state.pt'} is of another version of augnet or torch "
                f"({error}): remove it to begin again"
            ) from None


def saving(rows: Iterable[Row], save: Callable[[], object]) -> Iterator[Row]:
    """Yield rows; save the state now and then, and when the iteration is left."""
    saved = time.monotonic()
    try:
        for row in rows:
            if time.monotonic() - saved > SAVE_EVERY:
                save()
                saved = time.monotonic()
            yield row
    except GeneratorExit:
        save()
        raise


def describe_collection(samples: Collection) -> tuple[str, dict[str, Any]]:
    """Return a fingerprint of the data, and what a directory says about it."""
    classes = torch.tensor(list("\n".join(samples.classes).encode()), dtype=torch.uint8)
    parts = {
        "samples": samples.x,
        "labels": samples.y,
        "classes": classes,
        "groups": samples.groups,
    }
    digests = {
        name: fingerprint(*(() if part is None else (part,))) for name, part in parts.items()
    }
    about = {"samples": len(samples), "classes": listing(samples.classes), "digests": digests}
    return digest("\n".join(digests.values()).encode()), about


def _for_learning(given: int | float | None) -> int | float | None:
    """Return the part of a budget that is for learning; epochs stay epochs."""
    return (1 - RESERVED) * given if isinstance(given, float) else given


def _summary(model: Model, evaluation: Evaluation, split: Split) -> dict[str, Any]:
    """Return the result for programs."""
    return {
        "schema": SCHEMA,
        "augnet": augnet.__version__,
        "invariances": [_invariance(row) for row in model.invariances],
        "measurement": model.header.measurement.model_dump(mode="json"),
        "layers": str(model.net.augment).splitlines() if model.header.layers else [],
        "training_samples": len(split.train),
        "evaluation": evaluation.values,
        "notes": list(split.train.log),
    }


def _invariance(row: Invariance) -> dict[str, Any]:
    """Return an invariance for programs; what is unclear has no strength."""
    record = InvarianceRecord.of(row).model_dump(mode="json")
    if row.status == "unclear":
        record |= {"strength": None, "interval": None}
    return {"name": row.transform.name, "unit": row.unit, "text": str(row)} | record
