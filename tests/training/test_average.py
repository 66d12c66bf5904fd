"""An average of weights follows a network slowly, and is a network of its own."""

import copy

import pytest
import torch
from torch import nn

from augnet.training import WeightAverage


def network():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))


def moved(source, by):
    other = copy.deepcopy(source)
    with torch.no_grad():
        for each in (*other.parameters(), *other.buffers()):
            each.add_(by)
    return other


def test_the_first_updates_weigh_more_and_later_ones_as_the_factor_says():
    start = network().double()
    average, other = WeightAverage(start, 0.5), moved(start, 1)
    average.update(other)
    left = 1 / 11
    torch.testing.assert_close(average.network[0].weight, other[0].weight - left)
    for _ in range(9):
        average.update(other)
    assert average.updates == 10
    before = (other[0].weight - average.network[0].weight).mean().item()
    average.update(other)
    after = (other[0].weight - average.network[0].weight).mean().item()
    assert after == pytest.approx(0.5 * before, rel=1e-3)


def test_buffers_are_averaged_and_counts_copied():
    start = network()
    average, other = WeightAverage(start, 0.9), moved(start, 2)
    average.update(other)
    norm = average.network[1]
    torch.testing.assert_close(norm.running_mean, torch.full((4,), 2 * 10 / 11))
    assert norm.num_batches_tracked == 2


def test_the_average_is_in_eval_has_no_gradients_and_changes_nothing_else():
    start = network().train()
    before = copy.deepcopy(start.state_dict())
    average = WeightAverage(start, 0.9)
    assert not average.network.training
    assert not any(each.requires_grad for each in average.network.parameters())
    average.update(moved(start, 1))
    assert start.training
    assert all(each.requires_grad for each in start.parameters())
    assert all(torch.equal(start.state_dict()[name], before[name]) for name in before)


def test_an_average_may_follow_one_network_after_another():
    start = network()
    average, one, two = WeightAverage(start, 0.5), moved(start, 1), moved(start, 2)
    for other in (one, two, one):
        before = average.network[0].weight.clone()
        average.update(other)
        towards = (average.network[0].weight - before) * (other[0].weight - before)
        assert (towards > 0).all()
