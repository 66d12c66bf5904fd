"""Write a test file that fails if a later model is less invariant than the audited one."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from augnet import files

TEMPLATE = '''\
"""Tests of invariance, written by `augnet audit`: a later model must hold as far as this one did.

The model and its held-out data may be given by AUGNET_MODEL and AUGNET_DATA.
"""

import json
import os

import pytest

from augnet.audit.recheck import Recheck

MODEL = os.environ.get("AUGNET_MODEL", {model!r})
DATA = os.environ.get("AUGNET_DATA", {data!r})
OPTIONS = json.loads("""{options}""")
CASES = json.loads("""{cases}""")


@pytest.fixture(scope="module")
def recheck():
    """Load the model and predict its held-out samples once."""
    return Recheck(MODEL, DATA, **OPTIONS)


def test_score(recheck):
    """The score without any transform is that of before, less {margin:.3g}."""
    assert recheck.score >= {score:.6g}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["transform"]["name"])
def test_invariance(recheck, case):
    """Labels allow this strength: the error that it adds is no larger than it was."""
    added = recheck.added(case["transform"], case["fraction"])
    assert added <= case["most"], f"adds {{added:.3f}} to the error at {{case['strength']}}"
'''


def write_test(
    values: Mapping[str, Any],
    model: str,
    data: str | None,
    path: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a test file, and write it to a path; `values` are those of an audit.

    A later model may add, at the strength that labels allow, as much error as this one did, and
    what samples can resolve on top. Transforms that labels do not allow, and those that are not
    registered, are not tested.
    """
    kept = [
        row
        for row in values["transforms"]
        if row["labels"]["status"] in ("bounded", "reached_limit") and row["labels"]["transform"]
    ]
    tolerance = values["tolerance"]
    text = TEMPLATE.format(
        model=model,
        data=data or "held-out.npz",
        options=_literal(options or {}),
        cases=_literal([_case(row, tolerance) for row in kept]),
        margin=tolerance,
        score=values["score"] - tolerance,
    )
    if path is not None:
        files.write(Path(path), text)
    return text


def _case(row: Mapping[str, Any], tolerance: float) -> dict[str, Any]:
    fraction = row["labels_fraction"]
    points = [point for point in row["curve"] if point["fraction"]]
    distances = [abs(abs(point["fraction"]) - fraction) for point in points]
    nearest = [
        point
        for point, distance in zip(points, distances, strict=True)
        if distance < min(distances) + 1e-9
    ]  # one in each direction
    added = sum(point["added"] for point in nearest) / len(nearest)
    half = max(point["interval"][1] - point["added"] for point in nearest)
    return {
        "transform": row["labels"]["transform"],
        "fraction": round(fraction, 6),
        "strength": f"{row['labels']['strength']:.3g} {row['unit']}",
        "most": round(max(0.0, added) + max(tolerance, half), 6),
    }


def _literal(value: Any) -> str:
    """Return JSON that can stand between triple quotes."""
    text = json.dumps(value, indent=1, allow_nan=False)
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
