"""A run: a config and a seed become objects, and those a directory that can be resumed.

    run.json            schema, versions, config and seed: written first, and never changed
    rows.jsonl          one flat row per epoch
    state.pt            what is needed to go on after the last epoch; gone when the run is over
    model.safetensors   the trained net
    result.json         written last: the run is over

Every file is replaced at once or not at all, so that a run can be killed at any moment.
"""

import inspect
import io
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
from augnet.allocator import keep_freed_memory
from augnet.files import write
from augnet.layers import (
    Augerino,
    AugmentationLayer,
    AugmentationModule,
    Chain,
    Policy,
    Step,
    identity,
)
from augnet.layers.published import autoaugment, crop_flip, randaugment, trivialaugment
from augnet.net import AugNet
from augnet.paper.config import Config, ConfigError, Named
from augnet.paper.datasets import DATASETS, Splits
from augnet.paper.train import Row, Trainer
from augnet.transforms import TransformSpec, build_transforms
from augnet.trunks import TRUNKS
from augnet.validation import nearest

SCHEMA = 1
# In the order in which they are written.
FILES = ("run.json", "state.pt", "rows.jsonl", "model.safetensors", "result.json")


def layers(
    layers: list[list[TransformSpec]],
    magnitude: float = 0.5,
    temperature: float = 1.0,
    sfreq: float | None = None,
    channels: list[str] | None = None,
    repeat: int = 1,
    after: str | None = None,
) -> AugmentationModule | Chain:
    """Build augmentation layers from lists of transforms; `repeat` the whole, `after` a policy."""
    shared = {"sfreq": sfreq, "channels": channels}
    shared = {key: value for key, value in shared.items() if value is not None}
    module = AugmentationModule(
        *(
            AugmentationLayer(
                *build_transforms(layer, **shared), magnitude=magnitude, temperature=temperature
            )
            for layer in layers * repeat
        )
    )
    if after is None:
        return module
    if after not in POLICIES:
        raise ValueError(f"unknown policy {after!r}{nearest(after, POLICIES)}")
    return Chain([POLICIES[after](), module])


def fixed(transform: TransformSpec, probability: float = 1.0) -> Policy:
    """Build the augmentation that somebody knew: one transform at its limit, with a probability."""
    return Policy([[Step(build_transforms(transform)[0], probability)]])


POLICIES: dict[str, Callable[..., Policy]] = {
    "autoaugment": autoaugment,
    "crop-flip": crop_flip,
    "randaugment": randaugment,
    "trivialaugment": trivialaugment,
}

AUGMENTS: dict[str, Callable[..., Any]] = {
    "layers": layers,
    "augerino": Augerino,
    "fixed": fixed,
    "none": lambda: identity,
    **POLICIES,
}

# Which penalty can be read off which augmentation.
PENALIZED: dict[str, tuple[str, ...]] = {
    "none": tuple(AUGMENTS),
    "selective": ("layers",),
    "data-space": ("layers",),
    "travel": ("layers",),
    "shares": ("layers",),
    "magnitude-only": ("layers", "augerino"),
}


def build(config: Config, seed: int) -> tuple[AugNet, Splits]:
    """Make the net and load the data that a config describes."""
    splits = make("data", DATASETS, config.data, seed=seed)
    torch.manual_seed(seed)
    augment = make("augment", AUGMENTS, config.augment)
    trunk = make("trunk", TRUNKS, config.trunk)
    if config.augment.name not in PENALIZED[config.penalty.name]:
        raise ConfigError(
            f"penalty {config.penalty.name!r} is not for augment {config.augment.name!r}, "
            f"but for {' or '.join(PENALIZED[config.penalty.name])}: try penalty.name=none"
        )
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


