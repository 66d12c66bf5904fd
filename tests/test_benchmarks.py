"""All scripts of benchmarks/ can be imported: a script that nobody ran for weeks still starts."""

import importlib
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("name", [script.stem for script in SCRIPTS])
def test_a_benchmark_can_be_imported(name):
    assert importlib.import_module(name).__doc__
