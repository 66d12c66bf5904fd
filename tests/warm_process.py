"""Run commands of augnet in forks of a process that has imported everything, and kill them.

A new interpreter takes seconds to import torch, during which a kill has nothing to spoil. A fork is
a process of its own that begins to work at once. Forking is safe here: the parent has one thread.

Reads one request per line, `{"arguments": [...], "folder": ..., "seconds": ..., "group": ...}`, and
answers `{"code": ..., "seconds": ...}`; the code is null if the command was killed after `seconds`.
"""

import json
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import augnet.app.job as job
from augnet.__main__ import app

USED = (
    "augnet.app.audit_job", "augnet.app.commands.audit", "augnet.app.commands.learn",
    "augnet.paper.cli", "augnet.paper.report.runs", "augnet.paper.search.directory",
    "torch._dynamo",
)  # fmt: skip
"""Modules that commands import when they need them."""


def prepare() -> None:
    """Import all, save the state after each epoch, and fork workers of `paper run`, too."""
    for name in USED:
        import_module(name)
    job.SAVE_EVERY = 0  # half a minute otherwise: there is more to interrupt
    fork = multiprocessing.get_context("fork")
    multiprocessing.get_context = lambda method=None: fork  # type: ignore[assignment]
    assert threading.active_count() == 1


def perform(
    arguments: Sequence[str], folder: str, seconds: float | None, group: bool
) -> dict[str, Any]:
    """Run a command; after so many seconds kill it, or also the workers that it has started."""
    ended, alive = os.pipe()  # reads its end when the last process of the command is gone
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os.close(ended)
        _command(arguments, folder)
    os.close(alive)
    _lead(pid)
    running = not select.select([ended], [], [], seconds)[0]
    if running:
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.read(ended, 1)  # workers of a killed command end by themselves
    os.close(ended)
    code = os.waitstatus_to_exitcode(status)
    return {
        "code": None if running and code == -signal.SIGKILL else code,
        "seconds": time.monotonic() - began,
    }


def _command(arguments: Sequence[str], folder: str) -> NoReturn:
    """Become the command."""
    _lead(0)
    os.chdir(folder)
    sys.path.insert(0, folder)
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(log, stream)
    code: Any = 70
    try:
        app(list(arguments), prog_name="augnet")
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _lead(pid: int) -> None:
    """Begin a process group; the parent and the child do it, whoever comes first."""
    try:
        os.setpgid(pid, pid)
    except ProcessLookupError:  # it has ended already
        return


if __name__ == "__main__":
    prepare()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(perform(**json.loads(line))) + "\n")
        sys.stdout.flush()
