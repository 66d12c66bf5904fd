"""Compare the cost of augmentation with the trunk and with other libraries: results/speed.json.

Cases of one cell are compared within one process: repeats are interleaved, and ratios are those of
medians. One thread is timed by its processor time, which depends little on other processes; two
threads by the wall clock, on an idle machine. `performance_page.py` makes docs/performance.md.
"""

import argparse
import gc
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from recovery_cells import code_commit
from speed_cells import CELLS, Case
from torch.profiler import ProfilerActivity, profile

from augnet.training import keep_freed_memory

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "speed.json"
STARTUP = {
    "import torch": ["-c", "import torch"],
    "import augnet": ["-c", "import augnet"],
    "from augnet import learn": ["-c", "from augnet import learn"],
    "augnet --help": ["-m", "augnet", "--help"],
    "augnet learn --help": ["-m", "augnet", "learn", "--help"],
}

Row = dict[str, object]


def measure(cases: dict[str, Case], repeats: int, clock: Callable[[], float]) -> Iterator[Row]:
    """Time cases in turns; yield the median of each in milliseconds and its peak memory."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for case in cases.values():
        case()
    for _ in range(repeats):
        for name, case in cases.items():
            gc.collect()
            start = clock()
            case()
            times[name].append(1e3 * (clock() - start))
    for name, case in cases.items():
        yield {
            "case": name,
            "ms": round(statistics.median(times[name]), 3),
            "fastest": round(min(times[name]), 3),
            "MB": round(peak_memory(case) / 2**20, 1),
        }


def peak_memory(case: Case) -> int:
    """Return the peak memory of a case in bytes, beyond what was allocated before."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        case()
    held = highest = 0
    events = recorded.profiler.kineto_results.events()  # type: ignore[union-attr]
    for event in sorted(events, key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            held += event.nbytes()
            highest = max(highest, held)
    return highest


def startup(repeats: int) -> Iterator[Row]:
    """Time new processes by their processor time, in turns."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    times: dict[str, list[float]] = {name: [] for name in STARTUP}
    for _ in range(repeats):
        for name, arguments in STARTUP.items():
            start = used()
            command = [sys.executable, *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
            times[name].append(1e3 * (used() - start))
    for name, each in times.items():
        yield {
            "case": name,
            "ms": round(statistics.median(each), 1),
            "fastest": round(min(each), 1),
        }


def main() -> None:
    """Run the cells and write the results; keep those of other cells and other threads."""
    known = ("startup", *CELLS)
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("cells", nargs="*", help=f"some of {', '.join(known)}; all by default")
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    if unknown := set(given.cells) - set(known):
        options.error(f"no such cells: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    torch.set_num_threads(given.threads)
    keep_freed_memory()  # as training does
    warnings.simplefilter("ignore")  # of the other libraries
    alone = given.threads == 1
    clock = time.process_time if alone else time.perf_counter
    document = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    document["machine"] = f"{os.cpu_count()} cores, {platform.machine()}, torch {torch.__version__}"
    cells = document.setdefault("threads", {}).setdefault(str(given.threads), {})
    stamp = code_commit()
    for name in given.cells or [each for each in known if alone or each != "startup"]:
        torch.manual_seed(0)
        if name == "startup":
            rows = list(startup(5))
        else:
            build, repeats = CELLS[name]
            rows = list(measure(build(), repeats, clock))
        cells[name] = {"commit": stamp, "rows": rows}
        print(name)
        for row in rows:
            ratio = row["ms"] / rows[0]["ms"]
            print(
                f"  {row['case']:50s} {row['ms']:10.2f} ms {ratio:6.2f} {row.get('MB', 0):8.1f} MB"
            )
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
