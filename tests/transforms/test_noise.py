"""Noise and relaxations: where randomness and its gradients come from."""

import pytest
import torch
from specimens import seeded

from augnet.transforms import noise
from augnet.transforms.relax import bernoulli, straight_through, unit_interval, window

LIKE = torch.zeros(1)


def test_permutations_are_even():
    draws = torch.stack([noise.permutation(LIKE, 3, seeded(seed)) for seed in range(1200)])
    counts = (draws @ torch.tensor([9, 3, 1])).unique(return_counts=True)[1]
    assert len(counts) == 6
    assert counts.min() > 150


@pytest.mark.parametrize("size", [2, 3, 10])
def test_derangements_pair_nobody_with_themselves(size):
    for seed in range(50):
        other = noise.derangement(LIKE, size, seeded(seed))
        assert sorted(other.tolist()) == list(range(size))
        assert (other != torch.arange(size)).all()


def test_transforms_are_drawn_by_their_weights():
    weights = torch.tensor([0.1, 0.6, 0.0, 0.3])
    drawn = noise.categorical(weights, 20_000, seeded(0)).bincount(minlength=4) / 20_000
    torch.testing.assert_close(drawn, weights, atol=0.015, rtol=0)
    assert drawn[2] == 0


def test_a_weight_of_one_is_always_drawn():
    for index in range(3):
        weights = torch.zeros(3)
        weights[index] = 1
        assert (noise.categorical(weights, 1000, seeded(0)) == index).all()


def test_a_generator_on_another_device_is_refused():
    with pytest.raises(ValueError, match=r"generator is on cpu and the input is on meta"):
        noise.uniform(torch.zeros(1, device="meta"), (3,), seeded(0))


def test_straight_through_shows_one_thing_and_learns_another():
    value = torch.tensor([0.1, 3.0])
    x = torch.tensor([1e8, 2.0], requires_grad=True)
    shown = straight_through(value, 5 * x)
    assert torch.equal(shown, value)
    (gradient,) = torch.autograd.grad(shown.sum(), x)
    assert gradient.tolist() == [5, 5]


def test_coins_are_hard_and_their_gradient_is_that_of_their_expectation():
    u = torch.rand(20_000, generator=seeded(0))
    for p in (0.0, 0.01, 0.3, 0.5, 0.98, 1.0):
        probability = torch.tensor(p, requires_grad=True)
        drawn = bernoulli(u, probability)
        assert set(drawn.unique().tolist()) <= {0.0, 1.0}
        assert drawn.mean().item() == pytest.approx(p, abs=0.02)
        (gradient,) = torch.autograd.grad(drawn.mean(), probability)
        assert gradient.item() == pytest.approx(1, abs=0.05)


def test_what_lies_between_the_outcomes_of_a_coin_does_not_count():
    """Halfway to its mirror an image is a ghost, which costs; a draw never shows it."""
    u = torch.rand(200_000, generator=seeded(0))
    for p in (0.06, 0.25, 0.5, 0.9):
        probability = torch.tensor(p, requires_grad=True)
        drawn = bernoulli(u, probability)
        loss = 0.3 * drawn + 5 * drawn * (1 - drawn)  # 0 if not applied, 0.3 if applied
        (gradient,) = torch.autograd.grad(loss.mean(), probability)
        assert gradient.item() == pytest.approx(0.3, abs=0.1)


def test_windows_are_nothing_at_length_zero_and_otherwise_as_long_as_they_say():
    position = torch.arange(200.0)
    assert (window(position, torch.tensor(50.0), torch.tensor(0.0), 2.0) == 0).all()
    total = window(position, torch.tensor(50.0), torch.tensor(30.0), 2.0).sum()
    assert total.item() == pytest.approx(30, rel=1e-3)


def test_the_unit_interval_leads_back_in_but_not_further_out():
    raw = torch.tensor([-0.5, 0.0, 0.3, 1.0, 1.5], requires_grad=True)
    inside = unit_interval(raw)
    assert inside.tolist() == pytest.approx([0, 0, 0.3, 1, 1])
    (down,) = torch.autograd.grad(unit_interval(raw).sum(), raw)
    (up,) = torch.autograd.grad(-unit_interval(raw).sum(), raw)
    assert down.tolist() == [0, 0, 1, 1, 1]  # descent lowers: nothing below 0 goes lower
    assert up.tolist() == [-1, -1, -1, 0, 0]  # descent raises: nothing above 1 goes higher


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
@pytest.mark.parametrize(("start", "away", "border"), [(0.05, 1.0, 0.0), (0.95, -1.0, 1.0)])
def test_a_magnitude_pushed_out_of_the_box_comes_back(optimizer, start, away, border):
    raw = torch.tensor([start], requires_grad=True)
    steps = optimizer([raw], lr=0.02)

    def push(direction):
        steps.zero_grad()
        (direction * unit_interval(raw)).sum().backward()
        steps.step()
        return unit_interval(raw).item()

    for _ in range(200):
        pushed = push(away)
    assert pushed == border
    assert any(0 < push(-away) < 1 for _ in range(40))
