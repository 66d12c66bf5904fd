"""Learning can be watched, left and resumed to the same end, with several seeds and in its time."""

import subprocess
import sys
import time

import pytest
import torch
from learn_tasks import SPECS, Clock, few, generator, levels
from torch import nn

from augnet.learn import LearnConfig, Learner, learn
from augnet.learn.decide import NO_TIME
from augnet.learn.inputs import prepare_trunk
from augnet.transforms import GaussianNoise, SignFlip

BOTH = [SignFlip(), GaussianNoise()]


def begin(layers=None, seeds=1):
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
    config = LearnConfig(lr=2e-2, batch_size=24, measurements=8, final_repeats=1)
    return Learner(
        *levels(48), SPECS, config=config, layers=layers, trunk=trunk, budget=30, seed=3,
        seeds=seeds,
    )  # fmt: skip


def leave(learner, after):
    """Run for some rows."""
    for number, _ in enumerate(learner, start=1):
        if number == after:
            return


@pytest.mark.parametrize("layers", [None, [["amplitude_scale", "sign_flip"]]])
def test_what_is_left_is_resumed_exactly(layers, tmp_path):
    whole = begin(layers)
    rows = list(whole)
    phases = [row["phase"] for row in rows]
    first_answer = phases.index("transforms") + 1
    assert phases[first_answer] == "transforms"
    for after in (3, first_answer - 1, first_answer, first_answer + 1, len(rows) - 2):
        first = begin(layers)
        leave(first, after)
        torch.save(first.state_dict(), tmp_path / "state.pt")
        second = begin(layers)
        second.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
        assert len(list(second)) == len(rows) - after
        assert second.history == rows
        assert second.result.invariances == whole.result.invariances
        assert str(second.result) == str(whole.result)
        assert second.result.steps == whole.result.steps
        x = levels(8, seed=1)[0]
        assert second.result.net(x, generator()).equal(whole.result.net(x, generator()))


def test_it_is_known_what_is_measured_next():
    learner = begin()
    said = [(row["phase"], learner.measuring) for row in learner]
    names = [each.name for each in learner.transforms]
    *before, last = [text for phase, text in said if phase == "reference"]
    assert set(before) == {""}
    assert last == names[0]
    assert [text for phase, text in said if phase == "transforms"] == [*names[1:], ""]
    assert {text for phase, text in said if phase in ("compared", "net")} == {""}


def test_there_is_no_result_before_the_end():
    learner = Learner(*levels(48), SPECS, budget=2)
    with pytest.raises(RuntimeError, match="available after all rows"):
        _ = learner.result
    leave(learner, 2)
    with pytest.raises(RuntimeError, match="available after all rows"):
        _ = learner.result


def test_rows_count_epochs_and_the_work_that_is_done():
    rows = list(begin())
    assert [row["epoch"] for row in rows] == list(range(1, len(rows) + 1))
    done = [row["done"] for row in rows]
    assert done == sorted(done)
    assert done[-1] == 1
    phases = list(dict.fromkeys(row["phase"] for row in rows))
    assert phases == ["reference", "transforms", "compared", "net"]


def test_threads_are_used_in_all_phases():
    other, seen = torch.get_num_threads() + 1, set()

    class Trunk(nn.Linear):
        def forward(self, x):
            seen.add(torch.get_num_threads())
            return super().forward(x)

    learner = Learner(*few(), BOTH, trunk=Trunk(3, 2), budget=2, threads=other)
    seen.clear()
    list(learner)
    assert seen == {other}


def test_rows_of_one_group_are_fitted_or_held_out():
    x, y = levels(160)
    groups = torch.arange(160) // 8
    config = LearnConfig(budget=2, seeds=3)
    learner = Learner(x, y, "sign_flip", groups=groups, config=config)
    for each in (learner, learner._with_seed(1), learner._with_seed(2)):
        reference = each.search.reference
        fitted = {group for rows in reference._batches() for group in groups[rows].tolist()}
        measured = set(groups[reference.held_out].tolist())
        assert fitted
        assert measured
        assert not fitted & measured


# Seeds


def test_seeds_that_are_left_resume_to_the_same_end():
    whole = begin(seeds=3)
    rows = list(whole)
    done = [row["done"] for row in rows]
    assert done == sorted(done)
    assert done[-1] == 1
    found = [row["seed"] for row in rows]
    assert list(dict.fromkeys(found)) == [3, 4, 5]
    assert found[-1] == 3  # the net
    assert [row.seeds_agreeing[1] for row in whole.result.invariances] == [3, 3]
    for seed in (3, 4, 5):
        phases = [row["phase"] for row in rows if row["seed"] == seed]
        assert phases.count("transforms") == 2
    x = levels(8)[0]
    prediction = whole.result.net(x, generator())
    first_seed = found.index(4)
    net = [row["phase"] for row in rows].index("net")
    for cut in (first_seed, first_seed + 3, net, net + 2):
        first, second = begin(seeds=3), begin(seeds=3)
        leave(first, cut)
        second.load_state_dict(first.state_dict())
        assert len(list(second)) == len(rows) - cut
        assert second.result.invariances == whole.result.invariances
        assert second.history == whole.history
        assert second.result.steps == whole.result.steps
        assert second.result.net(x, generator()).equal(prediction)


