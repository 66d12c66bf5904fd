"""Finished cells of a benchmark, and the processes that run the missing ones.

A cell is one run of one method on one data set with one seed. Each finished cell is a line of a
file beside the results, so that a run can be stopped and resumed. The document of the results holds
the cells too. Cells name the commit that they were run at, and commits are not mixed unwittingly.
"""

import json
import multiprocessing
import os
import subprocess
import time
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from augnet.training import keep_freed_memory

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
CODE = ("augnet", "benchmarks")
SHOWN = tuple(
    f":!augnet/learn/{name}.py"
    for name in (
        "result", "progress", "parts", "measure_parts", "held", "response", "sweep", "stages",
        "accounts", "meeting",
    )
)  # fmt: skip
"""Parts of `learn` that are not needed here: what is shown, and ranges of classes."""
SEARCH = (
    "augnet/learn", "augnet/transforms", "augnet/trunks", "augnet/training",
    *SHOWN,
    *(f":!augnet/learn/{name}.py" for name in ("final", "net", "selective")),
    *(f":!augnet/trunks/{name}.py" for name in ("medium", "sleep")),
)  # fmt: skip
"""What decides the answers of `learn`: all but the net, ranges of classes, and what is shown."""
Cell = dict[str, Any]
Key = tuple[Any, ...]


@dataclass(frozen=True)
class CellFile:
    """The lines and the document of a benchmark; `fields` identify a cell."""

    name: str
    fields: tuple[str, ...]
    folder: Path = RESULTS
    code: tuple[str, ...] = CODE
    """What the cells depend on; changes of other files do not make them old."""

    @property
    def lines(self) -> Path:
        """One cell per line."""
        return self.folder / f"{self.name}.jsonl"

    @property
    def document(self) -> Path:
        """Tables and all cells."""
        return self.folder / f"{self.name}.json"

    def key(self, cell: Cell) -> Key:
        """Return what identifies a cell. Cells of older files have no form."""
        return tuple(cell.get(field, "clean") for field in self.fields)

    def read(self) -> list[Cell]:
        """Return the cells of this machine, or else those of the document; the last of each key."""
        if self.lines.exists():
            cells = [json.loads(line) for line in self.lines.read_text().splitlines()]
        elif self.document.exists():
            cells = json.loads(self.document.read_text())["cells"]
        else:
            cells = []
        return list({self.key(cell): cell for cell in cells}.values())

    def run_missing(
        self, run: Callable[[Key], Cell], keys: Iterable[Key], processes: int, mix: bool
    ) -> list[Cell]:
        """Run cells that are missing or failed, one thread each; return all."""
        now, cells = code_commit(self.code), self.read()
        refuse_mixed([*cells, {"commit": now}], mix)
        done = {self.key(cell): cell for cell in cells if "failure" not in cell}
        missing = [key for key in keys if key not in done]
        self.folder.mkdir(exist_ok=True)
        self.lines.write_text("".join(json.dumps(cell) + "\n" for cell in cells))
        context = multiprocessing.get_context("spawn")
        with context.Pool(processes) as pool, self.lines.open("a") as file:
            function = partial(run_one, run, self.fields, now)
            for number, cell in enumerate(pool.imap_unordered(function, missing), start=1):
                file.write(json.dumps(cell) + "\n")
                file.flush()
                print(f"{number}/{len(missing)}", *self.key(cell), cell.get("failure", ""))
        return self.read()

    def restart(self) -> None:
        """Remove all cells."""
        self.folder.mkdir(exist_ok=True)
        self.lines.write_text("")

    def write(self, command: str, document: dict[str, Any], cells: list[Cell]) -> None:
        """Write tables and cells, with the command that makes them, the commit and the machine."""
        head = {
            "command": f"python benchmarks/{command}",
            "commit": " or ".join(sorted({str(cell["commit"]) for cell in cells})),
            "machine": f"{os.cpu_count()} cores, torch {torch.__version__}",
        }
        text = json.dumps(head | document | {"cells": cells}, indent=1)
        self.document.write_text(text + "\n", encoding="utf-8")


def code_commit(code: tuple[str, ...] = CODE) -> str:
    """Return the last commit that changed the code; commits of docs and results do not count."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments, "--", *code]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    return git("log", "-1", "--format=%h") + ("-dirty" if git("status", "--porcelain") else "")


def run_one(run: Callable[[Key], Cell], fields: tuple[str, ...], now: str, key: Key) -> Cell:
    """Run one cell by one thread. A cell that raises is a failure, which is counted and named."""
    torch.set_num_threads(1)
    keep_freed_memory()
    cell = dict(zip(fields, key, strict=True)) | {"commit": now}
    begun, worked = time.perf_counter(), time.process_time()
    try:
        cell |= run(key)
    except Exception as error:  # one failure must not end a run of hours
        traceback.print_exc()
        cell |= {"rows": [], "score": None, "failure": f"{type(error).__name__}: {error}"}
    return cell | {
        "seconds": round(time.perf_counter() - begun, 1),
        "processor seconds": round(time.process_time() - worked, 1),
    }


def refuse_mixed(cells: list[Cell], mix: bool) -> None:
    """Stop if cells are of several commits."""
    commits = sorted({str(cell["commit"]) for cell in cells})
    if len(commits) > 1 and not mix:
        raise SystemExit(
            f"cells are of {len(commits)} commits, expected one: {', '.join(commits)}. "
            "--restart runs all again; --mix-commits keeps them side by side"
        )
