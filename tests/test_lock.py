"""requirements.lock has the versions of constraints.txt, each with the SHA-256 of its file."""

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
LINE = re.compile(r"(?P<name>[\w.-]+)==(?P<version>[\w.+!]+) --hash=sha256:[0-9a-f]{64}")


def lines(name):
    file = ROOT / name
    if not file.exists():
        pytest.skip(f"{name} is in the checkout only")
    text = file.read_text()
    return [line for line in text.splitlines() if not line.startswith("#")]


def locked():
    found = [LINE.fullmatch(line) for line in lines("requirements.lock")]
    assert all(found)
    return {canonicalize_name(each["name"]): Version(each["version"]).public for each in found}


def test_the_lock_has_the_versions_of_the_constraints():
    pinned = (line.split("==") for line in lines("constraints.txt"))
    assert locked() == {canonicalize_name(name): version for name, version in pinned}


@pytest.mark.skipif(
    (sys.platform, platform.machine(), sys.version_info[:2]) != ("linux", "x86_64", (3, 11)),
    reason="the lock is for Python 3.11 on Linux, x86_64; others need other packages",
)
def test_the_lock_has_all_that_is_needed():
    missing, seen = set(), set()
    open_ = [Requirement(name) for name in ("augnet[dev,docs]", "hatchling", "editables")]
    while open_:
        needed = open_.pop()
        name = canonicalize_name(needed.name)
        for extra in {"", *needed.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                found = map(Requirement, requires(name) or ())
            except PackageNotFoundError:  # of an extra that is not installed here
                found = ()
            open_ += [
                each for each in found if not each.marker or each.marker.evaluate({"extra": extra})
            ]
        if name not in {"augnet", *locked()}:
            missing.add(name)
    assert not missing
