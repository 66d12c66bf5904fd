"""Keep one search in a resumable directory.

    manifest.json   method, config and seed, data and versions (`augnet.training`)
    points.jsonl    seconds, passes, validation and test score, and the policy; one line per point
    state.pt        what is needed to go on after the last point; removed at the end
    study.db        the trials, if the search makes any

A search that was killed resumes: a search by trials from its study, all others from state.pt.
"""

import inspect
import json
import platform
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import torch

import augnet
from augnet.layers import ByClass, Policy
from augnet.paper.config import Config, ConfigError
from augnet.paper.datasets import DATASETS, Splits, describe, file_fingerprint
from augnet.paper.run import AUGMENTS, build, check_fit, commit, machine, make
from augnet.paper.search import SEARCHES
from augnet.paper.search.curves import Point, SearchCurve, TrainingCurve
from augnet.paper.search.space import as_table, search_space
from augnet.paper.search.task import Task
from augnet.paper.search.trials import check_storage, local_storage
from augnet.training import DirectoryError, ResumableDirectory
from augnet.trunks import TRUNKS
from augnet.validation import nearest

POINTS = "points.jsonl"
NO_OPTIONS = ("task", "storage", "study", "settings", "points")  # arguments that the directory sets


class SearchDirectory:
    """The files of one method with one seed; what is there already must be this very search's.

    The method is one of SEARCHES, or a variant of the experiment that is trained end to end: then
    each epoch is a point.
    """

    def __init__(self, path: Path, method: str, config: Config, seed: int) -> None:
        self.path, self.method, self.config, self.seed = Path(path), method, config, seed
        settings = {"method": method, "config": config.model_dump(mode="json"), "seed": seed}
        self.directory = ResumableDirectory(path, "search", settings)

    @property
    def finished(self) -> bool:
        """Whether the search is finished."""
        return self.directory.finished

    def check(self) -> None:
        """Raise DirectoryError if the path holds anything but this search, or damaged files."""
        self.directory.check()
        if self.directory.finished:
            self.directory.files()

    def run(self, storage: str | None = None) -> Iterator[Point]:
        """Search from where it was left to the end; yield and write one point after the other.

        `storage` is the address of a database for trials, by default a file in the directory.
        """
        self.check()
        if self.finished:
            return
        curve, splits = self._build(storage)  # raises before anything is written
        data = file_fingerprint(self.config.data.model_dump(), splits)
        with self.directory.open(data, **self._about()):
            if self.finished:  # by another process, since the check above
                return
            rows = self._resume(curve)
            for point in curve:
                rows.append(_as_row(point))
                state = curve.state_dict()
                if state is not None:
                    self.directory.save_state({"points": rows, "curve": state})
                self.directory.write({POINTS: _lines(rows)})
                yield point
            self.directory.finish({POINTS: _lines(rows)})

    def _build(self, storage: str | None) -> tuple[SearchCurve | TrainingCurve, Splits]:
        """Build what gives the points, and the data; raise ConfigError for wrong settings."""
        if storage and not uses_trials(self.method):
            raise ConfigError(f"--storage is for searches by trials; {self.method} makes none")
        if self.method not in SEARCHES:
            net, splits = build(self.config, self.seed)
            return TrainingCurve(self.config, self.seed, net, splits), splits
        options = self._options()
        if uses_trials(self.method):
            name = f"{self.config.experiment}-{self.config.protocol}-{self.method}-{self.seed}"
            if storage:
                check_storage(storage, name, self.config)
            options |= {"storage": storage, "study": name, "settings": self.config}
        task = build_task(self.config, self.seed)
        local = uses_trials(self.method) and not storage
        make = self._by_own_trials if local else SEARCHES[self.method]
        return SearchCurve(make(task, **options), task), task.splits

    def _by_own_trials(self, task: Task, **options: Any) -> Iterator[Policy | ByClass]:
        """Search by trials that no other process shares; begin once the directory is locked."""
        options |= {"storage": local_storage(self.path / "study.db")}
        yield from SEARCHES[self.method](task, points=len(self._points()), **options)

    def _options(self) -> dict[str, Any]:
        """Return the options of the search; raise ConfigError for unknown or wrong ones."""
        for name in self.config.search.options:
            if name not in SEARCHES:
                raise ConfigError(f"unknown key 'search.options.{name}'{nearest(name, SEARCHES)}")
        options = dict(self.config.search.options.get(self.method, {}))
        known = inspect.signature(SEARCHES[self.method]).parameters
        for key, value in options.items():
            where = f"search.options.{self.method}.{key}"
            if key not in known or key in NO_OPTIONS:
                names = [name for name in known if name not in NO_OPTIONS]
                raise ConfigError(f"unknown key {where!r}{nearest(key, names)}")
            _check_option(where, value, known[key].annotation)
        return options

    def _resume(self, curve: SearchCurve | TrainingCurve) -> list[dict[str, Any]]:
        """Load the state after the last point, if there is one; return the points so far."""
        if uses_trials(self.method):
            return self._points()
        state = self.directory.load_state()
        if state is None:
            return []
        try:
            curve.load_state_dict(state["curve"])
            return list(state["points"])
        except (RuntimeError, ValueError, KeyError) as error:
            raise DirectoryError(
                f"{self.path / 'state.pt'} does not fit ({type(error).__name__}: "
                f"{str(error).splitlines()[0]}): remove it to begin again"
            ) from None

    def _points(self) -> list[dict[str, Any]]:
        """Read the points so far."""
        content = self.directory.read(POINTS) or b""
        return [json.loads(line) for line in content.splitlines()]

    def _about(self) -> dict[str, str]:
        """Describe the data, the code and the machine."""
        return {
            "dataset": describe(self.config.data.model_dump()),
            "augnet": augnet.__version__,
            "commit": commit(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": machine(),
        }


def uses_trials(method: str) -> bool:
    """Return whether a method searches by trials, which are kept in a study."""
    search = SEARCHES.get(method)
    return search is not None and "storage" in inspect.signature(search).parameters


def _check_option(where: str, value: Any, kind: type) -> None:
    """Raise ConfigError if an option is not a positive number, or not a boolean."""
    accepted: tuple[type, ...] = {int: (int,), float: (int, float), bool: (bool,)}[kind]
    if type(value) not in accepted or (kind is not bool and not value > 0):
        expected = {
            int: "a whole number from 1",
            float: "a number above 0",
            bool: "true or false",
        }
        raise ConfigError(f"{where} takes {expected[kind]}; got {value!r}")


def build_task(config: Config, seed: int) -> Task:
    """Build the task of an experiment; its transforms are those of the layers, each once."""
    arguments = config.augment.arguments
    if "layers" not in arguments:
        raise ConfigError(
            f"searches use the transforms of layers, and augment is {config.augment.name!r}: name "
            "a variant with layers by --variant"
        )
    shared = (arguments.get("sfreq"), arguments.get("channels", ()))
    specs = {"augment.layers": list(chain(*arguments["layers"])), "search.more": config.search.more}
    transforms = []
    for key, value in specs.items():
        try:
            transforms.append(search_space(value, *shared))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{key}: {error}") from None
    splits = make("data", DATASETS, config.data, seed=seed)
    for transform in chain(*transforms):
        try:
            transform.check(splits.train.x[:2])
        except (TypeError, ValueError) as error:
            raise ConfigError(f"this search cannot use its transforms: {error}") from None
    trunk = partial(make, "trunk", TRUNKS, config.trunk)
    check_fit(config, make("augment", AUGMENTS, config.augment), trunk(), splits)
    return Task(splits, trunk, transforms[0], config.train, transforms[1], seed)


def _as_row(point: Point) -> dict[str, Any]:
    # Thirds of passes are added in another order after a kill.
    row: dict[str, Any] = point._asdict() | {"passes": round(point.passes, 6)}
    policy = row.pop("policy")
    if isinstance(policy, Policy):
        row["policy"] = as_table(policy)
    if isinstance(policy, ByClass):
        row["policies"] = [as_table(each) for each in policy.policies]  # type: ignore[arg-type]
    return row


def _lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
