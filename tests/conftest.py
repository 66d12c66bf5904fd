"""What the tests share: real data, where it is at hand."""

from pathlib import Path

import pytest


@pytest.fixture
def shared_data() -> Path:
    """Give the folder of real data sets beside the checkout."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there")
    return folder
