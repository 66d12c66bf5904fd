"""Stages go on while something can be told, and stop when all parts are lost."""

from itertools import pairwise

import pytest
import torch

from augnet.learn import LearnConfig
from augnet.learn.accounts import Costs
from augnet.learn.decide import NO_TIME
from augnet.learn.stages import TIMES, Stages, stage_ends
from augnet.transforms import Rotate

CONFIG = LearnConfig()
PAIRS = torch.tensor([[0.0, 0.45, 0.0], [0.45, 0.0, 0.0], [0.0, 0.0, 0.0]])


class Books:
    """Costs of three classes by a table, for each range."""

    by_class, samples, tolerance = True, [50, 50, 50], 0.03
    owned = torch.eye(3)

    def __init__(self, table):
        self.table = table

    def costs(self, stage, towards=None):
        """Look up what a range costs; untrained networks always cost too much."""
        added = torch.tensor(self.table(*stage)).expand(2, 201, 3)
        return Costs(added, torch.full((2, 3), 0.03), torch.zeros(3).bool())

    def confused(self, stage):
        """Return that the first two classes are taken for each other."""
        return PAIRS


class Trained:
    """A sweep that only counts how often each range was trained."""

    config, transform = CONFIG, Rotate(100.0)

    def __init__(self, times=1000):
        self.counts, self.groups, self.left = {}, [], times

    def measure(self, ends):
        """Return the range, and that nothing was trained."""
        return ends[0], 0

    def train(self, ends, end, times=1):
        """Count."""
        self.left -= times
        self.counts[ends[0]] = self.counts.get(ends[0], 0) + times
        return (ends[0], self.counts[ends[0]]) if self.left >= 0 else None

    def merge(self, group):
        """Keep what was merged."""
        self.groups.append(group.tolist())


def run(table, times=1000, fractions=(0.1, 0.2, 0.4, 0.8, 1.0)):
    sweep = Trained(times)
    stages = Stages(sweep, Books(table), None)
    stages.run([(each, (each, each)) for each in fractions])
    return sweep, stages


def test_ends_of_stages_grow_by_the_same_factor():
    ends = stage_ends(CONFIG, 0.04)
    assert (len(ends), ends[0], ends[-1]) == (CONFIG.stages + 1, 0.04, 1.0)
    factors = [b / a for a, b in pairwise(ends)]
    assert min(factors) == pytest.approx(max(factors))
    assert stage_ends(CONFIG, 0.9)[-1] == 1


def test_what_costs_nothing_is_not_trained():
    sweep, stages = run(lambda end, count: [0.0, 0.0, 0.0])
    assert sweep.counts == {}
    assert [part.status for part in stages.parts("abc")] == ["reached_limit"] * 3


def test_classes_that_become_each_other_end_together():
    sweep, stages = run(lambda end, count: [0.45, 0.45, 0.0] if end > 0.2 else [0.0, 0.0, 0.0])
    first, second, third = stages.parts("abc")
    assert first.interval == second.interval == pytest.approx((20.0, 40.0))
    assert third.status == "reached_limit"
    assert sweep.groups == [[True, True, False]]  # once
    assert sweep.counts == {0.4: CONFIG.warm_stages + TIMES + 1, 0.8: TIMES, 1.0: TIMES}


def test_a_range_is_trained_on_while_its_cost_falls():
    def falls(end, count):
        return [0.5 * 0.8**count if end == 0.4 else 0.0, 0.0, 0.0]

    sweep, stages = run(falls)
    assert sweep.counts[0.4] == CONFIG.warm_stages + TIMES + CONFIG.stage_extensions
    assert stages.parts("abc")[0].status == "reached_limit"


def test_it_ends_when_all_classes_are_lost():
    _, stages = run(lambda end, count: [0.5, 0.5, 0.5] if end > 0.1 else [0.0, 0.0, 0.0])
    assert stages.fractions == [0.1, 0.2, 0.4]
    for part in stages.parts("abc"):
        assert part.interval == pytest.approx((10.0, 20.0))


def test_classes_that_are_not_lost_when_the_time_is_over_are_unclear():
    def lost(end, count):
        return [0.5, 0.5, 0.0] if end > 0.1 else [0.0, 0.0, 0.0]

    _, stages = run(lost, times=CONFIG.warm_stages + 2 * TIMES + 1)
    first, _, third = stages.parts("abc")
    assert stages.late
    assert (first.status, third.status, third.reason) == ("bounded", "unclear", NO_TIME)


def test_a_class_that_meets_another_is_lost_whatever_is_predicted():
    sweep = Trained()
    stages = Stages(sweep, Books(lambda end, count: [0.0, 0.0, 0.0]), None)
    stages.meetings[:] = [2, 2, 5]
    stages.run([(each, (each, each)) for each in (0.1, 0.2, 0.4, 0.8, 1.0)])
    first, second, third = stages.parts("abc")
    assert first.interval == second.interval == pytest.approx((20.0, 40.0))
    assert first.strength == pytest.approx(30.0)
    assert third.status == "reached_limit"
