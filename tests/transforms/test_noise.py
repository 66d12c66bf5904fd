"""Noise and relaxations: where randomness and its gradients come from."""

import pytest
import torch
from specimens import inputs, seeded, specimen

from augnet.testing.base import tensors
from augnet.transforms import TRANSFORMS, noise
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


def stratified(draw, copies=20, samples=2000):
    """Draw the params of all copies of a batch, five copies at a time: (C, B, ...)."""
    strata, drawn = noise.Strata(LIKE, seeded(0), copies), []
    for first in range(0, copies, 5):
        with strata.copy(first, 5) as source:
            drawn.append(draw((5 * samples,), source))
    return torch.cat(drawn).unflatten(0, (copies, samples))


def test_each_number_of_a_stratified_draw_has_strata_of_its_own():
    drawn = stratified(lambda shape, source: noise.uniform(LIKE, (*shape, 2, 3), source))
    for copies in (drawn, *drawn.split(5)):  # all of them, and each run
        parts = (copies * len(copies)).floor().sort(0).values
        places = torch.arange(float(len(copies))).reshape(-1, 1, 1, 1)
        assert (parts == places).float().mean() > 0.99  # rounding may cross over
    # Within a copy the six numbers are independent: so is whether each is below 0.2.
    below = (drawn.flatten(2) < 0.2).float()
    assert below.mean().item() == pytest.approx(0.2, abs=1e-3)
    assert below.prod(2).mean().item() == pytest.approx(0.2**6, abs=3e-4)
    for pair in (drawn[..., 0, :2], drawn[:, :, :, 0]):
        assert (pair[..., 0] * pair[..., 1]).mean().item() == pytest.approx(1 / 4, abs=5e-3)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_params_of_a_stratified_copy_are_as_independent_as_others(name):
    transform = specimen(name)
    if transform.batch_coupled:
        pytest.skip("its params are places in the batch")
    x = inputs(transform.domain, 1)[..., :20]

    def draw(shape, source):
        params = tensors(transform.sample_params((*shape, *x.shape[1:]), x, source))
        return torch.cat([each.reshape(len(each), -1) for each in params], 1)[:, :12]

    drawn = stratified(draw, samples=500)
    plain = draw((20 * 500,), seeded(0)).unflatten(0, (20, 500))
    for each in (drawn, plain):
        shared = each.flatten(0, 1).T.corrcoef().reshape(each.shape[2], -1)
        assert (shared - torch.eye(len(shared))).abs().max() < 0.06
    torch.testing.assert_close(drawn.mean((0, 1)), plain.mean((0, 1)), atol=0.05, rtol=0)


def test_draws_of_one_number_per_sample_have_one_order_per_sample():
    for shape in ((), (3,), (3, 1), (3, 1, 1)):
        strata, source = noise.Strata(LIKE, seeded(0), 4), seeded(0)
        with strata.copy(0) as generator:
            drawn = noise.uniform(LIKE, shape, generator)
        order = noise._order(4, shape[:1], {"generator": source})
        expected = (torch.rand(shape, generator=source) + order[0].reshape(shape)) / 4
        assert torch.equal(drawn, expected)


def test_large_draws_are_independent_and_cost_no_order():
    strata, source = noise.Strata(LIKE, seeded(0), 4), seeded(0)
    for first in range(4):
        with strata.copy(first) as generator:
            drawn = noise.uniform(LIKE, (3, 1, 9), generator)
        assert torch.equal(drawn, torch.rand(3, 1, 9, generator=source))
    assert strata.orders == []


def test_the_highest_stratum_is_below_one(monkeypatch):
    highest = 1 - 2**-24
    monkeypatch.setattr(torch, "rand", lambda shape, **source: torch.full(shape, highest))
    strata = noise.Strata(LIKE, seeded(0), 20)
    drawn = []
    for first in range(20):
        with strata.copy(first) as generator:
            drawn.append(noise.uniform(LIKE, (2,), generator))
    assert max(each.max().item() for each in drawn) == highest


def test_the_default_generator_of_mps_is_not_in_a_list(monkeypatch):
    generator = seeded(3)
    monkeypatch.setattr(torch.mps, "_get_default_mps_generator", lambda: generator)
    assert noise._default(torch.device("mps")) is generator


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
