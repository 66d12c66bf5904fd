"""The release: one version everywhere, and packages that an index would accept."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import augnet

ROOT = Path(__file__).parents[1]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_all_files_name_the_same_version():
    versions = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", text("CHANGELOG.md"), re.MULTILINE)
    assert versions[0] == ("Unreleased", "")
    version, date = versions[1]
    assert version == augnet.__version__
    assert f"\nversion: {version}\ndate-released: {date}\n" in text("CITATION.cff")
    assert f"version = {{{version}}}" in text("docs/cite.md")


def test_the_changelog_has_one_section_of_a_kind_per_version():
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for section in text("CHANGELOG.md").split("\n## ")[1:]:
        found = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert len(found) == len(set(found))
        assert set(found) <= kinds


def test_the_packages_pass_the_checks_of_an_index(tmp_path):
    for module in ("build", "hatchling", "twine"):
        pytest.importorskip(module, reason="the extra dev has it")
    build = ["build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    for command in (build, ["twine", "check", "--strict", f"{tmp_path}/*"]):
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    (sdist,) = tmp_path.glob("*.tar.gz")
    assert wheel.name == f"augnet-{augnet.__version__}-py3-none-any.whl"
    package = {path.relative_to(ROOT).as_posix() for path in (ROOT / "augnet").rglob("*.*")}
    shipped = {each for each in package if "__pycache__" not in each}
    assert shipped <= set(zipfile.ZipFile(wheel).namelist())
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md"} <= names
    assert shipped <= names
