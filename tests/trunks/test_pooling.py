"""Pooling is that of torch, with its gradient."""

import pytest
import torch
import torch.nn.functional as F

from augnet.trunks import TRUNKS
from augnet.trunks.pooling import GridPool, MaxPool2

SHAPES = [(3, 2, 8, 6), (2, 1, 7, 9), (4, 2, 5)]


def images(shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.double)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("grad", [True, False])
def test_it_pools_as_torch_does(shape, grad):
    x = images(shape).requires_grad_(grad)
    assert MaxPool2()(x).equal(F.max_pool2d(x, 2))


@pytest.mark.parametrize("shape", SHAPES)
def test_its_gradient_is_that_of_torch(shape):
    x = images(shape).requires_grad_()
    gradients = [torch.autograd.grad(pool(x).square().sum(), x)[0] for pool in (MaxPool2(), torch2)]
    assert gradients[0].equal(gradients[1])
    assert torch.autograd.gradcheck(MaxPool2(), x)


def torch2(x):
    return F.max_pool2d(x, 2)


def test_of_equal_pixels_one_gets_the_gradient():
    x = torch.zeros(1, 1, 4, 4, requires_grad=True)
    MaxPool2()(x).sum().backward()
    squares = F.avg_pool2d(x.grad, 2, divisor_override=1)
    assert squares.equal(torch.ones(1, 1, 2, 2))


def test_it_can_be_exported():
    program = torch.export.export(MaxPool2(), (images((2, 1, 4, 4)).requires_grad_(),))
    x = images((2, 1, 4, 4)) + 1
    assert program.module()(x).equal(F.max_pool2d(x, 2))


@pytest.mark.parametrize("size", [(4, 4), (6, 7), (8, 8), (3, 20), (2, 5)])
def test_means_in_a_grid_are_those_of_torch(size):
    x = images((3, 2, *size)).requires_grad_()
    pools = GridPool(size, 4).double(), torch.nn.AdaptiveAvgPool2d(4)
    ours, torch2 = (pool(x) for pool in pools)
    assert ours.shape == torch2.shape
    assert ours.allclose(torch2, rtol=1e-6, atol=1e-7)
    gradients = [torch.autograd.grad(each.square().sum(), x)[0] for each in (ours, torch2)]
    assert gradients[0].allclose(gradients[1], rtol=1e-6, atol=1e-7)


def test_images_of_another_size_are_pooled_too():
    x = images((2, 1, 9, 5))
    assert GridPool((6, 6), 4).double()(x).equal(F.adaptive_avg_pool2d(x, 4))


def test_the_grid_is_no_part_of_a_saved_network():
    assert not GridPool((6, 6), 4).state_dict()


@pytest.mark.parametrize(
    "shape",
    [(1, 8, 8), (1, 12, 12), (1, 28, 28), (3, 32, 32), (3, 33, 47), (1, 105, 105), (3, 64, 200)],
)
@pytest.mark.parametrize("name", ["small", "medium"])
def test_trunks_know_the_size_of_what_they_pool(name, shape):
    trunk = TRUNKS[name](shape, 2).eval()
    (pool,) = (each for each in trunk.modules() if isinstance(each, GridPool))
    seen = []
    pool.register_forward_pre_hook(lambda _, given: seen.append(tuple(given[0].shape[-2:])))
    trunk(torch.rand(2, *shape))
    assert seen == [pool.size]
