"""What the tests share: real data, where it is at hand, and made-up data where it is not needed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from browsing import start_browser

from augnet.paper.datasets import cifar
from augnet.training import threads

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it, and so the width of all tables


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start with the file that takes longest, so that no process waits for it at the end."""
    longest = Path(__file__).parent / "test_examples.py"
    items.sort(key=lambda item: item.path != longest)


@pytest.fixture(autouse=True)
def same_seed() -> None:
    """Let no test depend on which tests the same process ran before."""
    torch.manual_seed(0)


@pytest.fixture(autouse=True)
def idle_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the number of threads, and so the last digits, not depend on what else is running."""
    monkeypatch.setattr(threads, "_running", lambda: 1)


@pytest.fixture
def shared_data() -> Path:
    """Give the folder of real data sets beside the checkout."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real data: {folder} is not there")
    return folder


@pytest.fixture
def made_up_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the files of CIFAR-10 hold 100 images of noise."""
    pixels = np.random.default_rng(0).integers(0, 256, (100, 3, 32, 32), dtype=np.uint8)
    monkeypatch.setattr(cifar, "find", lambda root: root)
    monkeypatch.setattr(cifar, "read", lambda folder, files: (pixels, torch.arange(100) % 10))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Give a browser without a window."""
    window = start_browser(tmp_path_factory.mktemp("profile"))
    yield window
    window.quit()
