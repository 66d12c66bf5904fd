"""Decisions on networks that follow a rule: what they say, and that they say what they cannot."""

from dataclasses import replace

import pytest
import torch
from learn_tasks import Rule, Shift, Value, generator, measured

from augnet.learn import LearnConfig
from augnet.learn.decide import (
    MOVES,
    NO_COST,
    NOISE,
    TOO_FEW,
    WIDE,
    decide_bernoulli,
    decide_border,
    decide_range,
    doubt_by_distances,
    first_place,
    is_close,
    isotonic,
    measure_bernoulli,
)
from augnet.learn.decide import measure_crossing as crossing_of
from augnet.learn.result import Invariance
from augnet.transforms import AmplitudeScale, SignFlip

CONFIG = LearnConfig()


def places(size=2000, spread=0.1):
    """Return places around -0.5 and 0.5 as samples; adding 0.5 - spread preserves the class."""
    draws = generator()
    y = torch.arange(size) % 2
    place = y - 0.5 + spread * (2 * torch.rand(size, generator=draws) - 1)
    return place[:, None], y


def shifted(size=2000, tolerance=0.01, spread=0.1, limit=0.9):
    """Return a network that tells the sign, under a shift of all samples."""
    network = Rule(lambda x: x[:, 0] > 0)
    return measured(*places(size, spread), network, Shift(limit), tolerance)


def whole(found, config=CONFIG):
    return decide_bernoulli(found, measure_bernoulli(found), config)


def ranged(found, fraction, wobble=0.0, moves=False, config=CONFIG):
    crossing = crossing_of(found, fraction, config)
    return decide_range(found, fraction, wobble, crossing, moves, config)


@pytest.mark.parametrize("trained", [0.4, 0.45, 0.55])
def test_a_known_crossing_is_the_strength_whatever_range_was_trained(trained):
    row = ranged(shifted(), trained)
    assert row.status == "bounded"
    # Half of the samples go to the other class, 0.2 wide: 0.01 of all are there at 0.404.
    assert row.strength == pytest.approx(0.404, rel=0.08)
    assert 0.25 < row.interval[0] < 0.404 < row.interval[1] < 0.55
    assert row.cost == pytest.approx(0.01, abs=0.02)


def test_the_response_curve_goes_from_nothing_to_beyond_the_range():
    row = ranged(shifted(), 0.4)
    strengths, added = zip(*row.response, strict=True)
    assert (strengths[0], added[0]) == (0.0, 0.0)
    assert list(strengths) == sorted(strengths)
    assert strengths[-1] == pytest.approx(0.9)  # the limit
    for strength, value in row.response:
        # Of the samples that move towards 0, which is half of them, those cross it that are near.
        expected = min(1.0, max(0.0, (strength - 0.4) / 0.2)) / 2
        assert value == pytest.approx(expected, abs=0.03)
    for other in (ranged(shifted(), 0.4, moves=True), ranged(shifted(limit=0.3), 1.0)):
        assert len(other.response) > 5


def test_a_flip_has_two_responses():
    row = whole(flipped(0.3))
    assert [strength for strength, _ in row.response] == [0.0, 1.0]
    assert [value for _, value in row.response] == pytest.approx([0.0, row.cost])
    assert row.cost > 0.2


def test_a_larger_tolerance_never_gives_a_smaller_range():
    rows = [
        ranged(shifted(tolerance=each, spread=0.4), 0.4) for each in (0.005, 0.02, 0.05, 0.1, 0.2)
    ]
    strengths = [row.strength for row in rows]
    assert strengths == sorted(strengths)
    assert strengths[0] < 0.8 * strengths[-1]
    costs = [row.cost for row in rows]
    assert costs == sorted(costs)


def test_no_crossing_within_the_limit_reaches_it():
    row = ranged(shifted(limit=0.3), 1.0)
    assert (row.status, row.strength, row.interval[1]) == ("reached_limit", 0.3, pytest.approx(0.3))
    assert row.cost == 0


