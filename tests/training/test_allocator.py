"""Memory is kept between steps."""

import os
import subprocess
import sys

import pytest

FAULTS = """
import resource, torch
from augnet.training import keep_freed_memory
told = {keep}
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        activations = [torch.ones(2**20) for _ in range(8)]  # of a forward pass
        del activations
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
faults()
print(told, faults())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is told, and nobody else")
def test_tensors_of_one_size_are_mapped_once():
    # Whether glibc maps tensors of this size anew is up to where the heap happens to begin, unless
    # it is told so; what the process says later counts more.
    mapping = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}

    def run(keep: str) -> list[str]:
        code = FAULTS.format(keep=keep)
        return subprocess.run(
            [sys.executable, "-c", code], env=mapping, capture_output=True, text=True, check=True
        ).stdout.split()

    told, kept = run("keep_freed_memory()")
    if told == "False":
        pytest.skip("this C library cannot be told")
    _, given_back = run("None")
    assert int(kept) < 50 < int(given_back)
