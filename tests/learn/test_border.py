"""A border is where samples of one class have become samples of another."""

import pytest
import torch
from learn_tasks import Rule, generator, levels
from torch import nn

from augnet.learn import LearnConfig, inputs
from augnet.learn.border import _nearer, find_border
from augnet.learn.reference import Reference
from augnet.transforms import AmplitudeScale, GaussianNoise


def border(x, y, rule, transform):
    """Find the border for a reference that follows a rule."""
    data = inputs.prepare_data(x, y, generator())
    reference = Reference(data, nn.Linear(x.shape[1], 2), generator(), LearnConfig())
    reference.network = rule
    return find_border(reference, transform, generator(), LearnConfig())


def test_a_class_that_has_become_another_is_a_border():
    x, y = levels()  # levels 1 and 4: a factor of 4 makes one the other
    found = border(x, y, Rule(lambda x: x.mean(1) > 2), AmplitudeScale(8.0))
    assert 2 < 8.0**found < 5


def test_what_only_the_network_takes_for_another_class_is_none():
    y = torch.arange(160) % 2
    x = torch.eye(2)[y] + 0.02 * torch.randn(160, 2, generator=generator())

    def rule(x):  # one axis or the other; confused by what is large or small
        return torch.where(x[:, 1] > x[:, 0], x.norm(dim=1) > 0.5, x.norm(dim=1) > 2)

    assert border(x, y, Rule(rule), AmplitudeScale(8.0)) == 1


@pytest.mark.parametrize("values", [False, True])
def test_transforms_without_a_direction_and_values_have_none(values):
    x, y = levels()
    transform = AmplitudeScale(8.0) if values else GaussianNoise(2.0)
    y = y.float() + 0.01 * torch.rand(len(y), generator=generator()) if values else y
    data = inputs.prepare_data(x, y, generator())
    trunk = inputs.prepare_trunk("small", data)
    reference = Reference(data, trunk, generator(), LearnConfig())
    reference.network = trunk
    assert find_border(reference, transform, generator(), LearnConfig()) == 1


def test_samples_that_were_close_to_another_class_before_they_moved_are_no_evidence():
    others = torch.arange(10.0)[:, None]  # one apart
    near, nearer, away = others[:6] + 0.1, others[:6] + 0.05, others[:6] + 20
    assert not _nearer(near, nearer, others, LearnConfig())
    assert _nearer(away, nearer, others, LearnConfig())
    assert not _nearer(away, away - 1, others, LearnConfig())
