"""Read search directories, and refuse those that do not belong into one table."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from augnet.paper.config import ConfigError, Experiment
from augnet.paper.datasets import describe
from augnet.paper.report import directories
from augnet.paper.report.command import FREE, changed_settings, to_toml
from augnet.training import ResumableDirectory


class Asked(NamedTuple):
    """What a method was asked for: a variant, and what differs from its settings."""

    variant: str
    changes: dict[str, Any]


class Search(NamedTuple):
    """One search: its settings and its points."""

    path: Path
    method: str
    seed: int
    config: dict[str, Any]
    points: list[dict[str, Any]]
    about: dict[str, Any]
    finished: bool

    @property
    def study(self) -> tuple[str, str]:
        """Experiment and protocol: searches that share both are compared in one table."""
        return str(self.config["experiment"]), str(self.config["protocol"])

    @property
    def counts(self) -> bool:
        """Whether it is compared with others: it is finished, and has points."""
        return self.finished and bool(self.points)

    @property
    def name(self) -> str:
        """The method and the seed."""
        return f"{self.method}, seed {self.seed}"

    def asked(self, experiment: Experiment) -> Asked:
        """Return what was asked for, without the options of other methods."""
        other, own = "search.options.", f"search.options.{self.method}."
        changes = changed_settings(experiment, self.config, (*FREE, "search."))
        mine = {k: v for k, v in changes.items() if not k.startswith(other) or k.startswith(own)}
        return Asked(str(self.config["variant"]), mine)


def find(paths: Sequence[Path]) -> list[Search]:
    """Read all searches below some directories, in the order of their names."""
    searches = [_read(path) for path in directories.find(paths, "search")]
    _refuse_duplicates(searches)
    return searches


def _read(path: Path) -> Search:
    with directories.one_line_errors(path):
        directory = ResumableDirectory.existing(path, "search")
        method, seed, config = (directory.settings[key] for key in ("method", "seed", "config"))
        points = directories.read_lines(directory, "points.jsonl")
        return Search(path, method, seed, config, points, directory.about, directory.finished)


def _refuse_duplicates(searches: Iterable[Search]) -> None:
    """Raise ConfigError if two directories hold the same method and seed."""
    known: dict[tuple[Any, ...], Path] = {}
    for search in searches:
        if not search.counts:
            continue
        first = known.setdefault((search.study, search.name), search.path)
        if first != search.path:
            raise ConfigError(
                f"{first} and {search.path} are both {search.name}: report one of them"
            )


def refuse_others(searches: Sequence[Search], experiment: Experiment) -> None:
    """Raise ConfigError for other data than that of the first, or other settings of a method.

    Where data is on a machine does not matter. Settings may differ between methods.
    """
    known: dict[str, Search] = {}
    for search in searches:
        mine, first = _data(search, experiment), _data(searches[0], experiment)
        if mine != first:
            raise ConfigError(
                f"{search.path} is of other data than the other searches: {', '.join(mine)}. "
                "Report them separately"
            )
        same = known.setdefault(search.method, search)
        both = [_without_root(each.asked(experiment)) for each in (same, search)]
        if both[0] != both[1]:
            keys = sorted({key for key, _ in both[0].items() ^ both[1].items()})
            raise ConfigError(
                f"{same.path} and {search.path} are both {search.method}, with other settings "
                f"({', '.join(keys)}). Report them separately"
            )


def _data(search: Search, experiment: Experiment) -> list[str]:
    """Describe the data, with the settings that were changed."""
    changes = _without_root(search.asked(experiment)).items()
    changed = [f"{key}={value}" for key, value in changes if key.startswith("data.")]
    return [describe(search.config["data"]), *changed]


def _without_root(asked: Asked) -> dict[str, str]:
    """Return the variant and the changes as text, without the place of the data."""
    changes = {key: to_toml(value) for key, value in asked.changes.items() if key != "data.root"}
    return {"variant": asked.variant, **changes}


def differences(settings: Mapping[str, Asked]) -> str:
    """Say which methods have settings that others do not have, apart from those of a search."""
    found = {
        method: [
            f"{key}={text}"
            for key, text in _without_root(asked).items()
            if key != "variant" and not key.startswith("search.options.")
        ]
        for method, asked in settings.items()
    }
    shared = set.intersection(*map(set, found.values())) if found else set()
    own = {
        method: [each for each in texts if each not in shared] for method, texts in found.items()
    }
    named = "; ".join(f"{method}: {', '.join(texts)}" for method, texts in own.items() if texts)
    return f"Settings that not all methods have: {named}." if named else ""
