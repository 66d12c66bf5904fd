"""Several seeds become one finding, can be left and taken up again, and keep to their time."""

import pytest
import torch

from augnet.learn import Learning, learn
from augnet.learn.ranges import FEWEST, LEAST, ROUNDS, THRIFT, Clock
from augnet.learn.result import Invariance
from augnet.learn.seeds import joined
from augnet.transforms import GaussianNoise, Rotate, SignFlip


def turn(verdict, strength=0.0, low=0.0, high=0.0):
    return Invariance(Rotate(90.0), verdict, strength, (low, high))


def test_most_seeds_decide_and_the_careful_way_wins_ties():
    some = [turn("within", 20, 18, 22), turn("none"), turn("within", 30, 25, 33)]
    (row,) = joined([[each] for each in some])
    assert (row.verdict, row.strength, row.interval, row.agree) == ("within", 25, (18, 33), (2, 3))
    assert str(row) == "rotate: within ±25 degrees (18 to 33), 2 of 3 seeds"
    (tie,) = joined([[each] for each in some[:2]])
    assert (tie.verdict, tie.strength, tie.agree) == ("none", 0.0, (1, 2))
    far = turn("at least", 90, 80, 90)
    (row,) = joined([[far], [far], [some[0]]])
    assert (row.verdict, row.strength, row.interval, row.agree) == (
        "at least",
        90,
        (18, 90),
        (3, 3),
    )
    (row,) = joined([[far], [some[0]]])
    assert (row.verdict, row.strength) == ("within", 55)
    (coin, _) = joined([[Invariance(SignFlip(), "at least", 0.5, (0.5, 0.5)), far]] * 2)
    assert (coin.strength, coin.agree) == (0.5, (2, 2))


def task(size=80):
    x = torch.randn(size, 3, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0].abs() > 0.7).long()


WORDS = [SignFlip(), GaussianNoise()]


def test_seeds_that_are_left_go_on_to_the_same_end():
    def begun():
        return Learning(*task(), WORDS, budget=4, seeds=3)

    whole = begun()
    rows = list(whole)
    assert [row["seed"] for row in rows] == [0] * 4 + [1] * 4 + [2] * 4 + [0] * (len(rows) - 12)
    done = [row["done"] for row in rows]
    assert done == sorted(done)
    assert done[-1] == 1
    assert [row["epoch"] for row in rows[10:]] == [3, 4, *range(5, 5 + len(rows) - 12)]
    assert [row.agree[1] for row in whole.found.invariances] == [3, 3]
    x = task()[0]
    answer = whole.found.net(x, torch.Generator().manual_seed(0))
    for cut in (4, 6, 13):  # between seeds, within one, and in the net
        first, second = begun(), begun()
        for number, _ in enumerate(first, start=1):
            if number == cut:
                break
        second.load_state_dict(first.state_dict())
        assert len(list(second)) == len(rows) - cut
        assert second.found.invariances == whole.found.invariances
        assert second.history == whole.history
        assert second.found.net(x, torch.Generator().manual_seed(0)).equal(answer)


def test_one_seed_is_what_it_was_and_others_differ():
    one, same = learn(*task(), WORDS, budget=4), learn(*task(), WORDS, budget=4, seeds=1)
    assert one.history == same.history
    assert "seed" not in one.history[0]
    several = Learning(*task(), WORDS, budget=4, seeds=2)
    rows = list(several)
    losses = [[row["loss"] for row in rows if row["seed"] == seed][:4] for seed in (0, 1)]
    assert losses[0] == [row["loss"] for row in one.history[:4]]
    assert losses[0] != losses[1]


def test_layers_select_from_what_seeds_agree_on():
    found = learn(*task(), layers=[WORDS], budget=2, seeds=2)
    assert len(found.invariances) == 1
    assert found.invariances[0].agree[1] == 2


def test_time_is_left_for_measuring():
    profile = Learning(*task(), WORDS).profile
    work = profile.meter.work
    assert 5 < work < 60
    profile.done, profile.pace = 20, 0.1
    profile._plan(seconds=2.0 + (1 + ROUNDS + work) * 0.5 + 30, reading=0.5)
    assert abs(profile.steps - (20 + 300)) <= 1
    assert (profile.rounds, profile.thrift) == (ROUNDS, 1.0)
    profile._plan(seconds=1.0, reading=5.0)
    assert (profile.steps, profile.rounds, profile.thrift) == (LEAST, FEWEST, THRIFT)
    profile._plan(seconds=7.0 + 2.25 * work * 5.0, reading=5.0)
    assert profile.thrift == pytest.approx(0.75)
    whole, part = (profile.meter.verdicts(WORDS, [0.5, 0.5], thrift) for thrift in (1.0, THRIFT))
    assert [row.transform for row in whole] == [row.transform for row in part]


def test_the_net_is_trained_for_as_long_as_there_is(monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    clock = Clock(done=0)
    now += 20.0  # ten steps of two seconds
    assert clock.steps(10, planned=200, seconds=240.0) == 100
    assert clock.steps(10, planned=50, seconds=240.0) == 50
    assert clock.steps(10, planned=200, seconds=1.0) == 20
    assert clock.steps(11, planned=200, seconds=1.0) == 200  # planned once
    assert clock.steps(10, planned=200, seconds=None) == 200
    assert Clock(done=3).steps(10, planned=200, seconds=1.0) == 200  # taken up again: as it was


def test_what_measuring_took_is_missing_to_the_net(monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    learning = Learning(*task(), WORDS, budget=60.0)
    learning.spent = 30.0
    now += 10.0  # since the last row
    assert learning._left() == 20.0
    now += 40.0
    assert learning._left() == 6.0
    assert Learning(*task(), WORDS, budget=5)._left() is None


def test_a_time_is_kept_by_all_of_it():
    learning = Learning(*task(), WORDS, budget=3.0, seeds=2)
    list(learning)
    assert learning.found.net is not None
    assert learning.profile.planned
    assert 0 < learning.spent < 30  # of a machine that may be busy
