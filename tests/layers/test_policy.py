"""Policies: fixed transforms, in training alone."""

import pytest
import torch
from host_copies import HostCopies
from specimens import inputs, seeded

from augnet.layers import Policy, Step
from augnet.transforms import IMAGES, HorizontalFlip, Invert, Rotate


def test_each_sample_follows_one_sub_policy():
    policy = Policy([[Step(HorizontalFlip(1.0))], [Step(Invert(1.0)), Step(HorizontalFlip(1.0))]])
    x = torch.rand(2000, 1, 3, 4)
    view = policy(x, seeded(0))
    flipped = (view == x.flip(-1)).flatten(1).all(1)
    both = (view == (1 - x).flip(-1)).flatten(1).all(1)
    assert (flipped | both).all()
    assert flipped.float().mean().item() == pytest.approx(0.5, abs=0.04)


def test_steps_have_a_probability_and_a_magnitude():
    x = torch.rand(2000, 1, 3, 4)
    view = Policy([[Step(HorizontalFlip(1.0), probability=0.3)]])(x, seeded(0))
    moved = (view != x).flatten(1).any(1).float().mean().item()
    assert moved == pytest.approx(0.3, abs=0.03)
    x = inputs(IMAGES)
    assert torch.equal(Policy([[Step(Rotate(), magnitude=0.0)]])(x), x)


def test_fractions_are_copied_to_a_device_once():
    step = Step(Rotate(), fractions=(-1.0, 0.125))
    x = torch.zeros(8, 1, 5, 5, device="meta")
    step.sample_params(x.shape, x)
    with HostCopies() as copies:
        step.sample_params(x.shape, x)
    assert copies.calls == []
    for dtype in (torch.float32, torch.float64):
        drawn, _ = step.sample_params((100,), torch.zeros(100, dtype=dtype), seeded(0))
        assert drawn.dtype == dtype
        assert drawn.unique().tolist() == [-1.0, 0.125]


def test_eval_is_the_identity():
    x = inputs(IMAGES)
    assert Policy([[Step(Rotate())]]).eval()(x) is x


def test_bad_policies_and_inputs_are_refused():
    with pytest.raises(ValueError, match="at least one sub-policy"):
        Policy([[]])
    with pytest.raises(ValueError, match=r"probability lies in \[0, 1\]; got 2"):
        Step(Rotate(), probability=2)
    with pytest.raises(ValueError, match="rotate takes images"):
        Policy([[Step(Rotate())]])(torch.rand(3, 4))
