"""A search as a directory: what was asked, and one line per point.

    search.json     method, config and seed, which data and versions: written first
    points.jsonl    seconds, passes, validation and test score, and the policy
    study.db        what was tried, where a search makes trials
    over.json       written last: the search is over

A search by trials that was killed goes on from its study; others begin again.
"""

import inspect
import json
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric

import augnet
from augnet.files import write
from augnet.layers import ByClass, Policy
from augnet.net import AugNet
from augnet.paper.config import Config, ConfigError
from augnet.paper.datasets import DATASETS, Samples, Splits, describe
from augnet.paper.run import build, commit, make
from augnet.paper.search import SEARCHES
from augnet.paper.search.space import as_table, vocabulary
from augnet.paper.search.task import Point, Task, points, seldom_tested
from augnet.paper.search.trials import refuse_others
from augnet.paper.train import Trainer
from augnet.trunks import TRUNKS
from augnet.validation import nearest

SCHEMA = 1
GIVEN = ("task", "storage", "study", "settings")  # by us to searches, and no options


class SearchDirectory:
    """The files of one method on one fold. What is there already must be this very search's.

    The method is a search, or a variant of the experiment, which is trained end to end: then each
    epoch is a point.
    """

    def __init__(self, path: Path, method: str, config: Config, seed: int) -> None:
        self.path, self.method, self.config, self.seed = path, method, config, seed

    @property
    def finished(self) -> bool:
        """Whether the search is over."""
        return (self.path / "over.json").exists()

    def check(self) -> None:
        """Refuse a directory that is not this search's, and leave it as it is."""
        if not self.path.exists() or not any(self.path.iterdir()):
            return
        try:
            found = json.loads((self.path / "search.json").read_text(encoding="utf-8"))
            mine = Config(**found["config"]) == self.config
            same = mine and (found["method"], found["seed"]) == (self.method, self.seed)
        except (OSError, ValueError, KeyError, TypeError):
            same = False
        if not same:
            raise ConfigError(
                f"{self.path} is not empty, and not this search's: it was made with other "
                "settings, or is something else. Choose another --out"
            )

    def run(self, storage: str | None = None) -> Iterator[Point]:
        """Search from where it stands; give and write one point after the other."""
        self.check()
        if self.finished:
            return
        found = self._points(storage)  # which refuses mistakes before anything is written
        self.path.mkdir(parents=True, exist_ok=True)
        self._write("search.json", [self._describe()])
        lines = self._resumable()
        for point in found:
            lines.append(_as_row(point))
            self._write("points.jsonl", lines)
            yield point
        self._write("over.json", [{"points": len(lines)}])

    def _points(self, storage: str | None) -> Iterator[Point]:
        if self.method not in SEARCHES:
            return trained(self.config, self.seed, *build(self.config, self.seed))
        options = dict(self.config.search.options.get(self.method, {}))
        known = inspect.signature(SEARCHES[self.method]).parameters
        for key, value in options.items():
            where = f"search.options.{self.method}.{key}"
            if key not in known or key in GIVEN:
                names = [name for name in known if name not in GIVEN]
                raise ConfigError(f"unknown key {where!r}{nearest(key, names)}")
            _check(where, value, known[key].annotation)
        if resumes(self.method):
            name = f"{self.config.experiment}-{self.config.protocol}-{self.method}-{self.seed}"
            local = f"sqlite:///{self.path / 'study.db'}"
            if storage:
                refuse_others(storage, name, self.config)
            options |= {"storage": storage or local, "study": name, "settings": self.config}
        elif storage:
            raise ConfigError(f"--storage is for searches by trials; {self.method} makes none")
        given = task(self.config, self.seed)
        policies = SEARCHES[self.method](given, **options)  # now, so that it can refuse
        return points(lambda _: policies, given)

    def _resumable(self) -> list[dict[str, Any]]:
        """Give the points so far, if the search goes on from them."""
        file = self.path / "points.jsonl"
        if not (resumes(self.method) and file.exists()):
            return []
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

    def _describe(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "method": self.method,
            "seed": self.seed,
            "data": describe(self.config.data.model_dump()),
            "versions": {"augnet": augnet.__version__, "commit": commit()},
            "config": self.config.model_dump(mode="json"),
        }

    def _write(self, name: str, rows: list[dict[str, Any]]) -> None:
        write(self.path / name, "".join(json.dumps(row) + "\n" for row in rows))


def resumes(method: str) -> bool:
    """Whether a killed search goes on from its study: those by trials do, others begin again."""
    search = SEARCHES.get(method)
    return search is not None and "storage" in inspect.signature(search).parameters


def _check(where: str, value: Any, kind: type) -> None:
    """Refuse what is no number where a number is wanted, or none above zero."""
    taken: tuple[type, ...] = {int: (int,), float: (int, float), bool: (bool,)}[kind]
    if type(value) not in taken or (kind is not bool and not value > 0):
        wanted = {
            int: "a whole number from 1",
            float: "a number above 0",
            bool: "true or false",
        }
        raise ConfigError(f"{where} takes {wanted[kind]}; got {value!r}")


def task(config: Config, seed: int) -> Task:
    """Make the task of an experiment: its transforms are those of its layers, each once."""
    arguments = config.augment.arguments
    if "layers" not in arguments:
        raise ConfigError(
            f"searches use the transforms of layers, and augment is {config.augment.name!r}: name a "
            "variant with layers by --variant"
        )
    shared = (arguments.get("sfreq"), arguments.get("channels", ()))
    asked = {"augment.layers": list(chain(*arguments["layers"])), "search.more": config.search.more}
    transforms = []
    for key, specs in asked.items():
        try:
            transforms.append(vocabulary(specs, *shared))
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{key}: {error}") from None
    splits = make("data", DATASETS, config.data, seed=seed)
    trunk = partial(make, "trunk", TRUNKS, config.trunk)
    return Task(splits, trunk, transforms[0], config.train, transforms[1], seed)


def trained(config: Config, seed: int, net: AugNet, splits: Splits) -> Iterator[Point]:
    """Train a variant end to end: the point of each epoch is the best epoch so far.

    The clock stands while the test set is looked at.
    """
    fabric = Fabric(accelerator="auto", devices=1)
    scores = config.scores.model_copy(update={"invariance": []})  # nobody asks for it here
    training = (config.train, config.regularizer, seed, fabric, scores)
    trainer = Trainer(net, seldom_tested(splits), *training)
    metric, seconds, test = config.train.metric, 0.0, 0.0
    epochs = iter(trainer)
    while True:
        began = time.perf_counter()
        if next(epochs, None) is None:
            return
        seconds += time.perf_counter() - began
        if trainer.best_epoch == len(trainer.rows) - 1:
            test = trainer.score(Samples(*map(fabric.to_device, splits.test)))[metric]
        passes = float(len(trainer.rows) * len(splits.train.y) * net.train_copies)
        yield Point(seconds, passes, trainer.rows[trainer.best_epoch][f"valid_{metric}"], test)


def _as_row(point: Point) -> dict[str, Any]:
    row: dict[str, Any] = point._asdict()
    policy = row.pop("policy")
    if isinstance(policy, Policy):
        row["policy"] = as_table(policy)
    if isinstance(policy, ByClass):
        row["policies"] = [as_table(each) for each in policy.policies]  # type: ignore[arg-type]
    return row
