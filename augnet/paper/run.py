"""Build what a config describes, and train it in a directory that can be resumed.

manifest.json       settings (config and seed), data fingerprint, versions, digests of the files
rows.jsonl          one row per epoch
state.pt            what is needed to continue after the last epoch; removed at the end
model.safetensors   the trained net, written at the end
result.json         the row of that net and its scores, written at the end
"""

import inspect
import json
import os
import platform
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import torch
from lightning_fabric import Fabric
from safetensors.torch import save as to_safetensors
from torch import Generator, nn

import augnet
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
from augnet.paper.datasets import DATASETS, Splits, file_fingerprint
from augnet.paper.objective import build_regularizer
from augnet.paper.train import Row, Trainer
from augnet.training import DirectoryError, NonFiniteError, ResumableDirectory, keep_freed_memory
from augnet.transforms import TransformSpec, build_transforms
from augnet.trunks import TRUNKS
from augnet.validation import nearest

ROWS = "rows.jsonl"
ERRORS = (TypeError, ValueError, RuntimeError, ArithmeticError, LookupError)
"""What networks and transforms raise if their arguments or samples do not fit."""

MIN_FILTERS = 8
"""Torch 2.13 wrote beyond its memory in the backward pass of fewer filters with channels last."""
MAX_LAYERS = 1000


def layers(
    layers: list[list[TransformSpec]],
    magnitude: float = 0.5,
    temperature: float = 1.0,
    sfreq: float | None = None,
    channels: list[str] | None = None,
    repeat: int = 1,
    after: str | None = None,
    logit: float = 0.0,
) -> AugmentationModule | Chain:
    """Build layers from lists of transforms, all `repeat` times, and optionally after a policy.

    All logits start at `logit`. This does not change the weights, but what weight decay does.
    """
    if not 1 <= repeat <= MAX_LAYERS:
        raise ValueError(f"repeat takes a whole number from 1 to {MAX_LAYERS}; got {repeat}")
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
    for layer in module:
        nn.init.constant_(layer.logits, logit)
    if after is None:
        return module
    if after not in POLICIES:
        raise ValueError(f"unknown policy {after!r}{nearest(after, POLICIES)}")
    return Chain([POLICIES[after](), module])


def fixed(transform: TransformSpec, probability: float = 1.0) -> Policy:
    """Build an augmentation known beforehand: one transform at its limit, with a probability."""
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


def build(config: Config, seed: int) -> tuple[AugNet, Splits]:
    """Build the net and load the data that a config describes."""
    splits = make("data", DATASETS, config.data, seed=seed)
    torch.manual_seed(seed)
    augment = make("augment", AUGMENTS, config.augment)
    trunk = make("trunk", TRUNKS, config.trunk)
    if splits.train.x.dim() == 4 and _is_wide(trunk):  # CPUs convolve images faster so
        trunk.to(memory_format=torch.channels_last)
    _check_regularizer(config, augment)
    _check_tuner(config)
    try:
        net = AugNet(augment, trunk, **config.net.model_dump())
    except ValueError as error:
        raise ConfigError(f"net: {error}") from None
    check_fit(config, augment, trunk, splits)
    return net, splits


def build_probe(config: Config) -> nn.Module | None:
    """Build the trunk that tells a tuner what transforms cost, if it is not the net's."""
    tuner = config.tuner
    if tuner.select == "none" or tuner.probe is None:
        return None
    return cast(nn.Module, make("tuner.probe", TRUNKS, tuner.probe))


def check_fit(config: Config, augment: Any, trunk: nn.Module, splits: Splits) -> None:
    """Raise ConfigError if the data does not fit the transforms or the trunk: try two samples."""
    x, y = splits.train.x[:2], splits.train.y
    measured = [config.measure.transform] if config.measure else []
    generator = Generator().manual_seed(0)
    training = trunk.training
    try:
        for transform in build_transforms([*config.scores.invariance, *measured]):
            transform(x, generator=generator)
        with torch.no_grad():
            outputs = trunk.eval()(augment(x, generator)).shape[1]
    except ERRORS as error:
        shape = tuple(x.shape[1:])
        raise ConfigError(f"samples of shape {shape} do not fit: {_one_line(error)}") from None
    finally:
        trunk.train(training)
    if outputs <= int(y.max()):
        raise ConfigError(f"trunk has {outputs} outputs; the data has {int(y.max()) + 1} classes")


def _one_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def _check_regularizer(config: Config, augment: object) -> None:
    """Raise ConfigError if the regularizer cannot read the augmentation."""
    regularizer = build_regularizer(config.regularizer.name)
    if regularizer is None:
        return
    try:
        regularizer.read(augment)
    except TypeError as error:
        raise ConfigError(
            f"regularizer, with augment.name={config.augment.name}: {error} (regularizer.name=none)"
        ) from None


def _is_wide(trunk: nn.Module) -> bool:
    """Whether all convolutions have at least `MIN_FILTERS` filters."""
    filters = [part.out_channels for part in trunk.modules() if isinstance(part, nn.Conv2d)]
    return min(filters, default=0) >= MIN_FILTERS


def _check_tuner(config: Config) -> None:
    """Raise ConfigError if a tuner cannot read the augmentation or the losses."""
    if config.tuner.select == "none":
        return
    if config.augment.name != "layers":
        raise ConfigError(
            f"tuner.select={config.tuner.select} needs augment.name=layers; got "
            f"{config.augment.name} (tuner.select=none)"
        )
    if config.net.train_copies > 1 and config.tuner.probe is None:
        raise ConfigError(
            "a tuner without a probe needs the loss of each view; got "
            f"net.train_copies={config.net.train_copies} (net.train_copies=1)"
        )
    if config.regularizer.name != "none":
        raise ConfigError(
            "a tuner leaves nothing to a regularizer; got "
            f"regularizer.name={config.regularizer.name} (regularizer.name=none)"
        )


