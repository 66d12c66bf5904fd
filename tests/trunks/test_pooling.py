"""Pooling is that of torch, with its gradient."""

import pytest
import torch
import torch.nn.functional as F

from augnet.trunks.pooling import MOST_TIMES, GridPool, MaxPool2, TimePool

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


@pytest.mark.parametrize("size", [(4, 4), (6, 7), (8, 8), (3, 20), (2, 5), (70, 60)])
def test_means_in_a_grid_are_those_of_torch(size):
    x = images((3, 2, *size)).requires_grad_()
    ours, torch2 = (pool(x) for pool in (GridPool(4), torch.nn.AdaptiveAvgPool2d(4)))
    assert ours.shape == torch2.shape
    assert ours.allclose(torch2, rtol=1e-12)
    gradients = [torch.autograd.grad(each.square().sum(), x)[0] for each in (ours, torch2)]
    assert gradients[0].allclose(gradients[1], rtol=1e-12)


def test_a_grid_that_was_used_without_gradients_can_be_trained():
    pool, x = GridPool(4), torch.rand(2, 1, 5, 6)
    with torch.inference_mode():
        pool(x)
    assert torch.autograd.grad(pool(x.requires_grad_()).sum(), x)[0].isfinite().all()


def test_a_grid_can_be_exported():
    x = torch.rand(2, 1, 5, 6)
    program = torch.export.export(GridPool(4), (x,))
    assert program.module()(x).allclose(GridPool(4)(x), atol=1e-6)


@pytest.mark.parametrize("times", [4, 7, 51, MOST_TIMES + 1])
def test_means_in_parts_of_the_time_are_those_of_torch(times):
    x = images((3, 2, times)).requires_grad_()
    ours, torch1 = (pool(x) for pool in (TimePool(4), torch.nn.AdaptiveAvgPool1d(4)))
    assert ours.shape == torch1.shape
    assert ours.allclose(torch1, rtol=1e-12)
    gradients = [torch.autograd.grad(each.square().sum(), x)[0] for each in (ours, torch1)]
    assert gradients[0].allclose(gradients[1], rtol=1e-12)


def test_parts_of_the_time_that_were_used_without_gradients_can_be_trained_and_exported():
    pool, x = TimePool(4), torch.rand(2, 1, 9)
    with torch.inference_mode():
        pool(x)
    assert torch.autograd.grad(pool(x.requires_grad_()).sum(), x)[0].isfinite().all()
    program = torch.export.export(pool, (x.detach(),))
    assert program.module()(x).allclose(pool(x), atol=1e-6)


@pytest.mark.parametrize(
    ("pool", "usual", "size"),
    [
        (TimePool(4), torch.nn.AdaptiveAvgPool1d(4), (9,)),
        (GridPool(4), torch.nn.AdaptiveAvgPool2d(4), (5, 6)),
    ],
)
def test_torch_pools_what_is_traced_or_of_low_precision(pool, usual, size):
    x = torch.rand(2, 1, *size)
    traced = torch.fx.symbolic_trace(torch.nn.Sequential(pool))
    assert traced(x).allclose(pool(x), atol=1e-6)
    assert pool(x.bfloat16()).equal(usual(x.bfloat16()))
    with torch.autocast("cpu"):
        assert pool(x).dtype == torch.float32


def test_long_signals_are_pooled_by_torch(monkeypatch):
    def refuse(*given):
        raise AssertionError("torch is faster here")

    monkeypatch.setattr("augnet.trunks.pooling._time_means", refuse)
    assert TimePool(4)(torch.rand(1, 1, MOST_TIMES + 1)).shape == (1, 1, 4)
    with pytest.raises(AssertionError, match="faster"):
        TimePool(4)(torch.rand(1, 1, MOST_TIMES))
