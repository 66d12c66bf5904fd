"""What was kept of the benchmarks says how it was made, and what it shows."""

import json
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "results"


def test_kept_audits_say_what_they_found():
    kept = json.loads((RESULTS / "audit.json").read_text(encoding="utf-8"))
    assert kept["command"] == "python benchmarks/audit.py"
    assert len({run["commit"] for run in kept["runs"]}) == 1
    assert len({run["task"] for run in kept["runs"]}) == 5
    for run in kept["runs"]:
        assert run["right"] == (run["finding"] == run["expected"])
        assert run["passes"] <= 3
    passes = kept["passes"]
    assert (passes["images"], passes["transforms"]) == (2000, 20)
    assert passes["passes"] <= 3 * passes["strengths_times_samples"]


def test_kept_operations_are_at_least_twenty():
    kept = json.loads((RESULTS / "operations.json").read_text(encoding="utf-8"))
    works = [name for name, row in kept["operations"].items() if row["works"]]
    assert len(works) >= 20
    assert {name.split(".")[0] for name in works} == {"kornia", "torchvision"}
