"""The range of a part, from what each stage of a sweep costs it."""

import pytest
import torch
from learn_tasks import Shift, generator

from augnet.learn import LearnConfig
from augnet.learn.decide import TOO_FEW, WIDE
from augnet.learn.held import TOO_LOW, PartCosts, part_range
from augnet.transforms import SignFlip

CONFIG = LearnConfig()
FRACTIONS = (0.1, 0.2, 0.4, 0.8, 1.0)


def decide(added, noise=0.005, transform=None, samples=100, fractions=FRACTIONS):
    """Decide by costs of which 0.03 are allowed, and that resampled samples change by noise."""
    draws = noise * torch.randn(200, generator=generator())
    costs = [
        PartCosts(torch.cat((torch.zeros(1), draws)) + each - 0.03, each)
        for each in added
    ]  # fmt: skip
    return part_range(
        "x", transform or Shift(2.0), fractions[: len(added)], costs, samples, 0.03, CONFIG
    )


def test_a_range_ends_where_too_much_is_added():
    part = decide([0.0, 0.0, 0.0, 0.4, 0.5])
    assert part.status == "bounded"
    assert part.interval == pytest.approx((0.8, 1.6))
    assert 0.8 < part.strength < 1.0  # 0.03 of 0.4, from 0.8 on


def test_a_part_that_loses_nothing_reaches_the_limit():
    part = decide([0.0] * 5)
    assert (part.status, part.strength, part.interval) == ("reached_limit", 2.0, (2.0, 2.0))


def test_a_range_that_was_lost_by_chance_is_not():
    """A stage that costs too much, before one that costs nothing, is averaged with it."""
    assert decide([0.0, 0.04, 0.0, 0.0, 0.0]).status == "reached_limit"


def test_an_interval_that_includes_0_is_no_range():
    slow = decide([0.05, 0.1, 0.2, 0.4, 0.5])
    assert (slow.status, slow.strength) == ("not_invariant", 0.0)
    steep = decide([0.5, 0.5, 0.5, 0.5, 0.5])
    assert (steep.status, steep.strength, steep.reason) == ("unclear", 0.0, TOO_LOW)
    noisy = decide([0.02, 0.02, 0.02, 0.4, 0.5], noise=0.02)
    assert (noisy.status, noisy.strength, noisy.reason) == ("unclear", 0.0, TOO_FEW)


def test_a_part_is_unclear_if_its_interval_is_wide_or_its_samples_are_few():
    wide = decide([0.0, 0.025, 0.025, 0.025, 0.025], noise=0.01)
    assert (wide.status, wide.reason) == ("unclear", WIDE)
    few = decide([0.0] * 5, samples=8)
    assert (few.status, few.samples, few.reason) == ("unclear", 8, TOO_FEW)


def test_a_flip_is_kept_or_not_or_unclear():
    found = [decide([cost], transform=SignFlip(), fractions=(1.0,)) for cost in (0.0, 0.3, 0.03)]
    assert [part.status for part in found] == ["reached_limit", "not_invariant", "unclear"]
    assert found[2].reason == TOO_FEW
