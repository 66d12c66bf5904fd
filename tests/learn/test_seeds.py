"""Several seeds become one result, can be left and resumed, and keep to their time."""

import pytest
import torch

from augnet.learn import LearnConfig, Learner, learn
from augnet.learn.result import Invariance
from augnet.learn.seeds import join_seeds
from augnet.transforms import GaussianNoise, Rotate, SignFlip


def turn(status, strength=0.0, low=0.0, high=0.0):
    return Invariance(Rotate(90.0), status, strength, (low, high))


def test_most_seeds_decide_and_ties_are_decided_with_caution():
    some = [turn("bounded", 20, 18, 22), turn("not_invariant"), turn("bounded", 30, 25, 33)]
    (row,) = join_seeds([[each] for each in some])
    assert (row.status, row.strength, row.interval, row.seeds_agreeing) == (
        "bounded",
        25,
        (18, 33),
        (2, 3),
    )
    assert str(row) == "rotate: bounded, ±25 degrees (18 to 33), 2 of 3 seeds"
    (tie,) = join_seeds([[each] for each in some[:2]])
    assert (tie.status, tie.strength, tie.seeds_agreeing) == ("not_invariant", 0.0, (1, 2))
    far = turn("reached_limit", 90, 80, 90)
    (row,) = join_seeds([[far], [far], [some[0]]])
    assert (row.status, row.strength, row.interval, row.seeds_agreeing) == (
        "reached_limit",
        90,
        (18, 90),
        (3, 3),
    )
    (row,) = join_seeds([[far], [some[0]]])
    assert (row.status, row.strength) == ("bounded", 55)
    (flip, _) = join_seeds([[Invariance(SignFlip(), "reached_limit", 0.5, (0.5, 0.5)), far]] * 2)
    assert (flip.strength, flip.seeds_agreeing) == (0.5, (2, 2))


def task(size=80):
    x = torch.randn(size, 3, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0].abs() > 0.7).long()


TRANSFORMS = [SignFlip(), GaussianNoise()]


def test_seeds_that_are_left_resume_to_the_same_end():
    def new():
        return Learner(*task(), TRANSFORMS, budget=4, seeds=3)

    whole = new()
    rows = list(whole)
    assert [row["seed"] for row in rows] == [0] * 4 + [1] * 4 + [2] * 4 + [0] * (len(rows) - 12)
    done = [row["done"] for row in rows]
    assert done == sorted(done)
    assert done[-1] == 1
    assert [row["epoch"] for row in rows[10:]] == [3, 4, *range(5, 5 + len(rows) - 12)]
    assert [row.seeds_agreeing[1] for row in whole.result.invariances] == [3, 3]
    x = task()[0]
    prediction = whole.result.net(x, torch.Generator().manual_seed(0))
    for cut in (4, 6, 13):  # between seeds, within one, and in the net
        first, second = new(), new()
        for number, _ in enumerate(first, start=1):
            if number == cut:
                break
        second.load_state_dict(first.state_dict())
        assert len(list(second)) == len(rows) - cut
        assert second.result.invariances == whole.result.invariances
        assert second.history == whole.history
        assert second.result.net(x, torch.Generator().manual_seed(0)).equal(prediction)


def test_one_seed_is_what_it_was_and_others_differ():
    one, same = learn(*task(), TRANSFORMS, budget=4), learn(*task(), TRANSFORMS, budget=4, seeds=1)
    assert one.history == same.history
    assert "seed" not in one.history[0]
    several = Learner(*task(), TRANSFORMS, budget=4, seeds=2)
    rows = list(several)
    losses = [[row["loss"] for row in rows if row["seed"] == seed][:4] for seed in (0, 1)]
    assert losses[0] == [row["loss"] for row in one.history[:4]]
    assert losses[0] != losses[1]


def test_layers_select_from_what_seeds_agree_on():
    result = learn(*task(), layers=[TRANSFORMS], budget=2, seeds=2)
    assert len(result.invariances) == 1
    assert result.invariances[0].seeds_agreeing[1] == 2


def test_time_is_left_for_measuring():
    search, config = Learner(*task(), TRANSFORMS).search, LearnConfig()
    cost = search.evaluator.final_cost
    assert 5 < cost < 60
    search.loop.pace = 0.1
    search.seconds = 2.0 + (1 + config.rounds + cost) * 0.5 + 30
    search._plan(done=20, measuring=0.5)
    assert abs(search.steps - (20 + 300)) <= 1
    assert (search.rounds, search.effort) == (config.rounds, 1.0)
    search.seconds = 1.0
    search._plan(done=20, measuring=5.0)
    least = (config.min_steps, config.min_rounds, config.min_effort)
    assert (search.steps, search.rounds, search.effort) == least
    search.seconds = 7.0 + 2.25 * cost * 5.0
    search._plan(done=20, measuring=5.0)
    assert search.effort == pytest.approx(0.75)
    efforts = (1.0, config.min_effort)
    whole, less = (search.evaluator.evaluate(TRANSFORMS, [0.5, 0.5], each) for each in efforts)
    assert [row.transform for row in whole] == [row.transform for row in less]


def test_steps_of_the_search_are_planned_once_their_time_is_known():
    search = Learner(*task(), TRANSFORMS).search
    search.seconds = 26.0
    search._schedule(0.0)
    assert search.steps == 900
    search.loop.pace = 0.01
    search._schedule(0.0)
    assert search.steps == pytest.approx(2000, abs=1)
    search.loop.pace = 0.02
    search._schedule(0.0)
    assert search.steps == pytest.approx(2000, abs=1)


def test_the_net_is_trained_for_as_long_as_there_is(monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)

    def training(seconds, planned=200):
        learner = Learner(*task(), TRANSFORMS, budget=1)
        list(learner.search.fit())
        learner.invariances = learner.search.evaluate()
        loop = (built := learner._build()).loop
        step, loop.steps = loop.step, planned

        def slow(rows):
            nonlocal now
            now += 2.0
            return step(rows)

        loop.step = slow
        return built, [row["done"] for row in built.fit(1, seconds)]

    for seconds, planned, done in [(240.0, 200, 100), (240.0, 50, 50), (1.0, 200, 20)]:
        built, _ = training(seconds, planned)  # ten steps of two seconds are timed
        assert built.loop.done == done
    built, rows = training(None)
    assert built.loop.done == 200
    assert rows[-1] == 1
    again = training(1.0)[0]
    again.loop.load_state_dict(built.loop.state_dict() | {"done": 150})
    list(again.fit(1, 1.0))
    assert again.loop.done == 200  # resumed: as it was planned


def test_the_time_of_measurements_is_subtracted_from_that_of_the_net(monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    learner = Learner(*task(), TRANSFORMS, budget=60.0)
    learner.spent = 30.0
    now += 10.0  # since the last row
    assert learner._seconds_left() == 20.0
    now += 40.0
    assert learner._seconds_left() == 6.0
    assert Learner(*task(), TRANSFORMS, budget=5)._seconds_left() is None


def test_a_time_is_kept_by_all_of_it():
    learner = Learner(*task(), TRANSFORMS, budget=3.0, seeds=2)
    list(learner)
    assert learner.result.net is not None
    assert learner.search.timed
    assert 0 < learner.spent < 30  # of a machine that may be busy
