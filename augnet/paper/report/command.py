"""The command that made some runs, found by comparing their settings with the experiment's."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augnet.paper.config import ConfigError, Experiment, resolve
from augnet.paper.report.runs import Run


def changes(experiment: Experiment, run: Run) -> dict[str, Any]:
    """Find the settings of a run that are not its experiment's, as `--set` would give them.

    What a run from an older version does not know was not changed, and what this version does not
    know cannot be set. Grid points are not changes.
    """
    name, protocol = run.study
    try:
        usual = resolve(name, experiment, run.variant, protocol=protocol)
    except ConfigError:  # this version has no such variant
        return {}
    known = dict(leaves(json.loads(usual.model_dump_json())))
    found = {key: value for key, value in leaves(run.config) if known.get(key) != value}
    free = ("data.", "augment.", "trunk.", "measure.")  # keys are arguments, whatever these take
    fixed = ("net.", "penalty.", "train.", "scores.")
    return {
        key: value
        for key, value in found.items()
        if (key.startswith(free) or (key.startswith(fixed) and key in known))
        and key not in run.sweep
        and value is not None
    }


def commands(experiment: Experiment, runs: Sequence[Run]) -> list[str]:
    """Give the commands that make some runs of one experiment and protocol again."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        key = json.dumps([changes(experiment, run), list(run.sweep)], sort_keys=True)
        groups.setdefault(key, []).append(run)
    return [_command(experiment, group) for group in groups.values()]


def _command(experiment: Experiment, runs: Sequence[Run]) -> str:
    name, protocol = runs[0].study
    parts = ["augnet", "paper", "run", name]
    variants = list(dict.fromkeys(run.variant for run in runs))
    if set(variants) != set(experiment.variants):
        parts += [part for variant in variants for part in ("--variant", variant)]
    if protocol != "ours":
        parts += ["--protocol", protocol]
    parts += ["--seeds", str(1 + max(run.seed for run in runs))]
    for key, value in changes(experiment, runs[0]).items():
        parts += ["--set", f"{key}={toml(value)}"]
    for key in runs[0].sweep:
        points = dict.fromkeys(toml(run.sweep[key]) for run in runs)
        parts += ["--sweep", f"{key}={','.join(points)}"]
    return shlex.join(parts)


def leaves(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Go through nested tables as `train.lr`, 0.1."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def toml(value: Any) -> str:
    """Write a value as `--set` reads it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml, value)) + "]"
    return json.dumps(value)
