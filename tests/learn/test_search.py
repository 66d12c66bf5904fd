"""The answer for a transform does not depend on others, and no time is said to be no time."""

import random
import sys
import time
from dataclasses import replace

import pytest
import torch
from learn_tasks import SPECS, Clock, generator, levels
from torch import nn

from augnet import learn
from augnet.learn import LearnConfig, Learner
from augnet.learn.decide import NO_TIME
from augnet.learn.reference import Control
from augnet.learn.search import from_plain, measure, to_plain


def trunk():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 2))


def corners(size=96):
    """Return bright bars on the left or on the right: a horizontal flip exchanges the classes."""
    y = torch.arange(size) % 2
    x = 0.05 * torch.rand(size, 1, 8, 8, generator=generator())
    x[torch.arange(size), 0, 2:6, 1 + 5 * y] += 0.9
    return x, y


QUICK = LearnConfig(measurements=12, final_repeats=1, coarse_strengths=4, extensions=1)


def answers(transforms, **options):
    """Search alone, without a net; return the answer for each transform."""
    options = {"trunk": trunk, "budget": 40} | options
    learner = Learner(*corners(), transforms, config=QUICK, **options)
    list(learner.search.fit())
    return {row.transform: row for row in learner.search.invariances}


@pytest.fixture(scope="module")
def everything():
    return answers("auto")


FIVE = ["horizontal_flip", "rotate", "vertical_flip", "translate_x", "sign_flip"]


def test_an_answer_does_not_depend_on_which_others_are_offered(everything):
    assert len(everything) >= 20
    statuses = {row.transform.name: row.status for row in everything.values()}
    assert statuses["horizontal_flip"] == "not_invariant"
    assert statuses["vertical_flip"] == "reached_limit"
    assert "bounded" in statuses.values()
    names = [transform.name for transform in everything]
    random.Random(0).shuffle(names)
    for offered in (["rotate"], ["horizontal_flip"], FIVE, FIVE[::-1], names):
        found = answers(offered)
        assert [each.name for each in found] == offered
        for transform, row in found.items():
            assert row == everything[transform]  # exactly


def test_seeds_and_limits_are_other_questions(everything):
    (rotate,) = answers([{"name": "rotate", "limit": 31.0}])
    assert rotate not in everything


def test_a_pool_of_one_transform_starts_no_process(monkeypatch):
    monkeypatch.setattr(sys.modules["augnet.learn.search"], "ProcessPoolExecutor", None)
    assert len(answers("sign_flip", jobs=4)) == 1


@pytest.mark.slow
def test_processes_give_the_same_answers():
    alone, together = (answers(FIVE, jobs=jobs, threads=1) for jobs in (1, 2))
    assert list(alone.items()) == list(together.items())
    with_time = answers(FIVE, jobs=2, threads=1, budget=3600.0)
    assert not any(row.reason == NO_TIME for row in with_time.values())


def test_rows_are_plain_values_and_back(everything):
    rows = list(everything.values())
    transforms = list(everything)
    assert from_plain(to_plain(rows), transforms) == rows
    assert all(row.response for row in rows if row.cost is not None)
    assert from_plain(to_plain(rows[:3]), transforms) == rows[:3]
    assert from_plain([], transforms) == []


# Nothing is concluded from noise


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("shape", "shared"), [((1, 12, 12), {}), ((2, 64), {"sfreq": 50}), ((5,), {})]
)
def test_random_labels_are_unclear_for_every_transform(shape, shared, seed):
    x = torch.rand(120, *shape, generator=generator(seed))
    y = torch.randint(3, (120,), generator=generator(seed + 50))
    result = learn(x, y, seed=seed, budget=10, **shared)
    assert len(result.invariances) >= 3
    assert {row.status for row in result.invariances} == {"unclear"}
    assert {row.strength for row in result.invariances} == {0.0}
    assert all("better than chance" in row.reason for row in result.invariances)
    assert "better than chance" in result.warnings[0]
    assert result.chance == pytest.approx(1 / 3)
    assert result.net.copies == 1


