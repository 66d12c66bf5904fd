"""Classes that differ by a transform meet at half of their gap; others do not."""

import torch
from learn_tasks import Shift, generator

from augnet.learn import LearnConfig
from augnet.learn.inputs import prepare_data
from augnet.learn.meeting import find_meetings
from augnet.transforms import AmplitudeScale, FrequencyShift

CONFIG = LearnConfig()
FRACTIONS = [0.125, 0.25, 0.5, 0.75, 1.0]


def test_levels_meet_at_half_of_their_gap():
    y = torch.arange(240) % 4
    level = torch.tensor([0.0, 1.0, 0.0, 2.5])[y][:, None].repeat(1, 4)
    level[:, 3] = torch.where(y < 2, 8.0, level[:, 3])  # two kinds, beside the level
    x = level + 0.05 * torch.randn(240, 4, generator=generator())
    x[:, 3] = torch.where(y < 2, x[:, 0] + 8, x[:, 0])
    data = prepare_data(x, y, generator())
    assert find_meetings(data, Shift(2.0), FRACTIONS, CONFIG) == [1, 1, 3, 3]  # 0.5 and 1.25


def test_tones_meet_although_their_phases_differ():
    y = torch.arange(240) % 3
    time = torch.arange(400) / 100
    phase = 2 * torch.pi * torch.rand(240, 1, generator=generator())
    tone = torch.sin(2 * torch.pi * torch.tensor([10.0, 13.5, 0.0])[y][:, None] * time + phase)
    noise = torch.randn(240, 400, generator=generator(1))
    x = torch.where((y == 2)[:, None], noise, tone + 0.1 * noise)[:, None]
    data = prepare_data(x, y, generator())
    found = find_meetings(data, FrequencyShift(8.0, sfreq=100.0), FRACTIONS, CONFIG)
    assert found == [1, 1, 5]  # before 2 of 8 Hz, and never


def test_signals_that_shrink_do_not_meet():
    """All samples come close to each other then, but not closer than those of one class."""
    y = torch.arange(240) % 3
    time = torch.arange(100) / 100
    shape = torch.stack([(6.28 * k * time).sin() for k in (3, 3, 7)])[y]
    x = torch.tensor([1.0, 4.0, 2.0])[y][:, None] * shape
    x = (x * (1 + 0.05 * torch.randn(240, 100, generator=generator())))[:, None]
    data = prepare_data(x, y, generator())
    found = find_meetings(data, AmplitudeScale(16.0), FRACTIONS, CONFIG)
    assert found == [1, 1, 5]  # a factor of 2, half of the gap, and never


def test_few_samples_meet_nothing():
    y = torch.arange(16) % 4
    x = y[:, None].float() + 0.01 * torch.randn(16, 3, generator=generator())
    data = prepare_data(x, y, generator())
    assert find_meetings(data, Shift(2.0), FRACTIONS, CONFIG) == [5] * 4
