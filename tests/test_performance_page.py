"""docs/performance.md is made from results/, not written."""

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow  # kornia and braindecode take seconds to import
def test_the_page_is_that_of_the_results():
    performance_page = pytest.importorskip("performance_page")
    results = (
        json.loads((ROOT / "results" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("speed", "inference", "value")
    )
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    assert performance_page.page(*results) == page
