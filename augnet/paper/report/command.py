"""Find the command that made some runs, by comparing their settings with the experiment's."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from augnet.paper.config import ConfigError, Experiment, resolve
from augnet.paper.report.runs import Run

PRECISION = "32-true"  # the default of augnet paper run
FREE = ("data.", "augment.", "trunk.", "measure.")  # keys are arguments of any function
FOLDERS = {"data.root": "DIR"}  # where data is on a machine does not matter elsewhere
FIXED = ("net.", "regularizer.", "tuner.", "train.", "scores.")  # keys are those of this version


def changes(experiment: Experiment, run: Run) -> dict[str, Any]:
    """Return the settings of a run that differ from its experiment's, as `--set` takes them.

    Points of a sweep are not changes.
    """
    found = changed_settings(experiment, run.config)
    return {key: value for key, value in found.items() if key not in run.sweep}


def changed_settings(
    experiment: Experiment, config: Mapping[str, Any], free: tuple[str, ...] = FREE
) -> dict[str, Any]:
    """Return the settings of a config that differ from those of its variant and protocol.

    Settings that a config of an older version does not have were not changed, and settings that
    this version does not have cannot be set. This version need not know the `free` ones.
    """
    name, variant, protocol = (str(config[key]) for key in ("experiment", "variant", "protocol"))
    try:
        default = resolve(name, experiment, variant, protocol=protocol)
    except ConfigError:  # this version has no such variant
        return {}
    known = dict(flatten(json.loads(default.model_dump_json())))
    return {
        key: FOLDERS.get(key, value)
        for key, value in flatten(config)
        if known.get(key) != value
        and (key.startswith(free) or (key.startswith(FIXED) and key in known))
        and value is not None
    }


def commands(experiment: Experiment, runs: Sequence[Run]) -> list[str]:
    """Return the commands that repeat some runs of one experiment and protocol."""
    alike: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        same = [changes(experiment, run), list(run.sweep), _precision(run)]
        alike.setdefault((json.dumps(same, sort_keys=True), run.label), []).append(run)
    groups: dict[tuple[str, int], list[Run]] = {}
    for (settings, _), found in alike.items():
        groups.setdefault((settings, max(run.seed for run in found)), []).extend(found)
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
        parts += ["--set", f"{key}={to_toml(value)}"]
    if (precision := _precision(runs[0])) != PRECISION:
        parts += ["--precision", precision]
    for key in runs[0].sweep:
        points = dict.fromkeys(to_toml(run.sweep[key]) for run in runs)
        parts += ["--sweep", f"{key}={','.join(points)}"]
    return shlex.join(parts)


def _precision(run: Run) -> str:
    return run.versions.get("precision", PRECISION)


def flatten(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Go through nested tables as pairs such as `train.lr`, 0.1."""
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def to_toml(value: Any) -> str:
    """Write a value as `--set` reads it."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {to_toml(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    return json.dumps(value)
