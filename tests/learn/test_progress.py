"""Lines of progress come in time, and say how long learning will still take."""

import threading

import pytest

from augnet.learn import progress
from augnet.learn.progress import Reporter, describe


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def row(done, **more):
    return {"phase": "reference", "loss": 0.25, "transforms": [], "done": done} | more


def test_the_time_left_follows_from_the_time_needed(clock):
    lines = []
    reporter = Reporter(lines.append)
    reporter.update(row(0.1), "begin")
    assert lines == [" 10% begin"]  # nothing is known yet
    clock[0] += 20
    reporter.update(row(0.3), "more")  # 20 seconds for a fifth: 70 seconds for the rest
    assert len(lines) == 1
    assert reporter.line() == " 30% more, about 70 s left"
    clock[0] += 60
    assert reporter.line() == " 30% more, about 10 s left"
    clock[0] += 60
    assert reporter.line() == " 30% more"  # it takes longer than it seemed
    reporter.update(row(1.0), "end")
    assert lines[1:] == ["100% end"]


def test_what_was_done_before_a_resumed_run_needed_no_time(clock):
    reporter = Reporter(lambda line: None)
    reporter.update(row(0.8), "resumed")
    clock[0] += 10
    reporter.update(row(0.9), "more")
    assert reporter.line() == " 90% more, about 10 s left"


def test_lines_come_while_no_row_does():
    lines, enough = [], threading.Event()

    def write(line):
        lines.append(line)
        if len(lines) == 3:
            enough.set()

    with Reporter(write, interval=0.01) as reporter:
        reporter.update(row(0.5), "waiting")
        assert enough.wait(60)
    count = len(lines)
    assert set(lines) == {" 50% waiting"}
    assert not reporter._thread.is_alive()
    assert len(lines) == count


def test_a_row_is_a_loss_or_an_answer():
    assert describe(row(0.1)) == "reference: loss 0.250"
    answer = {"name": "sign_flip", "strength": 0.0, "status": "not_invariant"}
    found = describe(row(0.3, phase="transforms", transforms=[answer], seed=2))
    assert found == "transforms, seed 2: sign_flip not invariant"
    layers = [{"name": "rotate", "strength": 3.0, "weight": 0.5}]
    assert describe(row(0.7, phase="layers", transforms=layers)) == "layers: loss 0.250"
