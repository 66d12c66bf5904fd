"""Perform runs: in processes of this machine, in a torchrun group, or on a Ray cluster.

Each way is a generator that yields now and then, so that the caller can show the rows in the run
directories, and that ends when all runs are finished.
"""

import importlib
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from lightning_fabric import Fabric
from lightning_fabric.plugins.precision.amp import MixedPrecision
from lightning_fabric.strategies.ddp import DDPStrategy
from torch.multiprocessing.spawn import ProcessRaisedException

from augnet.paper.config import Config, ConfigError
from augnet.paper.run import RunDirectory
from augnet.training import DirectoryError, NonFiniteError
from augnet.validation import nearest

PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")
MAX_LOSSES = 3  # how often the worker of a run may be lost within one epoch


def in_group() -> bool:
    """Return whether torchrun started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


class TrunkPrecision(MixedPrecision):
    """Lower the precision of the trunk and not of the input, because transforms need all of it."""

    def convert_input(self, data: Any) -> Any:
        """Return the data as it is."""
        return data


@dataclass(frozen=True)
class Machine:
    """What one run may use: devices (processes on a machine without GPUs), precision, threads."""

    devices: int = 1
    precision: str = "32-true"
    threads: int | None = None

    def __post_init__(self) -> None:
        gpus = torch.cuda.device_count()
        count, kind = (gpus, "GPUs") if gpus else (os.cpu_count() or 1, "CPU cores and no GPU")
        if self.devices > count:
            raise ConfigError(
                f"--devices {self.devices}: this machine has {count} {kind}. "
                f"Ask for at most {count}, or start the command with torchrun on several machines"
            )
        if self.precision not in PRECISIONS:
            raise ConfigError(
                f"unknown precision {self.precision!r}{nearest(self.precision, PRECISIONS)}"
            )
        if self.precision == "16-mixed" and not gpus:
            raise ConfigError("--precision 16-mixed needs a GPU: use bf16-mixed or 32-true")

    def fabric(self) -> Fabric:
        """Return the Fabric that a run is trained on."""
        nodes, devices = 1, self.devices
        if in_group():
            devices = int(os.environ["LOCAL_WORLD_SIZE"])
            nodes = int(os.environ["WORLD_SIZE"]) // devices
        strategy: Any = "auto"
        if devices * nodes > 1:
            # Transforms without weight are not computed, so their parameters may have no gradient.
            # Where all have one, torch would warn about that in every process.
            os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
            start: Any = "popen" if in_group() else "spawn"
            strategy = DDPStrategy(start_method=start, find_unused_parameters=True)
        if self.threads:
            torch.set_num_threads(self.threads)
        lowered: Any = self.precision
        kind = "cuda" if torch.cuda.is_available() else "cpu"
        plugins = None if lowered == "32-true" else TrunkPrecision(lowered, kind)
        return Fabric(devices=devices, num_nodes=nodes, strategy=strategy, plugins=plugins)


def complete(path: Path, config: Config, seed: int, machine: Machine) -> None:
    """Perform a run, on one device or on several."""
    try:
        work = partial(_share, path=path, config=config, seed=seed, threads=machine.threads)
        machine.fabric().launch(work)
    except ProcessRaisedException as error:
        raise _refusal(str(error)) or error from None


def _refusal(text: str) -> Exception | None:
    """Return the refusal at the end of a traceback of another process, if it is one."""
    for kind in (ConfigError, DirectoryError, NonFiniteError):
        _, found, message = text.rpartition(f"{kind.__name__}: ")
        if found:
            return kind(message.strip())
    return None


def _share(fabric: Fabric, path: Path, config: Config, seed: int, threads: int | None) -> None:
    """Perform one process's part of a run."""
    if threads:
        torch.set_num_threads(threads)
    for _ in RunDirectory(path, config, seed).run(fabric):
        pass


def _end_with_parent() -> None:
    """Let a worker end at once on Ctrl-C, and when its parent ends or is killed.

    A worker that outlived the command would keep the directory locked.
    """
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as in background jobs of a shell
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def wait_for_parent() -> None:
        parent.join()  # type: ignore[union-attr]
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait_for_parent, daemon=True).start()


def on_this_machine(runs: Sequence[RunDirectory], jobs: int, machine: Machine) -> Iterator[None]:
    """Perform runs, `jobs` at a time, each in its own process."""
    with ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_end_with_parent,
    ) as pool:
        pending = {pool.submit(complete, run.path, run.config, run.seed, machine) for run in runs}
        try:
            while pending:
                done, pending = wait(pending, timeout=0.5, return_when=FIRST_EXCEPTION)
                yield
                for future in done:
                    future.result()
        except BrokenProcessPool:
            raise ConfigError(
                "a worker was killed, maybe because memory ran out: try fewer --jobs. The same "
                "command resumes after the last epoch"
            ) from None
        except BaseException:
            pool.shutdown(cancel_futures=True)  # start no other run
            raise


def in_this_group(runs: Sequence[RunDirectory], machine: Machine) -> Iterator[None]:
    """Perform runs one after another, with all processes of a torchrun group."""
    fabric = machine.fabric()
    fabric.launch()
    for run in runs:
        for _ in run.run(fabric):
            yield


def on_ray(runs: Sequence[RunDirectory], address: str, precision: str) -> Iterator[None]:
    """Perform runs on a Ray cluster; copy the files of each run back after every epoch.

    Workers need no common file system. A run whose worker is lost is sent again with the files
    that came back, and resumes after its last epoch.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise ConfigError("--ray needs Ray: pip install 'augnet[cluster]'") from None
    try:
        _check_connection(address)
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"no Ray cluster at {address!r}: {error}") from None
    try:
        gpus = 1 if ray.cluster_resources().get("GPU") else 0
        remote = ray.remote(_run_on_worker).options(
            num_cpus=1, num_gpus=gpus, max_retries=0, num_returns="streaming"
        )

        def send(run: RunDirectory) -> Any:
            return remote.remote(run.config, run.seed, run.files(), precision)

        under_way = {send(run): run for run in runs}
        losses = dict.fromkeys(under_way.values(), 0)
        while under_way:
            ready, _ = ray.wait(list(under_way), timeout=0.5)
            for stream in ready:
                run = under_way[stream]
                try:
                    run.adopt(ray.get(next(stream)))
                    losses[run] = 0
                except StopIteration:
                    del under_way[stream]
                except ray.exceptions.RayTaskError as error:  # raised by the run itself
                    raise (error.cause or error) from None
                except ray.exceptions.RayError as error:  # raised by the cluster
                    losses[run] += 1
                    if losses[run] > MAX_LOSSES:
                        raise ConfigError(
                            f"{run.path} was lost {losses[run]} times at the same epoch: {error}"
                        ) from None
                    del under_way[stream]
                    under_way[send(run)] = run
            yield
    finally:
        ray.shutdown()


def _check_connection(address: str) -> None:
    """Raise OSError if nothing listens at `host:port`: Ray would try for minutes."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if separator and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def _run_on_worker(
    config: Config, seed: int, files: dict[str, bytes], precision: str
) -> Iterator[dict[str, bytes]]:
    """Perform a run in a temporary folder of a worker; yield its files after every epoch."""
    with TemporaryDirectory() as folder:
        run = RunDirectory(Path(folder) / "run", config, seed)
        run.adopt(files)
        for _ in run.run(Machine(precision=precision).fabric()):
            yield run.files()
        yield run.files()
