"""Use no more threads than there are free cores.

torch starts a thread per core, and its threads wait for each other after each operation. If other
processes run on the same cores, all threads wait for the one that is not running, and training is
many times slower than with one thread.
"""

import math
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

CGROUP = Path("/sys/fs/cgroup")
LOAD = Path("/proc/loadavg")
LOOKS, PAUSE = 5, 0.01
"""How often the running threads are counted, and the seconds before each count."""


def choose_threads(given: int | None = None) -> int:
    """Return the given number of threads, or one for each free core, by the load at this moment.

    At least one, and never more than torch uses now, which is what OMP_NUM_THREADS says.
    """
    if given is not None:
        return given
    most = torch.get_num_threads()
    if most == 1:
        return 1
    busy = min(1.0, running_elsewhere() / (os.cpu_count() or 1))
    return max(1, min(most, round(available_cores() * (1 - busy))))


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Let torch use this many threads within the block."""
    before = torch.get_num_threads()
    try:
        if count != before:
            torch.set_num_threads(count)
        yield
    finally:
        if torch.get_num_threads() != before:
            torch.set_num_threads(before)


def available_cores() -> float:
    """Return how many cores this process may use: by its affinity and the quota of its cgroup."""
    if hasattr(os, "sched_getaffinity"):  # Linux
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    return min(float(cores), _quota())


def _quota() -> float:
    """Return the cores that the cgroup allows; infinity without a quota."""
    for quota, period in (_read(CGROUP / "cpu.max"), _read_first_version()):
        if quota.isdecimal() and period.isdecimal() and int(period):
            return int(quota) / int(period)
    return math.inf


def _read(path: Path) -> tuple[str, str]:
    """Return the first two words of a file, empty if it cannot be read."""
    try:
        words = path.read_text(encoding="ascii").split()
    except OSError:
        words = []
    first, second, *_ = *words, "", ""
    return first, second


def _read_first_version() -> tuple[str, str]:
    """Return quota and period of the first version of cgroups; the quota is -1 if there is none."""
    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    quota, period = (_read(CGROUP / "cpu" / name)[0] for name in names)
    return quota, period


def running_elsewhere() -> float:
    """Return how many threads of other processes run or wait for a core.

    The load average would count what this process did in the last minute, too.
    """
    counts = []
    for _ in range(LOOKS):
        time.sleep(PAUSE)
        running = _running()
        if running is None:
            return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        counts.append(max(0, running - 1))  # one of them is looking
    return statistics.median(counts)


def _running() -> int | None:
    """Return how many threads run or wait for a core; None where Linux does not say."""
    try:
        running, _, _ = LOAD.read_text(encoding="ascii").split()[3].partition("/")
        return int(running)
    except (OSError, ValueError, IndexError):
        return None
