"""The gradients of bilevel searches, where the truth can be computed."""

import pytest
import torch
from planted import task
from torch import nn

from augnet.paper.search.relax import Draw, Pairs, relax
from augnet.paper.search.unrolled import Unrolled


@pytest.mark.parametrize(("scale", "cut"), [(0.3, False), (1.0, True)])
def test_the_hypergradient_is_that_of_the_unrolled_loss(scale, cut):
    torch.manual_seed(0)
    trunk = nn.Linear(3, 1, bias=False).double()
    x, y, xv, yv = (scale * torch.randn(8, n, dtype=torch.float64) for n in (3, 1, 3, 1))
    alpha = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    unrolled = Unrolled(trunk, step=0.05)

    def train():
        return (trunk(x * (1 + alpha)) - y).square().mean()

    def valid():
        return (trunk(xv) - yv).square().mean()

    def after(value):
        with torch.no_grad():
            weight = trunk.weight.detach()
        weight = weight.clone().requires_grad_()
        loss = ((x * (1 + value)) @ weight.T - y).square().mean()
        (gradient,) = torch.autograd.grad(loss, weight, create_graph=True)
        moved = weight - 0.05 / max(1.0, gradient.norm().item()) * gradient
        return (xv @ moved.T - yv).square().mean()

    before = trunk.weight.clone()
    loss, direction = unrolled.after(train, valid)
    (found,) = unrolled.hypergradient(train, direction, [alpha])
    assert torch.equal(trunk.weight, before)
    assert loss == pytest.approx(after(torch.tensor(0.3)).item())
    length = torch.autograd.grad(train(), trunk.weight)[0].norm().item()
    assert (length > 1) == cut
    (truth,) = torch.autograd.grad(after(alpha), alpha)
    assert found.item() == pytest.approx(truth.item(), rel=1e-3)


def test_relax_is_unbiased():
    torch.manual_seed(0)
    policy = Pairs(task().transforms[:3])
    with torch.no_grad():
        policy.logits.copy_(torch.tensor([0.5, 0.0, -0.5]))
        policy.gates.copy_(0.3 * torch.randn(3, 2))
    surrogate = nn.Sequential(nn.Linear(9, 8), nn.Tanh(), nn.Linear(8, 1))
    worth = torch.tensor([1.0, -2.0, 0.5])
    generator = torch.Generator().manual_seed(0)
    parameters = [policy.logits, policy.gates]
    total = [torch.zeros_like(p) for p in parameters]
    count = 3000
    for _ in range(count):
        draw = Draw(policy, generator)
        loss = worth[draw.pair].item() * (1 + 2 * draw.applied[0] - draw.applied[1])
        for sum_, gradient in zip(total, relax(loss, draw, surrogate, parameters), strict=True):
            sum_ += gradient.detach() / count
    odds = torch.sigmoid(policy.gates)
    expected = (torch.softmax(policy.logits, 0) * worth * (1 + 2 * odds[:, 0] - odds[:, 1])).sum()
    truth = torch.autograd.grad(expected, parameters)
    for found, right in zip(total, truth, strict=True):
        assert (found - right).abs().max() < 0.1


def test_gates_that_were_not_drawn_are_not_conditioned():
    policy = Pairs(task().transforms[:3])
    draw = Draw(policy, torch.Generator().manual_seed(0))
    free, conditional = (
        view[3:].reshape(3, 2) / view[:3, None] for view in (draw.relaxed, draw.conditional)
    )
    same = torch.isclose(free, conditional).all(1)
    assert [bool(each) for each in same] == [pair != draw.pair for pair in range(3)]
