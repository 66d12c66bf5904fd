"""The response of a network to a transform: curves, and how far it holds."""

from dataclasses import dataclass

import pytest
import torch
from learn_tasks import Rule, Shift, generator

from augnet.learn import LearnConfig
from augnet.learn.evaluate import Evaluator
from augnet.learn.held import NEVER, curve, find_held
from augnet.learn.inputs import prepare_data
from augnet.learn.response import (
    FRACTIONS,
    fractions_of,
    measure_response,
    to_fraction,
    view,
)
from augnet.learn.result import Invariance
from augnet.transforms import AmplitudeScale, Cutout, GaussianNoise, SignFlip

CONFIG = LearnConfig()


def response(rule, transform, size=400):
    """Measure a rule on two levels, −1 and 1, give or take 0.1."""
    y = torch.arange(size) % 2
    x = 2.0 * y[:, None] - 1 + 0.2 * torch.rand(size, 3, generator=generator()) - 0.1
    data = prepare_data(x, y, generator())
    evaluator, network = Evaluator(data, 20.0), Rule(rule)
    rest = evaluator.outputs(network, data.x[data.held_out])
    steps = fractions_of(Invariance(transform, "bounded", transform.limit, (0.0, 0.0)))
    return measure_response(evaluator, network, transform, data.held_out, rest, steps), evaluator


def test_errors_are_paired_and_have_directions():
    found, evaluator = response(lambda x: x[:, 0] > -0.5, Shift(2.0))
    assert found.added.shape == found.changed.shape == (2, 12, 200)
    assert found.directions == (-1.0, 1.0)
    down, up = (found.towards(number).added[0] for number in (0, 1))
    # Up by 0.6, the class at −1 is lost; down by 1.6, the other one.
    assert [round(each.item(), 1) for each in up.mean(1)] == [0] * 5 + [0.5] * 7
    assert [round(each.item(), 1) for each in down.mean(1)] == [0] * 10 + [0.5] * 2
    assert found.added.equal(found.changed)
    held = [
        find_held(found.towards(number), evaluator, 0.01, CONFIG).strengths(found.transform)
        for number in (0, 1)
    ]
    assert held[0][1] == pytest.approx((1.4, 1.7))
    assert held[1][1] == pytest.approx((0.4, 0.6))
    assert all(low <= at <= high for at, (low, high) in held)


def test_a_network_that_never_fails_reaches_the_limit():
    found, evaluator = response(lambda x: x[:, 0] > 0, GaussianNoise(0.1))
    held = find_held(found, evaluator, 0.01, CONFIG)
    assert (held.fraction, held.low, held.high) == (1, 1, NEVER)
    assert held.reached
    strength, interval = held.strengths(found.transform)
    assert (strength, *interval) == pytest.approx((0.1, 0.1, 0.1))


def test_flips_hold_or_not():
    for rule, expected in (
        (lambda x: x[:, 0] > 0, (0, 0, 0)),
        (lambda x: x[:, 0] > 9, (1, 1, NEVER)),
    ):
        found, evaluator = response(rule, SignFlip())
        held = find_held(found, evaluator, 0.01, CONFIG)
        assert (held.fraction, held.low, held.high) == expected


def test_curves_go_from_one_direction_to_the_other():
    found, evaluator = response(lambda x: x[:, 0] > -0.5, Shift(2.0))
    points = curve(found, evaluator, CONFIG)
    places = [point.strength for point in points]
    assert places == sorted(places)
    assert (places[0], places[12], places[-1]) == (-2.0, 0.0, 2.0)
    assert points[-1].added == pytest.approx(0.5, abs=0.01)
    assert points[-1].interval[0] < points[-1].added < points[-1].interval[1]
    one, _ = response(lambda x: x[:, 0] > 0, GaussianNoise(0.1))
    assert len(curve(one, evaluator, CONFIG)) == 13


def test_params_of_a_sample_are_the_same_at_all_strengths():
    x = torch.zeros(4, 2)
    half, whole, other = (
        view(GaussianNoise(1.0), x, fraction, 1.0, 0, start)
        for fraction, start in ((0.5, 0), (1.0, 0), (1.0, 1))
    )
    assert whole.allclose(2 * half)
    assert not whole.allclose(other)
    cut = [view(Cutout(0.5), torch.ones(2, 1, 16, 16), f, 1.0, 3) for f in (1.0, 1.0)]
    assert cut[0].equal(cut[1])


def test_a_tie_that_tips_over_is_no_change():
    """Four classes of which two pairs cannot be told: flips change which of a pair wins."""
    y = torch.arange(200) % 4
    x = torch.stack((y // 2 - 0.5, 0.01 * torch.randn(200, generator=generator())), 1)

    class Tied(Rule):
        def forward(self, x):
            pair, tie = (x[:, 0] > 0).float(), 0.01 * x[:, 1].sign()
            return torch.stack((1 - pair + tie, 1 - pair - tie, pair + tie, pair - tie), 1)

    @dataclass(frozen=True)
    class Second(SignFlip):
        """Flip the second number."""

        def transform(self, x):
            return x * x.new_tensor([1.0, -1.0])

    data = prepare_data(x, y, generator())
    evaluator, network = Evaluator(data, 20.0), Tied(None)
    rest = evaluator.outputs(network, data.x[data.held_out])
    tied, both = (
        measure_response(evaluator, network, each, data.held_out, rest, (1.0,))
        for each in (Second(), SignFlip())
    )
    assert tied.added.abs().mean() == 1  # the other one of a pair wins, always
    assert tied.changed.mean() == 0
    assert both.changed.mean() == 1


def test_steps_include_the_ends_of_the_range_of_labels():
    found = Invariance(Shift(2.0), "bounded", 0.9, (0.8, 1.0))
    assert set(fractions_of(found)) - set(FRACTIONS) == {0.45}
    assert fractions_of(Invariance(SignFlip(), "not_invariant", 0.0, (0.0, 0.0))) == (1.0,)
    scale = AmplitudeScale(4.0)
    assert to_fraction(scale, 2.0) == pytest.approx(0.5)
    assert to_fraction(scale, 0.0) == 0
