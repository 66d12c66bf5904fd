"""The wheel and the sdist hold all that the program needs."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
SDIST = "from hatchling.builders.sdist import SdistBuilder as B; import sys; "
SDIST += "list(B(sys.argv[1]).build(directory=sys.argv[2]))"


def run(*command, **options):
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, timeout=600, **options
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("source", ["wheel", "sdist"])
def test_a_package_works_without_the_checkout(tmp_path, source):
    tree = ROOT
    if source == "sdist":
        run(*PIP, "install", "hatchling", "--target", tmp_path / "build")
        path = {"PYTHONPATH": str(tmp_path / "build")}
        run(sys.executable, "-c", SDIST, ROOT, tmp_path / "sdist", env={**os.environ, **path})
        (archive,) = (tmp_path / "sdist").glob("*.tar.gz")
        with tarfile.open(archive) as file:
            file.extractall(tmp_path, filter="data")
        tree = tmp_path / archive.name.removesuffix(".tar.gz")
    run(*PIP, "wheel", tree, "--no-deps", "--wheel-dir", tmp_path / "wheel")
    (wheel,) = (tmp_path / "wheel").glob("*.whl")
    site = tmp_path / "site"
    run(*PIP, "install", wheel, "--no-deps", "--target", site)
    np.savez(tmp_path / "d.npz", x=np.random.default_rng(0).random((40, 3)), y=np.arange(40) % 2)
    settings = {"env": {**os.environ, "PYTHONPATH": str(site)}, "cwd": tmp_path}
    where = run(sys.executable, "-c", "import augnet; print(augnet.__file__)", **settings)
    assert Path(where.strip()).is_relative_to(site)
    augnet = (sys.executable, "-m", "augnet")
    assert "learn" in run(*augnet, "--help", **settings)
    assert "sinusoids" in run(*augnet, "paper", "list", **settings)
    digits = "from augnet.data import load_digits; print(len(load_digits()[1]))"
    assert run(sys.executable, "-c", digits, **settings).strip() == "1797"
    learn = ("learn", "d.npz", "--transforms", "sign_flip", "--budget", "1", "--out", "o")
    assert "sign_flip" in run(*augnet, *learn, **settings)
    assert (tmp_path / "o" / "index.html").exists()