def test_a_net_at_chance_concludes_nothing():
    x, y = levels()
    result = learn(x, y, SPECS, budget=1)  # one step
    assert {row.status for row in result.invariances} == {"unclear"}
    assert result.score < 0.9


def test_no_range_includes_zero(everything):
    kept = [row for row in everything.values() if row.kept]
    assert kept
    assert not any(row.includes_zero for row in kept)
    assert all(row.reason for row in everything.values() if row.status == "unclear")
    for row in kept:
        assert row.interval[0] <= row.strength <= row.interval[1]


# Seconds


SCALES = [{"name": "amplitude_scale", "limit": limit} for limit in (8.0, 9.0, 10.0, 11.0, 12.0)]


@pytest.mark.parametrize(
    ("seconds", "evaluation", "all_measured"),
    [(320.0, 0.0, False), (900.0, 0.0, True), (400.0, 0.05, False)],
)
def test_what_no_time_is_left_for_is_unclear_and_named(
    monkeypatch, seconds, evaluation, all_measured
):
    clock = Clock(monkeypatch, evaluation=evaluation)
    config = LearnConfig(reference_steps=100, branch_steps=0.6, budget=seconds)
    learner = Learner(*levels(), SCALES, config=config)
    list(learner)
    result = learner.result
    assert clock.now - 100 <= 1.1 * seconds + 1
    late = [row.reason == NO_TIME for row in result.invariances]
    assert late == sorted(late)  # the first are answered, the last are not
    assert not late[0]
    if all_measured:
        assert not any(late)
        assert result.warnings == ()
    else:
        assert late[-1]
        names = [row.transform.name for row in result.invariances if row.reason == NO_TIME]
        assert result.warnings == (f"the budget was too short to measure {', '.join(names)}",)


def test_too_little_time_for_the_reference_is_unclear_for_all(monkeypatch):
    clock = Clock(monkeypatch)
    learner = Learner(*levels(), SPECS, budget=20.0)
    list(learner)
    assert clock.now - 100 <= 22 + 1
    reasons = {row.reason for row in learner.result.invariances}
    assert reasons == {"no time was left to train a network"}
    assert learner.result.warnings == ("no time was left to train a network",)


def test_the_reference_has_a_part_of_the_time(monkeypatch):
    Clock(monkeypatch)
    learner = Learner(*levels(), SPECS, config=LearnConfig(budget=200.0, perfect_loss=1e-9))
    list(learner)
    config, done = learner.config, learner.search.reference.loop.done
    assert done == pytest.approx(200 * config.search_fraction * config.reference_fraction, abs=1)


def test_a_search_that_is_loaded_knows_how_unstable_predictions_are():
    def learner():
        return Learner(*levels(), ["sign_flip"], budget=10)

    first, second = learner(), learner()
    list(first.search.fit())
    first.search.control = replace(Control(first.search.reference.errors), changed=0.3)
    second.load_state_dict(first.state_dict())
    assert second.search.reference.control.changed == 0.3


def test_one_held_out_group_is_a_warning():
    x, y = levels()
    learner = Learner(x, y, ["sign_flip"], budget=20, groups=torch.arange(len(x)) % 2)
    list(learner.search.fit())
    assert any("one group is held out" in text for text in learner.search.warnings)


def test_no_curve_is_measured_after_the_deadline(monkeypatch):
    learner = Learner(*levels(), ["sign_flip", "amplitude_scale"], budget=20)
    list(learner.search.reference.fit())
    config = replace(learner.config, curves=True)
    module = sys.modules["augnet.learn.measure_parts"]
    monkeypatch.setattr(module, "measure_response", None)  # to call it would fail
    row, _ = measure(learner.search.reference, learner.transforms[0], config, time.time() - 1)
    assert row.reason == NO_TIME
    assert row.curve == ()