def test_a_range_that_adds_errors_from_the_start_is_not_invariant():
    y = torch.rand(1000, generator=generator())
    found = measured(y[:, None], y, Value(lambda x: x[:, 0]), Shift(0.9))
    row = ranged(found, 0.02)
    assert (row.status, row.strength, row.interval[0]) == ("not_invariant", 0.0, 0.0)
    assert row.interval[1] < 0.1


def test_a_refusal_whose_interval_spans_most_of_the_search_range_is_unclear():
    found = shifted(spread=0.5)
    assert ranged(found, 0.02).status == "not_invariant"
    row = ranged(found, 0.02, wobble=4.0)
    assert (row.status, row.strength, row.reason) == ("unclear", 0.0, WIDE)
    assert row.interval[1] > 0.6 * found.transform.limit


@pytest.mark.parametrize(
    ("tolerance", "status"), [(0.01, "not_invariant"), (0.05, "unclear"), (0.08, "unclear")]
)
def test_what_may_be_added_is_no_range(tolerance, status):
    """Places fill both classes: the error rises with the shift from 0 on, whatever is allowed."""
    row = ranged(shifted(tolerance=tolerance, spread=0.5), 0.3)
    assert row.status == status
    assert row.reason == (TOO_FEW if status == "unclear" else "")
    gap = ranged(shifted(tolerance=tolerance, spread=0.2), 0.3)
    assert (gap.status, 0.27 < gap.strength < 0.42) == ("bounded", True)


def test_an_interval_need_not_be_symmetric():
    """One sample of a hundred errs early: some resamplings have none of it, others have several."""
    found = shifted(size=200)
    x = found.evaluator.data.x
    early = torch.arange(len(x)) % 100 == 0
    x[early] = 0.15 * x[early].sign()
    crossing = crossing_of(found, 0.4, CONFIG)
    low, high = crossing.interval
    assert low < 0.8 * crossing.factor
    assert crossing.factor <= high
    assert high / crossing.factor < crossing.factor / low
    row = decide_range(found, 0.4, 0.0, crossing, False, CONFIG)
    assert row.strength / row.interval[0] > 1.2 * row.interval[1] / row.strength


def test_a_range_that_still_moves_is_unclear():
    row = ranged(shifted(), 0.45, moves=True)
    assert (row.status, row.strength, row.reason) == ("unclear", 0.0, MOVES)


def test_a_wide_interval_is_unclear():
    row = ranged(shifted(), 0.45, wobble=3.0)
    assert (row.status, row.strength, row.reason) == ("unclear", 0.0, WIDE)


def test_no_strength_that_adds_an_error_is_no_error():
    found = shifted(limit=0.3)
    row = ranged(replace(found, before=torch.ones_like(found.before)), 0.05)
    assert row.kept
    assert row.cost == -1


def test_the_same_numbers_give_the_same_decision():
    assert ranged(shifted(), 0.45) == ranged(shifted(), 0.45)


def test_the_closest_rising_curves():
    curves = torch.tensor([[1.0, 3.0, 2.0, 4.0], [3.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 3.0]])
    rising = torch.tensor([[1.0, 2.5, 2.5, 4.0], [1.5, 1.5, 1.5, 1.5], [0.0, 1.0, 2.0, 3.0]])
    torch.testing.assert_close(isotonic(curves), rising)


# Bernoulli transforms


def flipped(added, size=2000, tolerance=0.01):
    """Return a network that errs on a given part of the flipped samples."""
    y = torch.arange(size) % 2
    mark = torch.rand(size, generator=generator())
    x = torch.stack((1 + y, mark + 0.001), 1).float()  # a flip is seen by its sign

    def rule(x):
        return (x[:, 0].abs() > 1.5) ^ ((x[:, 0] < 0) & (x[:, 1].abs() < added))

    return measured(x, y, Rule(rule), SignFlip(), tolerance)