def _to_bytes(state: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    torch.save(state, file)
    return file.getvalue()


class RunDirectory:
    """The files of one run. What is there already must be this very run's."""

    def __init__(self, path: Path, config: Config, seed: int) -> None:
        self.path = path
        self.config, self.seed = config, seed

    @property
    def begun(self) -> bool:
        """Whether there is something in the directory's place already."""
        return self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir()))

    def check(self) -> None:
        """Refuse a directory that is not this run's, and leave it as it is."""
        if not self.begun:
            return
        refusal = f"{self.path} is not empty, and not this run's"
        try:
            found = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            schema, settings, seed = found["schema"], found["config"], found["seed"]
        except (OSError, ValueError, KeyError, TypeError):
            raise ConfigError(
                f"{refusal}: it has no readable run.json. Choose another --out"
            ) from None
        if schema != SCHEMA:
            raise ConfigError(f"{refusal}: its schema is {schema}, this version writes {SCHEMA}")
        try:
            same = (Config(**settings), seed) == (self.config, self.seed)
        except (TypeError, ValueError):
            same = False
        if not same:
            raise ConfigError(
                f"{refusal}: it was made with other settings or another seed. Choose another --out"
            )

    def files(self) -> dict[str, bytes]:
        """Read all that has been written so far."""
        found = (self.path / name for name in FILES)
        return {file.name: file.read_bytes() for file in found if file.exists()}

    def adopt(self, files: Mapping[str, bytes]) -> None:
        """Write what this very run has written elsewhere."""
        if files:
            self.path.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            if name in files:
                write(self.path / name, files[name])
        if "result.json" in files:
            (self.path / "state.pt").unlink(missing_ok=True)

    def _describe(self, fabric: Fabric) -> dict[str, Any]:
        versions = {
            "augnet": augnet.__version__,
            "commit": commit(),
            "torch": torch.__version__,
            "python": platform.python_version(),
            "machine": f"{os.cpu_count()} cores, {platform.machine()}",
            "processes": str(fabric.world_size),
            "precision": str(fabric._precision.precision),
        }
        settings = self.config.model_dump(mode="json")
        return {"schema": SCHEMA, "versions": versions, "seed": self.seed, "config": settings}

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
        """Train from where the run stands to its end; give one row per epoch.

        Where there are several processes, all of them take part and the first one writes.
        """
        fabric = fabric or Fabric(devices=1)
        writes = fabric.is_global_zero
        if writes:
            self.check()
        if fabric.broadcast(self.finished):
            return
        keep_freed_memory()
        net, splits = build(self.config, self.seed)
        config = self.config
        trainer = Trainer(
            net, splits, config.train, config.penalty, self.seed, fabric, config.scores
        )
        self._go_on(trainer, fabric)
        if writes and not self.begun:
            self.path.mkdir(parents=True, exist_ok=True)
            self._write_json("run.json", self._describe(fabric))
        for row in trainer:
            state = trainer.state_dict()  # by all processes: each has dice of its own
            if writes:
                write(self.path / "state.pt", _to_bytes(state))
                self._write_rows(trainer.rows)
            yield row
        trainer.finish()
        if writes:
            self._finish(trainer)
        fabric.barrier()

    def _go_on(self, trainer: Trainer, fabric: Fabric) -> None:
        """Take up the state of the last epoch, if there is one."""
        file = self.path / "state.pt"
        try:
            exists = fabric.is_global_zero and file.exists()
            saved = torch.load(file, map_location="cpu", weights_only=True) if exists else None
            if saved := fabric.broadcast(saved):
                trainer.load_state_dict(saved)
        except (RuntimeError, ValueError, KeyError, EOFError, UnpicklingError) as error:
            raise ConfigError(
                f"{file} is damaged or another's ({type(error).__name__}: "
                f"{str(error).splitlines()[0]}): remove it to begin again"
            ) from None

    def _finish(self, trainer: Trainer) -> None:
        self._write_rows(trainer.rows)
        tensors = {key: value.contiguous() for key, value in trainer.net.state_dict().items()}
        write(self.path / "model.safetensors", to_safetensors(tensors))
        best = trainer.best_epoch if self.config.train.patience else len(trainer.rows) - 1
        result: dict[str, Any] = {"epochs": len(trainer.rows), "kept": trainer.rows[best]}
        if self.config.measure:
            (transform,) = build_transforms(self.config.measure.transform)
            result["measured"] = [trainer.measure(transform, c) for c in self.config.measure.copies]
        if self.config.scores.copies:
            result["scored"] = trainer.score_views()
            result["times"] = trainer.time_views()
        self._write_json("result.json", result)
        (self.path / "state.pt").unlink(missing_ok=True)

    def _write_rows(self, rows: list[Row]) -> None:
        write(self.path / "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def _write_json(self, name: str, value: Any) -> None:
        write(self.path / name, json.dumps(value, indent=1) + "\n")
