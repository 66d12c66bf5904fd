"""The optimizer takes the steps of torch's AdamW, with one kernel where there is one."""

import copy

import pytest
import torch
from torch import nn

from augnet.training import adamw


def test_steps_are_those_of_adamw():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    other = copy.deepcopy(network)
    ours = adamw(network.parameters(), 1e-2, 0.1)
    theirs = torch.optim.AdamW(other.parameters(), lr=1e-2, weight_decay=0.1, fused=False)
    assert ours.param_groups[0]["fused"]
    for _ in range(20):
        x = torch.randn(8, 3)
        for each, optimizer in ((network, ours), (other, theirs)):
            optimizer.zero_grad()
            each(x).square().sum().backward()
            optimizer.step()
    for one, two in zip(network.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize(
    "values", [torch.randn(4, 12)[:, :6], torch.randn(6, 4).T], ids=["sliced", "transposed"]
)
def test_parameters_that_are_not_contiguous_are_trained_right(values):
    ours, theirs = nn.Parameter(values), nn.Parameter(values.clone().contiguous())
    assert not ours.is_contiguous()
    pairs = (
        (ours, adamw([ours], 0.1, 0.1)),
        (theirs, torch.optim.AdamW([theirs], lr=0.1, weight_decay=0.1, fused=False)),
    )
    for _ in range(5):
        for each, optimizer in pairs:
            optimizer.zero_grad()
            (each - 1).pow(4).sum().backward()
            optimizer.step()
    torch.testing.assert_close(ours.detach().contiguous(), theirs.detach())


def test_parameters_that_the_kernel_does_not_take_are_trained_too():
    parameter = nn.Parameter(torch.ones(2, dtype=torch.complex64))
    optimizer = adamw([parameter], 1e-2, 0.0)
    parameter.abs().sum().backward()
    optimizer.step()
    assert (parameter.abs() < 1).all()