@pytest.mark.parametrize(
    ("added", "status", "strength"),
    [(0.0, "reached_limit", 0.5), (0.3, "not_invariant", 0.0), (1.1, "not_invariant", 0.0)],
)
def test_a_bernoulli_transform_is_accepted_by_the_error_that_it_adds(added, status, strength):
    row = whole(flipped(added))
    assert (row.status, row.strength, row.reason) == (status, strength, "")
    assert row.cost == pytest.approx(min(1, added), abs=0.04)
    assert row.interval == (strength, strength)


def test_the_tolerance_decides():
    rows = [whole(flipped(0.05, 2000, each)) for each in (0.01, 0.07)]
    assert [row.status for row in rows] == ["not_invariant", "reached_limit"]


def test_errors_at_rest_count_as_well():
    found = flipped(0.0)
    row = whole(replace(found, rest=found.rest + 0.3))
    assert row.status == "not_invariant"
    assert row.cost == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("added", "close"), [(0.0, False), (0.02, False), (0.05, True), (0.09, False), (0.4, False)]
)
def test_a_flip_that_costs_a_little_too_much_is_close(added, close):
    found = flipped(added, tolerance=0.03)
    assert is_close(found, measure_bernoulli(found), CONFIG) == close


class Unsure(torch.nn.Module):
    """Predict as another network does, with little confidence where the first value is negative."""

    def __init__(self, network, factor):
        super().__init__()
        self.network, self.factor = network, factor

    def forward(self, x):
        """Predict scores of two classes."""
        return 8 * self.network(x) * torch.where(x[:, :1] < 0, self.factor, 1.0)


@pytest.mark.parametrize(
    ("factor", "usual", "status"),
    [
        (1.0, 0.05, "reached_limit"),
        (1.0, 0.0, "unclear"),  # they are worse, if not by much
        (0.05, 0.0, "not_invariant"),
        (0.05, 0.28, "unclear"),
    ],
)
def test_probabilities_decide_where_errors_are_too_few(factor, usual, status):
    found = flipped(0.012, size=200)
    row = whole(found)
    assert row.kept
    assert row.cost > found.tolerance  # so many errors more may be chance
    found = replace(found, network=Unsure(found.network, factor))
    distances = torch.full((len(found.rows),), usual)
    doubted = doubt_by_distances(found, row, distances, CONFIG)
    assert (doubted.status, doubted.cost) == (status, row.cost)
    assert doubted.reason == (TOO_FEW if status == "unclear" else "")
    assert doubted.strength == (row.strength if status == "reached_limit" else 0)


def test_probabilities_of_samples_at_rest_count_as_well():
    found = flipped(0.012, size=200)
    row = whole(found)
    unsure = Unsure(found.network, 0.05)
    distances = torch.zeros(len(found.rows))
    rest = replace(found, network=Rule(lambda x: found.network.rule(-x)))  # flipped ones are easy
    for network in (unsure, Flipped(unsure)):
        doubted = doubt_by_distances(replace(rest, network=network), row, distances, CONFIG)
        assert doubted.status == "not_invariant"


