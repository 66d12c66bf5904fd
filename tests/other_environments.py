"""Environments of libraries that cannot be installed with augnet: they need another torch.

AUGNET_TORCHVISION_PYTHON and AUGNET_ALBUMENTATIONS_PYTHON may name interpreters that have them.
Else environments are made in .environments/, once; `make clean` removes them. torchvision may come
with a torch for GPUs, and then takes 6 GB.
"""

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ENVIRONMENTS = Path(__file__).parents[1] / ".environments"
PACKAGES = {"torchvision": ("torch", "torchvision"), "albumentations": ("albumentations>=2",)}
IMPORTS = {
    "torchvision": "from torchvision.transforms import v2",
    "albumentations": "import albumentations",
}
SECONDS = 1200
"""How long an installation may take."""


def interpreter(library):
    """Return the Python of a library; skip the test, with the reason, if there is none."""
    named = os.environ.get(f"AUGNET_{library.upper()}_PYTHON")
    python, reason = (named, "") if named else _made(library)
    if reason:
        pytest.skip(f"there is no environment for {library}: {reason}")
    return python


@cache
def _made(library):
    """Return the Python of the environment for a library, and why there is none."""
    python = ENVIRONMENTS / library / "bin" / "python"
    if not python.exists() or _fault(python, library):
        # First without the settings of pip: a torch from there may not fit torchvision.
        for settings in (False, True):
            reason = _install(python, library, settings) or _fault(python, library)
            if not reason:
                break
            shutil.rmtree(ENVIRONMENTS / library, ignore_errors=True)
        else:
            return "", reason
    return str(python), ""


def _install(python, library, settings):
    """Make an environment; return why it failed."""
    environment = dict(os.environ)
    options = ("--quiet", "--no-cache-dir", "--retries", "1", "--only-binary", ":all:")
    if not settings:
        environment = {k: v for k, v in environment.items() if k != "PIP_FIND_LINKS"}
        environment["PIP_CONFIG_FILE"] = os.devnull
    made = _run([sys.executable, "-m", "venv", "--clear", python.parents[1]])
    packages = (*PACKAGES[library], "numpy")
    return made or _run([python, "-m", "pip", "install", *options, *packages], environment)


def _fault(python, library):
    """Return why a library cannot be imported."""
    return _run([python, "-W", "ignore", "-c", IMPORTS[library]])


def _run(command, environment=None):
    """Run a command; return the last line of its errors if it fails."""
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    return lines[-1] if done.returncode else ""
