"""Several seeds become one result."""

from dataclasses import replace

import pytest

from augnet.learn.parts import PartRange
from augnet.learn.result import Invariance
from augnet.learn.seeds import join_seeds
from augnet.transforms import Rotate, SignFlip


def turn(status, strength=0.0, low=0.0, high=0.0, **more):
    return Invariance(Rotate(90.0), status, strength, (low, high), **more)


FEW, MANY = turn("bounded", 20, 18, 22, cost=0.01), turn("bounded", 30, 25, 33, cost=0.02)
FAR, NONE = turn("reached_limit", 90, 80, 90, cost=0.0), turn("not_invariant", cost=0.3)
LATE = turn("unclear", reason="no time was left")


def join(*rows):
    (row,) = join_seeds([[row] for row in rows])
    return row


def test_one_seed_is_what_it_was():
    for row in (FEW, FAR, NONE, LATE):
        assert join(row) == row


def test_most_seeds_decide_and_strengths_are_joined():
    row = join(FEW, NONE, MANY)
    assert (row.status, row.strength, row.interval) == ("bounded", 25, (18, 33))
    assert row.cost == pytest.approx(0.015)
    assert row.seeds_agreeing == (2, 3)
    assert str(row) == "rotate: bounded, ±25 degrees (18 to 33), error +0.015, 2 of 3 seeds"


def test_the_limit_is_reached_if_most_kept_seeds_say_so():
    row = join(FAR, FAR, FEW)
    assert (row.status, row.strength, row.interval) == ("reached_limit", 90, (18, 90))
    assert row.seeds_agreeing == (3, 3)
    row = join(FAR, FEW)
    assert (row.status, row.strength) == ("bounded", 55)


@pytest.mark.parametrize("other", [NONE, LATE])
def test_seeds_that_disagree_leave_it_unclear(other):
    row = join(FEW, other)
    assert (row.status, row.strength, row.seeds_agreeing) == ("unclear", 0.0, (1, 2))
    assert row.reason == "seeds disagree"


@pytest.mark.parametrize(
    ("rows", "status", "agreeing"),
    [
        ((LATE, LATE, FEW), "unclear", (2, 3)),
        ((NONE, LATE, LATE), "unclear", (2, 3)),
        ((NONE, LATE), "unclear", (1, 2)),
        ((NONE, NONE, LATE), "not_invariant", (2, 3)),
        ((NONE, LATE, FEW), "unclear", (1, 3)),
    ],
)
def test_most_seeds_decide_what_is_not_kept(rows, status, agreeing):
    row = join(*rows)
    assert (row.status, row.strength, row.seeds_agreeing) == (status, 0.0, agreeing)
    assert bool(row.reason) == (status == "unclear")


def test_the_benefit_is_the_median_of_the_seeds_that_measured_it():
    some = [replace(MANY, benefit=each) for each in (0.3, 0.1, -0.2, None)]
    assert join(*some).benefit == 0.1
    assert join(FEW, MANY).benefit is None


def test_rows_without_a_cost_are_joined():
    assert join(replace(FEW, cost=None), MANY).cost == 0.02
    assert join(replace(FEW, cost=None), replace(MANY, cost=None)).cost is None


def test_transforms_are_joined_one_by_one():
    flip = Invariance(SignFlip(), "reached_limit", 0.5, (0.5, 0.5))
    first, second = join_seeds([[flip, FEW], [flip, NONE]])
    assert (first.strength, first.seeds_agreeing) == (0.5, (2, 2))
    assert second.status == "unclear"


def test_the_response_curve_is_that_of_the_nearest_seed():
    curves = {20: ((0.0, 0.0), (20.0, 0.1)), 30: ((0.0, 0.0), (30.0, 0.2)), 90: ((0.0, 0.1),)}
    few, many, far = (
        replace(row, response=curves[row.strength]) for row in (FEW, MANY, FAR)
    )  # fmt: skip
    assert join(few, many, replace(many, strength=31)).response == curves[30]
    assert join(few, far, far).response == curves[90]
    assert join(NONE, NONE, few).response == ()
    assert join(few, NONE).response == ()  # seeds disagree


def test_ranges_of_classes_are_joined_too():
    def classes(*rows):
        (joined,) = join_seeds([[replace(FEW, by_class=(row,))] for row in rows])
        return joined.by_class[0]

    near = PartRange("6", "bounded", 40.0, (30.0, 50.0), 20)
    far = PartRange("6", "bounded", 60.0, (45.0, 75.0), 21)
    whole = PartRange("6", "reached_limit", 90.0, (70.0, 90.0), 22)
    few = PartRange("6", "unclear", 0.0, (0.0, 0.0), 9, "too few")
    assert classes(near, far) == PartRange("6", "bounded", 50.0, (30.0, 75.0), 20)
    assert classes(near, whole, whole) == replace(whole, interval=(30.0, 90.0))
    assert classes(few, few, near) == few
    assert classes(few, near) == PartRange("6", "unclear", 0.0, (0.0, 0.0), 9, "seeds disagree")
