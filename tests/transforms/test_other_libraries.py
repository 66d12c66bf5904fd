"""Operations of torchvision become transforms, in an environment of their own.

It is made once, or AUGNET_TORCHVISION_PYTHON names its interpreter.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
from other_environments import interpreter

ROOT = Path(__file__).parents[2]
SCRIPT = """
import json
import operations

made = operations.torchvision_operations()
print(json.dumps({name: operations.run(make) for name, make in made.items()}))
"""


@pytest.mark.slow
@pytest.mark.timeout(3000)
def test_operations_of_torchvision_work():
    python = interpreter("torchvision")
    path = os.pathsep.join((str(ROOT), str(ROOT / "benchmarks")))
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [python, "-W", "ignore", "-c", SCRIPT], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 10
    assert {name: row for name, row in found.items() if not row["works"]} == {}