def test_one_seed_is_what_it_was_and_others_differ():
    one, same = learn(*few(), BOTH, budget=4), learn(*few(), BOTH, budget=4, seeds=1)
    assert one.history == same.history
    assert "seed" not in one.history[0]
    several = Learner(*few(), BOTH, budget=4, seeds=2)
    rows = list(several)
    losses = [[row["loss"] for row in rows if row["seed"] == seed][:4] for seed in (0, 1)]
    assert losses[0] == [row["loss"] for row in one.history[:4]]
    assert losses[0] != losses[1]


def test_the_steps_of_all_seeds_are_counted():
    one, two = (learn(*few(), BOTH, budget=4, seeds=seeds) for seeds in (1, 2))
    assert two.steps > one.steps


def test_layers_select_from_what_seeds_agree_on():
    result = learn(*few(), layers=[BOTH], budget=2, seeds=2)
    assert len(result.invariances) == 1
    assert result.invariances[0].seeds_agreeing[1] == 2


# Seconds


def test_the_time_that_was_spent_is_no_time_of_the_net(monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    learner = Learner(*few(), BOTH, budget=60.0)
    learner.spent = 30.0
    now += 10.0  # since the last row
    assert learner._seconds_left() == 20.0
    left = 60 * learner.config.search_fraction - 40
    assert learner._seconds_of_search(0) == pytest.approx(left)
    now += 40.0
    assert 0 < learner._seconds_left() <= 6.0
    assert learner._seconds_of_search(0) <= 0
    other = Learner(*few(), BOTH, budget=5)
    assert other._seconds_left() is other._seconds_of_search(0) is None


def test_seeds_share_the_time(monkeypatch):
    clock = Clock(monkeypatch, evaluation=0.02)
    config = LearnConfig(reference_steps=60, branch_steps=0.5)
    learner = Learner(*levels(), SPECS, config=config, budget=600.0, seeds=2)
    list(learner)
    assert clock.now - 100 <= 1.1 * 600 + 1
    assert not learner.result.warnings
    assert learner.spent == pytest.approx(clock.now - 100)


@pytest.mark.parametrize("after", [2, 60, 104])
def test_a_time_holds_for_all_parts_of_what_is_left_and_resumed(monkeypatch, after):
    clock = Clock(monkeypatch, evaluation=0.02)
    config = LearnConfig(reference_steps=100, branch_steps=0.5)
    first, second = (
        Learner(*levels(), SPECS, config=config, budget=400.0, trunk="mlp") for _ in range(2)
    )
    leave(first, after)
    spent = clock.now - 100
    second.load_state_dict(first.state_dict())
    clock.now += 5000.0  # until it is resumed
    begun = clock.now
    list(second)
    assert spent + clock.now - begun <= 1.1 * 400 + 1
    assert second.result.net is not None


def test_a_joined_row_without_time_is_a_warning(monkeypatch):
    Clock(monkeypatch)
    config = LearnConfig(reference_steps=60, branch_steps=2.0)
    learner = Learner(*levels(), SPECS, config=config, budget=600.0, seeds=2)
    list(learner)
    late = [row.transform.name for row in learner.result.invariances if row.reason == NO_TIME]
    assert late
    assert learner.result.warnings == (f"the budget was too short to measure {', '.join(late)}",)


@pytest.mark.slow
def test_seconds_hold_beside_two_busy_processes():
    x = torch.rand(2000, 1, 20, 20, generator=generator())
    y = torch.arange(2000) % 2
    x[:, 0, 5:15, 5:15] += y[:, None, None]
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        begun = time.monotonic()
        result = learn(x, y, budget="20s")
        passed = time.monotonic() - begun
    finally:
        for each in others:
            each.kill()
            each.wait()
    assert passed <= 22 + 1
    assert len(result.invariances) >= 15
    assert all(row.reason for row in result.invariances if row.status == "unclear")


def test_the_net_starts_from_the_trunk_that_is_built_without_a_search():
    x, y = torch.rand(40, 1, 8, 8, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 2
    learner = Learner(x, y, ["brightness"], seed=3)
    torch.manual_seed(3)
    expected = prepare_trunk(learner.config.net_trunk, learner.data)
    pairs = zip(learner.initial.parameters(), expected.parameters(), strict=True)
    assert all(mine.equal(theirs) for mine, theirs in pairs)
