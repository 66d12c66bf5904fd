"""A control is trained as branches are, without a transform, and branches are compared with it."""

import pytest
import torch
from learn_tasks import SPECS, Clock, Shift, few, generator, levels, trained_reference

from augnet.learn import LearnConfig, Learner
from augnet.learn.branch import Branch
from augnet.learn.control import control_errors
from augnet.transforms import AmplitudeScale, SignFlip

CONFIG = LearnConfig(trunk="mlp", budget=60)


def trained(x, y, config=CONFIG):
    return trained_reference(x, y, config)


def values():
    x = torch.rand(200, 3, generator=generator())
    return x, x[:, 0]


def test_noise_costs_a_control_as_much_as_branches():
    reference = trained(*values())
    few_errors, _ = control_errors(reference, LearnConfig(trunk="mlp", trace_noise=1e-6))
    many, _ = control_errors(reference, LearnConfig(trunk="mlp", trace_noise=2.0))
    assert few_errors.mean() < 0.5 * many.mean()


def test_one_seed_gives_one_control_and_leaves_the_random_state():
    reference = trained(*few())
    state = torch.get_rng_state()
    first, steps = control_errors(reference, CONFIG)
    assert torch.get_rng_state().equal(state)
    torch.rand(5)
    assert control_errors(reference, CONFIG)[0].equal(first)
    assert steps == round(CONFIG.control_steps * reference.planned)
    assert first.shape == reference.errors.shape


def test_without_time_the_errors_are_those_of_the_reference(monkeypatch):
    reference = trained(*values())
    Clock(monkeypatch)
    errors, steps = control_errors(reference, CONFIG, seconds=3.0)
    assert errors is reference.errors
    assert steps < round(CONFIG.control_steps * reference.planned)


def test_transforms_that_leave_traces_are_compared_with_the_control():
    reference = trained(*levels())
    reference.control = torch.ones_like(reference.errors)
    assert Branch(reference, Shift(1.0), CONFIG).before is reference.control
    assert Branch(reference, AmplitudeScale(8.0), CONFIG).before is reference.errors
    assert Branch(reference, SignFlip(), CONFIG).before is reference.errors


@pytest.mark.parametrize(("transforms", "controls"), [([Shift(1.0)], 1), (SPECS, 0)])
def test_there_is_a_control_if_a_transform_that_leaves_traces_is_offered(transforms, controls):
    learner = Learner(*levels(), transforms, trunk="mlp", budget=60)
    for _ in learner:
        if learner.search.finished:
            break
    search = learner.search
    assert (search.control is not None) == bool(controls)
    assert bool(search.control_steps) == bool(controls)
    done = search.reference.loop.done + search.control_steps + search.branch_steps
    assert search.steps == done
    other = Learner(*levels(), transforms, trunk="mlp", budget=60)
    other.load_state_dict(learner.state_dict())
    assert other.search.steps == done
    if controls:
        assert other.search.control.equal(search.control)
