"""Threads are as many as free cores, and torch has as many as before afterwards."""

import os

import pytest
import torch

from augnet.training import choose_threads, threads, use_threads

running = threads._running  # before the tests make the machine idle


@pytest.fixture(autouse=True)
def as_before():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def machine(monkeypatch):
    """Return a function that sets the cores, the threads of other processes, and those of torch."""

    def make(cores, elsewhere, torch_threads=None, mine=None):
        monkeypatch.setattr(os, "cpu_count", lambda: cores)
        monkeypatch.setattr(threads, "available_cores", lambda: float(mine or cores))
        monkeypatch.setattr(threads, "running_elsewhere", lambda: float(elsewhere))
        monkeypatch.setattr(torch, "get_num_threads", lambda: torch_threads or cores)

    return make


@pytest.mark.parametrize(
    ("cores", "elsewhere", "more", "expected"),
    [
        (8, 0, {}, 8),
        (8, 3, {}, 5),
        (2, 1, {}, 1),
        (2, 2, {}, 1),
        (2, 50, {}, 1),
        (8, 0, {"torch_threads": 2}, 2),  # OMP_NUM_THREADS=2
        (8, 7, {"torch_threads": 4}, 1),
        (64, 0, {"mine": 2}, 2),  # a container of two cores
        (64, 32, {"mine": 4}, 2),  # and a busy host
        (64, 0, {"mine": 0.5}, 1),
    ],
)
def test_there_are_as_many_threads_as_free_cores(machine, cores, elsewhere, more, expected):
    machine(cores, elsewhere, **more)
    assert choose_threads() == expected
    assert choose_threads(3) == 3


def test_one_thread_needs_no_look_at_the_machine(monkeypatch):
    monkeypatch.setattr(threads, "running_elsewhere", None)
    torch.set_num_threads(1)
    assert choose_threads() == 1


def test_blocks_nest_and_restore():
    torch.set_num_threads(2)
    with use_threads(1):
        assert torch.get_num_threads() == 1
        with use_threads(2):
            assert torch.get_num_threads() == 2
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with pytest.raises(KeyError), use_threads(1):
        raise KeyError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu.max": "max 100000"}, float("inf")),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}, 2),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, float("inf")),
        ({"cpu.max": ""}, float("inf")),
        ({}, float("inf")),
    ],
)
def test_the_quota_of_a_container_is_read(tmp_path, monkeypatch, files, expected):
    monkeypatch.setattr(threads, "CGROUP", tmp_path)
    (tmp_path / "cpu").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert threads._quota() == expected
    assert 0 < threads.available_cores() <= min(os.cpu_count(), expected)


@pytest.mark.parametrize(
    ("text", "expected"), [("0.1 0.2 0.3 4/95 77\n", 3), ("0 0 0 0/0 0", 0), ("", 1.5)]
)
def test_threads_of_others_are_counted_without_the_one_that_counts(
    tmp_path, monkeypatch, text, expected
):
    monkeypatch.setattr(threads, "_running", running)
    monkeypatch.setattr(threads, "LOAD", tmp_path / "loadavg")
    monkeypatch.setattr(threads, "PAUSE", 0.0)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 1.0, 0.5))
    (tmp_path / "loadavg").write_text(text)
    assert threads.running_elsewhere() == expected