class Flipped(torch.nn.Module):
    """Predict for flipped samples what another network predicts for samples as they are."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        """Predict scores of two classes."""
        return self.network(-x)


def test_values_have_no_probabilities():
    x = torch.randn(200, 2, generator=generator())
    found = measured(x, x[:, 0], Value(lambda x: x[:, 0].abs()), SignFlip(), tolerance=1e-9)
    row = Invariance(SignFlip(), "reached_limit", 0.5, (0.5, 0.5), cost=0.5)
    assert doubt_by_distances(found, row, torch.zeros(len(found.rows)), CONFIG) is row


def test_a_flip_within_the_tolerance_is_not_doubted():
    found = flipped(0.012, size=200, tolerance=0.05)
    row = whole(found)
    found = replace(found, network=Unsure(found.network, 0.05))
    assert doubt_by_distances(found, row, torch.zeros(len(found.rows)), CONFIG) is row


def test_a_border_ends_the_interval():
    found = shifted()
    crossing = crossing_of(found, 0.45, CONFIG)
    free, row = (
        decide_range(found, 0.45, 0.1, crossing, False, CONFIG, border) for border in (1.0, 0.46)
    )
    assert free.interval[1] > 0.43
    assert row.interval == (free.interval[0], pytest.approx(0.46 * 0.9))


@pytest.mark.parametrize(
    ("kept", "border", "status", "fraction"),
    [
        (0.1, 0.5, "bounded", 0.25),
        (0.3, 0.5, "bounded", 0.4),
        (0.05, 1.0, "not_invariant", 0.0),
        (0.05, 0.5, "unclear", 0.0),  # half of the way adds no error
    ],
)
def test_classes_that_move_towards_each_other_meet_halfway_to_a_border(
    kept, border, status, fraction
):
    row = decide_border(shifted(), kept, border, CONFIG)
    limit = row.transform.limit
    assert (row.status, row.strength) == (status, pytest.approx(fraction * limit))
    low = 0.0 if status == "not_invariant" else kept
    assert row.interval == (pytest.approx(low * limit), pytest.approx(border * limit))


def test_a_border_that_costs_no_more_than_is_allowed_may_be_a_wrong_one():
    refused = decide_border(shifted(), 0.05, 1.0, CONFIG)
    assert refused.status == "not_invariant"
    for tolerance, reason in ((refused.cost + 1e-3, NO_COST), (refused.cost - 1e-3, "")):
        assert decide_border(shifted(tolerance=tolerance), 0.05, 1.0, CONFIG).reason == reason


def test_too_few_samples_are_unclear():
    row = whole(flipped(0.15, 16))
    assert (row.status, row.strength, row.reason) == ("unclear", 0.0, TOO_FEW)
    assert not row.kept


def test_factors_keep_their_unit():
    x = 4.0 ** (torch.arange(1000) % 2)[:, None].expand(-1, 3)
    network = Rule(lambda x: x.mean(1) > 2)
    row = ranged(measured(x, torch.arange(1000) % 2, network, AmplitudeScale(8.0)), 0.3)
    assert row.status == "bounded"
    assert row.strength == pytest.approx(2, rel=0.15)
    assert 1 < row.interval[0] < row.strength < row.interval[1]


def test_rising_curves_are_those_of_scikit_learn():
    isotonic_regression = pytest.importorskip("sklearn.isotonic").isotonic_regression
    curves = torch.randn(6, 13, generator=generator(), dtype=torch.float64)
    wanted = torch.stack([torch.from_numpy(isotonic_regression(row.numpy())) for row in curves])
    torch.testing.assert_close(isotonic(curves), wanted)


@pytest.mark.parametrize("status", ["unclear", "not_invariant"])
def test_factors_that_are_not_kept_have_no_magnitude(status):
    row = Invariance(AmplitudeScale(2.0), status, 0.0, (1.0, 1.5))
    assert row.magnitude == 0


def unstable(found, instability=0.2):
    return replace(found, instability=instability)


def test_the_interval_goes_on_to_half_of_the_loss_if_inputs_are_noisy():
    """The label of half of the samples changes at 0.5, where the network errs on a quarter."""
    clear = shifted()
    noisy = unstable(clear, CONFIG.max_instability + 0.01)
    rows = [ranged(each, 0.4) for each in (clear, noisy)]
    assert rows[0].interval[1] < 0.48
    assert rows[1].interval[1] == pytest.approx(0.5, abs=0.03)
    assert [row.status for row in rows] == ["bounded"] * 2
    assert rows[0].interval[0] == pytest.approx(rows[1].interval[0], rel=0.1)


def blurred(noise, spread=0.1, limit=1.5, seed=3):
    """Return a network that sees the place of each sample with an error of its own."""
    place, y = places(4000, spread)
    error = noise * torch.randn(len(y), 1, generator=generator(seed))
    network = Rule(lambda x: x[:, 0] > 0)
    return unstable(measured(place + error, y, network, Shift(limit)))


@pytest.mark.parametrize("noise", [0.1, 0.15])
def test_noise_does_not_hide_where_labels_start_to_change(noise):
    """Without noise the first labels change at 0.4; a point of error is added much earlier."""
    found = blurred(noise)
    assert ranged(replace(found, instability=0.0), 0.2).strength < 0.3
    row = ranged(found, 0.2)
    assert row.status == "bounded"
    assert row.strength == pytest.approx(0.4, rel=0.2)
    assert row.interval[0] < 0.4 < row.interval[1]
    assert row.cost > 0.02


def test_a_range_costs_no_more_than_what_training_changes():
    """The range ends where the smaller of both is reached: 15 % of the most, or the instability."""
    found = blurred(0.15)
    costs = [ranged(replace(found, instability=each), 0.2).cost for each in (0.035, 0.05, 0.3)]
    assert costs[0] == pytest.approx(0.035, abs=0.012)
    assert costs[1] == pytest.approx(0.05, abs=0.012)
    assert costs[2] == pytest.approx(0.15 * 0.5, abs=0.02)


def test_an_error_in_proportion_to_the_strength_is_no_range_in_noise():
    row = ranged(unstable(shifted(spread=0.5)), 0.05)
    assert (row.status, row.strength, row.interval[0]) == ("not_invariant", 0.0, 0.0)


def test_an_interval_over_most_of_the_search_range_is_no_refusal():
    """The labels of a third change at once, and those of the others at 0.55 of 0.6."""
    y = torch.arange(3000) % 2
    near, far = 0.3 * torch.rand(1000, generator=generator()), torch.full((2000,), 0.55)
    place = (2 * y - 1) * torch.cat((near, far))
    found = unstable(measured(place[:, None], y, Rule(lambda x: x[:, 0] > 0), Shift(0.6)))
    row = ranged(found, 0.05)
    assert (row.status, row.strength, row.reason) == ("unclear", 0.0, NOISE)
    assert 0 < row.interval[0] < 0.1
    assert row.interval[1] > 0.5


@pytest.mark.parametrize(("noise", "spread"), [(0.05, 0.45), (0.2, 0.5), (0.1, 0.5)])
def test_noise_that_hides_the_start_of_the_rise_is_unclear(noise, spread):
    """Labels start to change at 0.05, or at once."""
    row = ranged(blurred(noise, spread), 0.05)
    assert (row.status, row.strength, row.reason) == ("unclear", 0.0, NOISE)


@pytest.mark.parametrize(
    ("level", "place"), [(-1.0, 0.0), (0.0, 0.0), (0.5, 0.5), (2.0, 2.0), (2.5, 2.5), (9.0, 3.0)]
)
def test_the_first_place_of_a_level_is_between_values(level, place):
    assert first_place([0.0, 1.0, 2.0, 3.0], level) == pytest.approx(place)


def test_a_limit_is_reached_only_if_the_error_there_is_within_the_tolerance():
    small = crossing_of(shifted(limit=0.5), 1.0, CONFIG)
    assert small.factor < 0.85  # 0.404 of 0.5: the range that was trained was too large
    row = decide_range(shifted(limit=0.5), 1.0, 0.0, small, False, CONFIG)
    assert (row.status, row.strength) == ("bounded", pytest.approx(0.404, rel=0.08))
    # The interval of this range contains the limit.
    row = ranged(shifted(limit=0.42), 1.0)
    assert (row.status, row.strength) == ("reached_limit", 0.42)
    assert row.cost == row.response[-1][1] > 0.01  # the error at the limit, not where it begins