def make(kind: str, registry: Mapping[str, Callable[..., Any]], spec: Named, **extra: Any) -> Any:
    """Call an entry of a registry with the arguments in a config."""
    name = spec.name if spec.name in registry else spec.name.replace("-", "_")
    if name not in registry:
        raise ConfigError(f"unknown {kind} {spec.name!r}{nearest(spec.name, registry)}")
    factory = registry[name]
    known = [name for name in inspect.signature(factory).parameters if name not in extra]
    for key in spec.arguments:
        if key not in known:
            raise ConfigError(f"unknown key '{kind}.{key}' for {spec.name}{nearest(key, known)}")
    try:
        return factory(**extra, **spec.arguments)
    except ERRORS as error:
        raise ConfigError(f"{kind}.{spec.name}: {_one_line(error)}") from None


def commit() -> str:
    """Return the commit of this code; "" if it is not run from a checkout."""
    ask = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, timeout=10).stdout.strip()
    except OSError:  # no git on this machine
        return ""


class RunDirectory:
    """The files of one run; what is there already must be this very run's."""

    def __init__(self, path: Path, config: Config, seed: int) -> None:
        self.path, self.config, self.seed = Path(path), config, seed
        settings = {"config": config.model_dump(mode="json"), "seed": seed}
        self.directory = ResumableDirectory(path, "run", settings)

    @property
    def finished(self) -> bool:
        """Whether the run is finished and all its files are there."""
        return self.directory.finished

    def check(self) -> None:
        """Raise DirectoryError if the path holds anything but this run, or damaged files."""
        self.directory.check()
        if self.directory.finished:
            self.directory.files()

    def files(self) -> dict[str, bytes]:
        """Return all files of the run, for `adopt` on another machine."""
        return self.directory.files()

    def adopt(self, files: Mapping[str, bytes]) -> None:
        """Write the files that this very run has written on another machine."""
        self.directory.adopt(files)

    def rows(self) -> list[Row]:
        """Read the rows so far, also while another process trains."""
        return [json.loads(line) for line in (self.directory.read(ROWS) or b"").splitlines()]

    def run(self, fabric: Fabric | None = None) -> Iterator[Row]:
        """Train from where the run was left to its end; yield one row per epoch.

        If there are several processes, all of them take part and the first one writes.
        """
        fabric = fabric or Fabric(devices=1)
        writes = fabric.is_global_zero
        if writes:
            self.check()
        if fabric.broadcast(self.finished):
            return
        keep_freed_memory()
        config = self.config
        net, splits = build(config, self.seed)
        rest = (self.seed, fabric, config.scores, config.tuner, build_probe(config))
        trainer = Trainer(net, splits, config.train, config.regularizer, *rest)
        data = file_fingerprint(config.data.model_dump(), splits) if writes else None
        with self.directory.open(data, **_about(fabric)) if writes else nullcontext():
            if fabric.broadcast(self.finished):  # by another process, while the data was read
                return
            self._resume(trainer, fabric)
            for row in trainer:
                state = trainer.state_dict()  # in all processes: each has its own generator
                if writes:
                    self.directory.save_state(state)
                    self.directory.write({ROWS: _lines(trainer.rows)})
                yield row
            kept = trainer.finish()
            if writes:
                self._finish(trainer, kept)
        fabric.barrier()

    def _resume(self, trainer: Trainer, fabric: Fabric) -> None:
        """Load the state of the last epoch, if there is one."""
        saved = self.directory.load_state() if fabric.is_global_zero else None
        saved = fabric.broadcast(saved)
        if saved is None:
            return
        try:
            trainer.load_state_dict(saved)
        except (RuntimeError, ValueError, KeyError) as error:
            raise DirectoryError(
                f"{self.path / 'state.pt'} does not fit ({type(error).__name__}: "
                f"{str(error).splitlines()[0]}): remove it to begin again"
            ) from None

    def _finish(self, trainer: Trainer, kept: Row) -> None:
        tensors = {key: value.contiguous() for key, value in trainer.net.state_dict().items()}
        for key, value in tensors.items():
            if not bool(value.isfinite().all()):
                raise NonFiniteError(f"{key} has NaN or infinite values: lower the learning rate")
        result: dict[str, Any] = {"epochs": len(trainer.rows), "kept": kept}
        if self.config.measure:
            (transform,) = build_transforms(self.config.measure.transform)
            result["measured"] = [trainer.measure(transform, c) for c in self.config.measure.copies]
        if self.config.scores.copies:
            result["scored"] = trainer.score_views()
            result["times"] = trainer.time_views()
        self.directory.finish(
            {
                ROWS: _lines(trainer.rows),
                "model.safetensors": to_safetensors(tensors),
                "result.json": json.dumps(result, indent=1) + "\n",
            }
        )


def machine() -> str:
    """Describe the machine in a few words."""
    return f"{os.cpu_count()} cores, {platform.machine()}"


def _about(fabric: Fabric) -> dict[str, str]:
    """Describe the code and the machine of a run."""
    return {
        "augnet": augnet.__version__,
        "commit": commit(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "machine": machine(),
        "processes": str(fabric.world_size),
        "precision": str(fabric._precision.precision),
    }


def _lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)
