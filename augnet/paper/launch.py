"""Where runs are brought to their end: processes of this machine, a torchrun group, a Ray cluster.

Each way is a generator that gives back control now and then, so that somebody can look at the rows
that have come into the run directories, and that is over when all runs are.
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
from augnet.validation import nearest

PRECISIONS = ("32-true", "bf16-mixed", "16-mixed")
LOSSES = 3  # how often a run may be lost on a cluster before it has finished one more epoch


def in_group() -> bool:
    """Tell whether this process was started by torchrun, as one of a group."""
    return "TORCHELASTIC_RUN_ID" in os.environ


class Mixed(MixedPrecision):
    """Lower precision for trunks; what comes in stays as it is, for transforms need all of it."""

    def convert_input(self, data: Any) -> Any:
        """Leave the data alone."""
        return data


@dataclass(frozen=True)
class Machine:
    """What one run may use: devices (on a machine without GPUs, processes), and which precision."""

    devices: int = 1
    precision: str = "32-true"
    threads: int | None = None

    def __post_init__(self) -> None:
        gpus = torch.cuda.device_count()
        here, kind = (gpus, "GPUs") if gpus else (os.cpu_count() or 1, "CPU cores and no GPU")
        if self.devices > here:
            raise ConfigError(
                f"--devices {self.devices}: this machine has {here} {kind}. "
                f"Ask for at most {here}, or start the command with torchrun on several machines"
            )
        if self.precision not in PRECISIONS:
            raise ConfigError(
                f"unknown precision {self.precision!r}{nearest(self.precision, PRECISIONS)}"
            )
        if self.precision == "16-mixed" and not gpus:
            raise ConfigError("--precision 16-mixed needs a GPU: here use bf16-mixed or 32-true")

    def fabric(self) -> Fabric:
        """Make the Fabric that a run is trained on."""
        nodes, devices = 1, self.devices
        if in_group():
            devices = int(os.environ["LOCAL_WORLD_SIZE"])
            nodes = int(os.environ["WORLD_SIZE"]) // devices
        strategy: Any = "auto"
        if devices * nodes > 1:
            # Transforms without weight are not computed, so that their parameters may have no gradient;
            # where all have one, torch would say so at length.
            os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
            start: Any = "popen" if in_group() else "spawn"
            strategy = DDPStrategy(start_method=start, find_unused_parameters=True)
        if self.threads:
            torch.set_num_threads(self.threads)
        lowered: Any = self.precision
        kind = "cuda" if torch.cuda.is_available() else "cpu"
        plugins = None if lowered == "32-true" else Mixed(lowered, kind)
        return Fabric(devices=devices, num_nodes=nodes, strategy=strategy, plugins=plugins)


def complete(path: Path, config: Config, seed: int, machine: Machine) -> None:
    """Bring a run to its end, on one device or on several."""
    try:
        work = partial(_share, path=path, config=config, seed=seed, threads=machine.threads)
        machine.fabric().launch(work)
    except ProcessRaisedException as error:
        _, found, message = str(error).rpartition(f"{ConfigError.__name__}: ")
        raise (ConfigError(message.strip()) if found else error) from None


def _share(fabric: Fabric, path: Path, config: Config, seed: int, threads: int | None) -> None:
    """Take part in a run, as one of its processes."""
    if threads:
        torch.set_num_threads(threads)
    for _ in RunDirectory(path, config, seed).run(fabric):
        pass


def _go_with_the_parent() -> None:
    """Let a worker go at once, at any moment: on Ctrl-C, and when its parent is killed.

    A worker that outlived the command would write into the same directory as the next one.
    """
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:  # as it is for what a shell sends away
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    parent = multiprocessing.parent_process()

    def follow() -> None:
        parent.join()  # type: ignore[union-attr]
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=follow, daemon=True).start()


def on_this_machine(runs: Sequence[RunDirectory], jobs: int, machine: Machine) -> Iterator[None]:
    """Bring runs to their end, some at a time, each in a process of its own."""
    with ProcessPoolExecutor(
        jobs,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_go_with_the_parent,
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
                "a worker was killed, perhaps for want of memory: fewer --jobs may help. The same "
                "command goes on from the last epoch"
            ) from None
        except BaseException:
            pool.shutdown(cancel_futures=True)  # begin nothing more
            raise


def in_this_group(runs: Sequence[RunDirectory], machine: Machine) -> Iterator[None]:
    """Bring runs to their end, one after another, by all processes of a torchrun group."""
    fabric = machine.fabric()
    fabric.launch()
    for run in runs:
        for _ in run.run(fabric):
            yield


def on_ray(runs: Sequence[RunDirectory], address: str, precision: str) -> Iterator[None]:
    """Send each run to a Ray cluster; what it has written comes back here after every epoch.

    Workers need no common file system. A run whose worker is lost is sent again, with the files
    that came back, and so goes on from its last epoch.
    """
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise ConfigError("--ray needs Ray: pip install 'augnet[cluster]'") from None
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (OSError, ValueError, RuntimeError) as error:
        raise ConfigError(f"no Ray cluster at {address!r}: {error}") from None
    try:
        gpus = 1 if ray.cluster_resources().get("GPU") else 0
        remote = ray.remote(_elsewhere).options(
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
                except ray.exceptions.RayTaskError as error:  # the run's own mistake
                    raise (error.cause or error) from None
                except ray.exceptions.RayError as error:  # the cluster's
                    losses[run] += 1
                    if losses[run] > LOSSES:
                        raise ConfigError(
                            f"{run.path} was lost {losses[run]} times at the same epoch: {error}"
                        ) from None
                    del under_way[stream]
                    under_way[send(run)] = run
            yield
    finally:
        ray.shutdown()


def _knock(address: str) -> None:
    """See whether anybody is at `host:port`: Ray would try for minutes."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if separator and port.isdigit():
        socket.create_connection((host, int(port)), timeout=10).close()


def _elsewhere(
    config: Config, seed: int, files: dict[str, bytes], precision: str
) -> Iterator[dict[str, bytes]]:
    """Bring a run to its end in a folder of a worker; give its files after every epoch."""
    with TemporaryDirectory() as folder:
        run = RunDirectory(Path(folder) / "run", config, seed)
        run.adopt(files)
        for _ in run.run(Machine(precision=precision).fabric()):
            yield run.files()
        yield run.files()
