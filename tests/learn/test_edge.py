"""A range grows while its edge costs less than the tolerance, and settles where it costs that."""

import math

import pytest

from augnet.learn.edge import MIN_RANGE, EdgeRule


def rule(start=0.05, rate=0.15, growth=0.25, smoothing=0.6, tolerance=0.01):
    return EdgeRule(tolerance, start, rate, growth, smoothing)


def follow(edge, cost, count=80):
    """Measure a cost that depends on the range."""
    for _ in range(count):
        edge.update(cost(edge.range))
    return edge


@pytest.mark.parametrize("border", [0.03, 0.2, 0.6])
@pytest.mark.parametrize("start", [0.01, 0.05, 0.9])
def test_a_range_settles_where_the_cost_is_the_tolerance(border, start):
    edge = follow(rule(start), lambda place: 0.01 * (place / border) ** 2)
    fraction, wobble = edge.settled()
    assert fraction == pytest.approx(border, rel=0.05)
    assert wobble < 0.1
    assert abs(edge.drift()) < 0.1
    assert not edge.at_end(10)


def test_a_range_without_a_cost_grows_to_the_limit():
    edge = follow(rule(), lambda place: 0.0)
    assert edge.range == 1.0
    assert edge.at_end(10)
    assert edge.settled() == (1.0, 0.0)


def test_a_range_that_costs_at_once_shrinks_to_the_least():
    edge = follow(rule(), lambda place: 0.5)
    assert edge.range == MIN_RANGE
    assert edge.at_end(10)


def test_the_first_growth_is_faster():
    slow, fast = rule(0.01), rule(0.01)
    slow.update(1.0)
    for _ in range(20):
        slow.update(0.0)
    for _ in range(8):
        fast.update(0.0)
    assert fast.range == pytest.approx(0.01 * math.exp(8 * 0.25))
    assert 1 < slow.ranges[-1] / slow.ranges[-2] <= math.exp(0.15)


def test_what_cannot_be_resolved_is_allowed():
    strict, lenient = rule(), rule()
    for _ in range(10):
        strict.update(0.02)
        lenient.update(0.02, allowed=0.03)
    assert strict.range < 0.05 < lenient.range
    assert lenient.means == strict.means


def test_each_turn_slows_a_range_down():
    edge = rule(start=0.5, smoothing=0.0001)
    for _ in range(10):
        edge.update(1.0)
        edge.update(0.0)
    logs = [abs(math.log(b / a)) for a, b in zip(edge.ranges, edge.ranges[1:], strict=False)]
    assert logs[-1] < logs[0] / 2


def test_the_cost_is_the_largest_running_mean():
    edge = rule(smoothing=0.5)
    edge.update(0.0, 0.004)
    edge.update(0.02, 0.0)
    assert edge.means == pytest.approx([0.01, 0.002])
    assert edge.excesses == pytest.approx([0.004 / edge.tolerance, 0.01 / edge.tolerance])


def test_a_larger_tolerance_never_gives_a_smaller_range():
    found = [
        follow(rule(tolerance=each), lambda place: place**2).settled()[0]
        for each in (0.005, 0.01, 0.02, 0.1, 2.0)
    ]
    assert found == sorted(found)
    assert found[0] < found[-1] == 1.0


def test_a_range_continues_from_another_one():
    edge = follow(rule(), lambda place: 0.0, 3)
    edge.restart(0.4)
    assert edge.range == 0.4
    edge.restart(7.0)
    assert edge.range == 1.0
    edge.restart(0.0)
    assert edge.range == MIN_RANGE


def test_drift_tells_a_range_that_moves():
    edge = follow(rule(), lambda place: 0.0, 8)
    assert edge.drift() == pytest.approx(2 * 0.25)
    assert not edge.at_end(9)


def test_turns_slow_a_range_down_only_while_it_settles():
    free, settling = (EdgeRule(0.01, 0.1, 0.15, 0.25, 0.0) for _ in range(2))
    for cost in (0.1, 0.0) * 4:
        free.update(cost, settling=False)
        settling.update(cost)
    assert (free.turns, settling.turns) == (0, 7)
    swing = [abs(math.log(rule.ranges[-1] / rule.ranges[-2])) for rule in (free, settling)]
    assert swing[0] == pytest.approx(0.15)
    assert swing[1] == pytest.approx(0.15 / (1 + 0.2 * 7))


def test_a_range_stops_at_a_border():
    rule = EdgeRule(0.01, 0.1, 0.15, 0.25, 0.0, border=0.3)
    for _ in range(12):
        rule.update(0.0)
    assert rule.range == 0.3
    assert rule.at_end(3)
