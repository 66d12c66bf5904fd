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
    average, one, two = WeightAverage(start, 0.5), moved(start, 1), moved(start, -1)
    for other in (one, two, one):
        before = average.network[0].weight.clone()
        average.update(other)
        towards = (average.network[0].weight - before) * (other[0].weight - before)
        assert (towards > 0).all()


class Centered(nn.Module):
    """Subtract a running mean, which is assigned and not changed in place."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("nothing", None)

    def forward(self, x):
        """Update the mean, and predict."""
        self.mean = 0.5 * self.mean + 0.5 * x.mean(0)
        return self.linear(x - self.mean)


def test_tensors_that_are_replaced_are_followed():
    start = Centered()
    average = WeightAverage(start, 0.5)
    for _ in range(40):
        start(torch.ones(4, 3))
        average.update(start)
    torch.testing.assert_close(average.network.mean, torch.ones(3))
    start.double()
    average.network.double()
    start.linear.weight = nn.Parameter(torch.full((3, 3), 9.0).double())
    for _ in range(40):
        average.update(start)
    torch.testing.assert_close(average.network.linear.weight, start.linear.weight.detach())


def test_shared_weights_are_averaged_once():
    start = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    start[1].weight = start[0].weight
    average, other = WeightAverage(start, 0.9), copy.deepcopy(start)
    with torch.no_grad():
        other[0].weight.add_(11)
    average.update(other)
    assert average.network[1].weight is average.network[0].weight
    torch.testing.assert_close(average.network[0].weight, start[0].weight.detach() + 10)


def test_complex_weights_are_averaged():
    start = nn.Module()
    start.weight = nn.Parameter(torch.zeros(2, dtype=torch.complex64))
    average, other = WeightAverage(start, 0.9), copy.deepcopy(start)
    with torch.no_grad():
        other.weight.fill_(11 + 11j)
    average.update(other)
    torch.testing.assert_close(average.network.weight, torch.full((2,), 10 + 10j))
