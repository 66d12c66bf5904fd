"""The wheel and the sdist hold all that the program needs, in an environment without anything else.

`make package` runs this.
"""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
BIN = "Scripts" if sys.platform == "win32" else "bin"
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")
SDIST = "from hatchling.builders.sdist import SdistBuilder as B; import sys; "
SDIST += "list(B(sys.argv[1]).build(directory=sys.argv[2]))"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def run(*command, **options):
    plain = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, env=plain, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Make an environment with pip and the tools that build packages."""
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", folder)
    python = folder / BIN / "python"
    run(python, *PIP, "install", "-c", ROOT / "constraints.txt", "hatchling")
    return python


def wheel(python, tree, folder):
    run(python, *PIP, "wheel", tree, "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def wheels(python, tmp_path_factory):
    """Build the wheel of the checkout, and that of the sdist."""
    folder = tmp_path_factory.mktemp("packages")
    run(python, "-c", SDIST, ROOT, folder)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    tree = folder / archive.name.removesuffix(".tar.gz")
    return wheel(python, ROOT, folder / "checkout"), wheel(python, tree, folder / "sdist")


def test_the_sdist_builds_the_same_wheel(wheels):
    names = [sorted(zipfile.ZipFile(file).namelist()) for file in wheels]
    assert names[0] == names[1]


@pytest.mark.parametrize("source", [0, 1], ids=["wheel", "sdist"])
def test_a_package_works_without_the_checkout(python, wheels, tmp_path, source):
    made = f"{wheels[source]}[own]"
    run(python, *PIP, "install", "-c", ROOT / "constraints.txt", made)  # the first brings the rest
    run(python, *PIP, "install", "--force-reinstall", "--no-deps", wheels[source])
    np.savez(tmp_path / "d.npz", x=np.random.default_rng(0).random((40, 3)), y=np.arange(40) % 2)
    where = run(python, "-c", "import augnet; print(augnet.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(python.parents[1])
    augnet = python.with_name("augnet")
    assert "learn" in run(augnet, "--help", cwd=tmp_path)
    assert "sinusoids" in run(augnet, "paper", "list", cwd=tmp_path)
    digits = "from augnet.data import load_digits; print(len(load_digits()[1]))"
    assert run(python, "-c", digits, cwd=tmp_path).strip() == "1797"
    learn = ("learn", "d.npz", "--transforms", "sign_flip", "--budget", "1", "--out", "o")
    assert "sign_flip" in run(augnet, *learn, cwd=tmp_path)
    assert (tmp_path / "o" / "index.html").exists()
    assert "sign_flip" in run(augnet, "inspect", "o", cwd=tmp_path)
