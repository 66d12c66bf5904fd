"""Operations of torchvision become transforms, in an environment of their own.

AUGNET_TORCHVISION_PYTHON names its interpreter, as for tests/export/test_other_environments.py.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json
import operations

made = operations.torchvision_operations()
print(json.dumps({name: operations.run(make) for name, make in made.items()}))
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_operations_of_torchvision_work():
    python = os.environ.get("AUGNET_TORCHVISION_PYTHON")
    if not python:
        pytest.skip("AUGNET_TORCHVISION_PYTHON names no environment")
    path = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", SCRIPT], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 10
    assert {name: row for name, row in found.items() if not row["works"]} == {}
