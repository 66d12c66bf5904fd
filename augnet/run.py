"""A run: a config and a seed become objects, and those a directory that can be resumed.

    run.json            schema, versions, config and seed: written first, and never changed
    rows.jsonl          one flat row per epoch
    state.pt            what is needed to go on after the last epoch; gone when the run is over
    model.safetensors   the trained net
    result.json         written last: the run is over

Every file is replaced at once or not at all, so that a run can be killed at any moment.
"""

import inspect
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from lightning_fabric import Fabric
from safetensors.torch import save as to_safetensors

import augnet
from augnet.augment import (
    Augerino,
    AugmentationLayer,
    AugmentationModule,
    Policy,
    Step,
    identity,
)
from augnet.checks import nearest
from augnet.config import Config, ConfigError, Named
from augnet.data import DATASETS, Splits
from augnet.net import AugNet
from augnet.train import Row, Trainer
from augnet.transforms import Word, words
from augnet.trunk import TRUNKS

SCHEMA = 1


def layers(
    layers: list[list[Word]],
    magnitude: float = 0.5,
    temperature: float = 1.0,
    sfreq: float | None = None,
    channels: list[str] | None = None,
    repeat: int = 1,
) -> AugmentationModule:
    """Build augmentation layers from lists of words; `repeat` the whole."""
    shared = {"sfreq": sfreq, "channels": channels}
    shared = {key: value for key, value in shared.items() if value is not None}
    return AugmentationModule(
        AugmentationLayer(*words(layer, **shared), magnitude=magnitude, temperature=temperature)
        for layer in layers * repeat
    )


def fixed(word: Word, probability: float = 1.0) -> Policy:
    """Build the augmentation that somebody knew: one word at its limit, with a probability."""
    return Policy([[Step(words(word)[0], probability)]])


AUGMENTS: dict[str, Callable[..., Any]] = {
    "layers": layers,
    "augerino": Augerino,
    "fixed": fixed,
    "none": lambda: identity,
}


def build(config: Config, seed: int) -> tuple[AugNet, Splits]:
    """Make the net and load the data that a config describes."""
    splits = make("data", DATASETS, config.data, seed=seed)
    torch.manual_seed(seed)
    augment = make("augment", AUGMENTS, config.augment)
    trunk = make("trunk", TRUNKS, config.trunk)
    try:
        return AugNet(augment, trunk, **config.net.model_dump()), splits
    except ValueError as error:
        raise ConfigError(f"net: {error}") from None


def make(kind: str, registry: Mapping[str, Callable[..., Any]], spec: Named, **extra: Any) -> Any:
    """Call a thing of a registry with the arguments of a config."""
    if spec.name not in registry:
        raise ConfigError(f"unknown {kind} {spec.name!r}{nearest(spec.name, registry)}")
    factory = registry[spec.name]
    known = [name for name in inspect.signature(factory).parameters if name not in extra]
    for key in spec.arguments:
        if key not in known:
            raise ConfigError(f"unknown key '{kind}.{key}' for {spec.name}{nearest(key, known)}")
    try:
        return factory(**extra, **spec.arguments)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{kind}.{spec.name}: {error}") from None


def commit() -> str:
    """Say which commit this code is of, if it is run from a checkout."""
    ask = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, timeout=10).stdout.strip()
    except OSError:  # no git on this machine
        return ""


def complete(path: Path, config: Config, seed: int, threads: int) -> None:
    """Bring a run to its end, in a process of its own."""
    torch.set_num_threads(threads)
    for _ in RunDirectory(path, config, seed).run():
        pass


class RunDirectory:
    """The files of one run. What is there already must be this very run's."""

    def __init__(self, path: Path, config: Config, seed: int) -> None:
        self.path = path
        self.config, self.seed = config, seed
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            self._recognise()

    def _description(self) -> dict[str, Any]:
        versions = {
            "augnet": augnet.__version__,
            "commit": commit(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        }
        settings = json.loads(self.config.model_dump_json())
        return {"schema": SCHEMA, "versions": versions, "seed": self.seed, "config": settings}

    def _recognise(self) -> None:
        """Refuse a directory that is not this run's, and leave it as it is."""
        refusal = f"{self.path} is not empty, and not this run's"
        try:
            found = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            schema, config, seed = found["schema"], found["config"], found["seed"]
        except (OSError, ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{refusal}: it has no readable run.json. Choose another --out"
            ) from None
        if schema != SCHEMA:
            raise ConfigError(f"{refusal}: its schema is {schema}, this version writes {SCHEMA}")
        mine = self._description()
        if (config, seed) != (mine["config"], mine["seed"]):
            raise ConfigError(
                f"{refusal}: it was made with other settings or another seed. Choose another --out"
            )

    @property
    def finished(self) -> bool:
        """Whether the run is over."""
        return (self.path / "result.json").exists()

    def rows(self) -> list[Row]:
        """Read the rows so far."""
        file = self.path / "rows.jsonl"
        if not file.exists():
            return []
        try:
            return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        except ValueError:
            raise ConfigError(f"{file} is damaged: remove {self.path} to run again") from None

    def run(self, fabric: Fabric | None = None) -> Iterator[Row]:
        """Train from where the run stands to its end; give one row per epoch."""
        if self.finished:
            return
        net, splits = build(self.config, self.seed)
        trainer = Trainer(net, splits, self.config.train, self.config.penalty, self.seed, fabric)
        if not self.path.exists() or not any(self.path.iterdir()):
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_json("run.json", self._description())
        state = self.path / "state.pt"
        if state.exists():
            try:
                saved = torch.load(state, map_location="cpu", weights_only=True)
                trainer.load_state_dict(saved)
            except (RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
                raise ConfigError(
                    f"{state} is damaged ({type(error).__name__}): remove it to begin again"
                ) from None
        for row in trainer:
            self._write("state.pt", lambda file: torch.save(trainer.state_dict(), file))
            self._write_rows(trainer.rows)
            yield row
        trainer.finish()
        self._finish(trainer)

    def _finish(self, trainer: Trainer) -> None:
        self._write_rows(trainer.rows)
        tensors = {key: value.contiguous() for key, value in trainer.net.state_dict().items()}
        self._write("model.safetensors", lambda file: file.write(to_safetensors(tensors)))
        best = trainer.best_epoch if self.config.train.patience else len(trainer.rows) - 1
        result: dict[str, Any] = {"epochs": len(trainer.rows), "kept": trainer.rows[best]}
        if self.config.measure:
            (word,) = words(self.config.measure.word)
            result["measured"] = [trainer.measure(word, c) for c in self.config.measure.copies]
        self._write_json("result.json", result)
        (self.path / "state.pt").unlink(missing_ok=True)

    def _write_rows(self, rows: list[Row]) -> None:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        self._write("rows.jsonl", lambda file: file.write(lines.encode()))

    def _write_json(self, name: str, value: Any) -> None:
        text = json.dumps(value, indent=1) + "\n"
        self._write(name, lambda file: file.write(text.encode()))

    def _write(self, name: str, fill: Callable[[Any], object]) -> None:
        """Replace a file at once or not at all."""
        draft = self.path / f".{name}.draft"
        try:
            with draft.open("wb") as file:
                fill(file)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self.path / name)
        finally:
            draft.unlink(missing_ok=True)
