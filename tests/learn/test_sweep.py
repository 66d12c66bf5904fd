"""A sweep transforms all samples within one range, and asks no longer what cannot be told."""

import pytest
import torch
from learn_tasks import Shift, generator, trained_reference

from augnet.learn import LearnConfig
from augnet.learn.sweep import EDGE, PLACES, Sweep
from augnet.transforms import GaussianNoise, SignFlip

CONFIG = LearnConfig(budget=6)


@pytest.fixture(scope="module")
def reference():
    y = torch.arange(240) % 3
    x = torch.tensor([-6.0, 0.0, 1.0])[y][:, None] + 0.1 * torch.randn(
        240, 1, generator=generator()
    )
    return trained_reference(x.expand(-1, 3).contiguous(), y, CONFIG)


def views(reference, transform, ends):
    sweep = Sweep(reference, transform, CONFIG, "x")
    sweep.ends, sweep.noise = ends, lambda x, generator: 0.0
    return sweep, sweep._view(torch.zeros(400, 3))


def test_samples_are_spread_evenly_over_the_range(reference):
    _, moved = views(reference, Shift(2.0), (0.25, 1.0))
    places = moved[:, 0].sort().values
    torch.testing.assert_close(places, torch.linspace(-0.5, 2.0, 400), atol=0.02, rtol=0.0)


def test_a_transform_without_a_sign_has_one_direction(reference):
    sweep, moved = views(reference, GaussianNoise(1.0), (0.5, 0.5))
    assert 0 < moved.std() < 0.5
    assert sweep.measure((0.5, 0.5)).outputs.shape[:2] == (1, len(PLACES))


def test_half_of_a_batch_is_flipped(reference):
    sweep = Sweep(reference, SignFlip(), CONFIG, "x")
    flipped = sweep._view(torch.ones(400, 3))[:, 0] < 0
    assert flipped.float().mean() == 0.5
    stage = sweep.measure((1.0, 1.0))
    assert stage.outputs.shape[:2] == (1, 1)
    assert stage.edge == (True,)


def test_stages_are_measured_within_their_range_and_at_its_ends(reference):
    sweep = Sweep(reference, Shift(4.0), CONFIG, "x")
    stage = sweep.train((0.1, 0.5))
    rows = reference.held_out
    assert stage.ends == (0.1, 0.5)
    assert stage.outputs.shape == (2, len(PLACES), len(rows), 3)
    assert stage.edge == tuple(place >= EDGE for place in PLACES)
    network, x = sweep.average.network, reference.data.x[rows]
    for direction, shift in ((0, -0.4), (1, 2.0)):
        expected = sweep.evaluator.outputs(network, x + shift)
        torch.testing.assert_close(stage.outputs[direction, -1], expected)
    torch.testing.assert_close(stage.rest, sweep.evaluator.outputs(network, x))


def test_a_sweep_depends_on_its_seed_and_transform_only(reference):
    first, second = (Sweep(reference, Shift(4.0), CONFIG, "x") for _ in range(2))
    torch.manual_seed(1)
    one = first.train((0.2, 0.2))
    torch.manual_seed(2)
    two = second.train((0.2, 0.2))
    assert one.outputs.equal(two.outputs)
    other = Sweep(reference, Shift(4.0), CONFIG, "y").train((0.2, 0.2))
    assert not one.outputs.equal(other.outputs)


def test_merged_classes_share_their_targets(reference):
    sweep = Sweep(reference, Shift(4.0), CONFIG, "x")
    before = reference.targets.clone()
    sweep.merge(torch.tensor([False, True, True]))
    assert reference.targets.equal(before)
    assert sweep.targets[:, 1].equal(sweep.targets[:, 2])
    torch.testing.assert_close(sweep.targets.sum(1), before.sum(1))
    assert sweep.targets[:, 0].equal(before[:, 0])


def test_a_stage_without_time_is_none(reference):
    sweep = Sweep(reference, Shift(4.0), CONFIG, "x")
    assert sweep.train((0.2, 0.2), end=0.0) is None
    assert sweep.loop.done == 0


def test_the_steps_of_a_stage_are_repeated(reference):
    sweep = Sweep(reference, Shift(4.0), CONFIG, "x")
    assert sweep.train((0.2, 0.2), times=2) is not None
    assert sweep.loop.done == 2 * sweep.steps
