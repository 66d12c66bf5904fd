"""RangeTuner: how ranges move, and which mistakes are explained."""

import math

import pytest
import torch
from specimens import seeded
from torch import nn
from tuned import Add, Lift, Negate, Scatter, scripted, tuned

from augnet import AugmentationLayer, AugmentationModule, AugNet, RangeTuner
from augnet.layers.edges import Choice
from augnet.layers.running import RunningMeans
from augnet.transforms import (
    HorizontalFlip,
    VerticalFlip,
)


def reference(losses, choices, count, tolerance, rate, warmup, start):
    """Follow the rule for one layer, one number at a time."""
    base = [0.0, 0.0]
    edges = [[0.0, 0.0] for _ in range(count)]
    magnitudes = [start] * count
    history = []
    for values, (transform, edge, *_) in zip(losses, choices, strict=True):
        none = [v for v, t in zip(values, transform, strict=True) if t == count]
        if none:
            base = [0.98 * base[0] + sum(none), 0.98 * base[1] + len(none)]
        for q in range(count):
            at_edge = [
                v - base[0] / base[1]
                for v, t, e in zip(values, transform, edge, strict=True)
                if t == q and e
            ]
            if at_edge:
                edges[q] = [0.95 * edges[q][0] + sum(at_edge), 0.95 * edges[q][1] + len(at_edge)]
        if len(history) >= warmup:
            for q, (total, weight) in enumerate(edges):
                room = (tolerance - total / weight) / tolerance
                moved = math.log(magnitudes[q]) + rate * min(1, max(-1, room))
                magnitudes[q] = min(1.0, max(0.001, math.exp(moved)))
        history.append(list(magnitudes))
    return history, [total / weight for total, weight in edges]


def test_ranges_follow_the_rule():
    layer, tuner = tuned(Add(), Lift(), Scatter(), tolerance=0.2, rate=0.1, warmup=5, start=0.3)
    generator, x = seeded(0), torch.zeros(40, 3)
    losses, choices, moved = [], [], []
    for _ in range(60):
        layer(x, generator)
        losses.append(torch.rand(40, generator=generator))
        choices.append([part.tolist() for part in layer.choice])
        tuner.step(losses[-1])
        moved.append(layer.magnitudes.tolist())
    history, costs = reference([v.tolist() for v in losses], choices, 3, 0.2, 0.1, 5, 0.3)
    assert moved[4] == pytest.approx([0.3] * 3)
    assert moved[-1] != pytest.approx([0.3] * 3, abs=0.01)
    for ours, theirs in zip(moved, history, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    assert [row.cost for row in tuner.table()] == pytest.approx(costs, abs=1e-5)


def test_one_step_moves_by_the_rate_at_most():
    layer, tuner = tuned(Add(), Lift(), Scatter(), tolerance=0.1, rate=0.02, warmup=0, start=0.2)
    scripted(tuner, torch.zeros(64, 3), [[0.0, 0.1, 0.15]])
    expected = [0.2 * math.exp(0.02), 0.2, 0.2 * math.exp(-0.01)]
    assert layer.magnitudes.tolist() == pytest.approx(expected, rel=1e-5)
    layer, tuner = tuned(Add(), tolerance=0.1, rate=0.02, warmup=0, start=0.2)
    scripted(tuner, torch.zeros(64, 3), [[9.0]])
    assert layer.magnitudes.item() == pytest.approx(0.2 * math.exp(-0.02), rel=1e-5)


def test_free_edges_reach_the_limit_and_dear_ones_the_smallest_magnitude():
    layer, tuner = tuned(Add(), Lift(), rate=0.5, warmup=0)
    for _ in range(20):
        scripted(tuner, torch.zeros(32, 3), [[0.0, 1.0]])
    assert layer.magnitudes.tolist() == pytest.approx([1.0, 0.001])
    for _ in range(100):
        scripted(tuner, torch.zeros(32, 3), [[1.0, 0.0]])
    assert layer.magnitudes.tolist() == pytest.approx([0.001, 1.0])


def test_nothing_moves_before_the_warm_up_is_over():
    layer, tuner = tuned(Add(), warmup=3)
    for _ in range(3):
        scripted(tuner, torch.zeros(32, 3), [[0.0]])
    assert layer.magnitudes.item() == pytest.approx(0.05)
    scripted(tuner, torch.zeros(32, 3), [[0.0]])
    assert layer.magnitudes.item() == pytest.approx(0.05 * math.exp(0.02))


def test_several_layers_move_by_edges_that_no_other_layer_changes():
    module = AugmentationModule(AugmentationLayer(Add(), Lift()), AugmentationLayer(Add()))
    tuner = RangeTuner(module, tolerance=0.1, warmup=0, rate=0.1, start=0.1)
    scripted(tuner, torch.zeros(64, 3), [[0.0, 0.2], [0.05]])
    expected = [math.exp(0.1), math.exp(-0.1), math.exp(0.05)]
    assert tuner.magnitudes.tolist() == pytest.approx([0.1 * e for e in expected], rel=1e-4)
    # A layer that was called on its own is not alone: such samples are not counted.
    module(torch.zeros(64, 3))
    before = [row.samples for row in tuner.table()]
    transform, *rest = module[1].choice
    module[1].choice = Choice(torch.zeros_like(transform), *rest)
    tuner.step(torch.zeros(64))
    after = [row.samples for row in tuner.table()]
    assert after[:2] == before[:2]


def test_the_average_is_that_of_the_last_steps():
    layer, tuner = tuned(Add(), warmup=0, rate=0.5)
    values = []
    for step in range(120):
        scripted(tuner, torch.zeros(8, 3), [[0.0 if step < 60 or step % 2 else 1.0]])
        values.append(layer.magnitudes.item())
    weights = torch.tensor([math.prod(range(t + 1, t + 7)) for t in range(120)]).double()
    expected = (weights * torch.tensor(values).double()).sum() / weights.sum()
    assert tuner.average.item() == pytest.approx(expected.item(), rel=1e-4)
    center = (weights * torch.arange(120)).sum() / weights.sum()
    assert center.item() == pytest.approx(120 * 7 / 8, abs=1)


def test_losses_that_are_not_finite_are_left_out():
    results = []
    for poison in (None, math.nan, math.inf, 1e20):
        layer, tuner = tuned(Add(), Lift(), warmup=0)
        for seed in range(20):
            layer(torch.zeros(64, 3), seeded(seed))
            losses = torch.rand(64, generator=seeded(seed))
            if poison and seed == 3:
                losses[:] = poison
            if poison or seed != 3:
                tuner.step(losses)
        results.append(tuner)
    clean, *poisoned = results
    for tuner in poisoned:
        assert tuner.magnitudes.isfinite().all()
        assert torch.equal(tuner.edges.sums, clean.edges.sums)
        assert tuner.edges.error.isfinite().all()
        left_out = "64 losses were not finite, or above 1e+15, and were left out"
        assert left_out in str(tuner.table())
    assert "finite" not in str(clean.table())


def test_large_losses_that_count_leave_finite_errors():
    layer, tuner = tuned(Add(), Lift(), warmup=0)
    for seed in range(3):
        layer(torch.zeros(64, 3), seeded(seed))
        tuner.step(torch.full((64,), 1e15))
    assert tuner.edges.error.isfinite().all()
    assert tuner.base.error.isfinite().all()
    assert "left out" not in str(tuner.table())


def test_the_standard_error_is_that_of_repeated_runs():
    runs = RunningMeans(2000, 0.9, torch.zeros(1))
    for count in (3, 1, 0, 7, 2, 4) * 5:
        values = 5 + 2 * torch.randn(count, 2000)
        sizes = torch.full((2000,), float(count))
        runs.update(sizes, values.sum(0), values.square().sum(0))
    assert runs.mean.mean().item() == pytest.approx(5, abs=0.03)
    spread_of_means, error = runs.mean.std().item(), runs.error.square().mean().sqrt().item()
    assert error == pytest.approx(spread_of_means, rel=0.06)


# Transforms without a range.


def test_bernoulli_transforms_keep_their_probability():
    layer = AugmentationLayer(Add(), Negate(limit=0.8), magnitude=[0.5, 0.5])
    tuner = RangeTuner(layer, warmup=0)
    x = torch.zeros(800, 3)
    for seed in range(5):
        view = layer(x, seeded(seed))
        transform, edge, *_ = layer.choice
        assert not edge[transform == 1].any()
        applied = view[:, 0] == -1000
        assert (transform[applied] == 1).all()
        assert (transform == 1).sum() == 300
        assert 0.3 < applied[transform == 1].float().mean() < 0.5
        tuner.step(torch.rand(800))
    assert layer.magnitudes[1] == 0.5
    table = tuner.table()
    assert [row.name for row in table] == ["add"]
    assert "negate with probability 0.40: it has no range to tune; learn decides" in str(table)


def test_a_layer_of_bernoulli_transforms_acts_on_all_samples():
    flips = AugmentationLayer(Negate(limit=1.0), magnitude=1.0)
    module = AugmentationModule(flips, AugmentationLayer(Add()))
    tuner = RangeTuner(module, warmup=0)
    x = torch.zeros(64, 3)
    assert (module(x) < -900).all()
    losses = torch.where(module[1].choice.edge, 1.3, 1.0)
    tuner.step(losses)
    (row,) = tuner.table()
    assert row.cost == pytest.approx(0.3)
    assert flips.magnitudes.item() == 1
    assert row.layer == 2


def test_flips_alone_are_refused():
    with pytest.raises(ValueError, match="no range to tune: horizontal_flip, vertical_flip is"):
        RangeTuner(AugmentationLayer(HorizontalFlip(), VerticalFlip()))


# Mistakes.


def test_mistakes_are_explained():
    x = torch.zeros(16, 3)
    layer, tuner = tuned(Add())
    with pytest.raises(RuntimeError, match="there was none: call it once per batch"):
        tuner.step(torch.zeros(16))
    layer(x)
    with pytest.raises(ValueError, match=r'got \(\): .*reduction="none"'):
        tuner.step(torch.zeros(16).mean())
    with pytest.raises(ValueError, match="got float"):
        tuner.step(0.5)
    with pytest.raises(ValueError, match="had 16 samples, and there are 8 losses"):
        tuner.step(torch.zeros(8))
    layer.eval()
    with pytest.raises(RuntimeError, match=r"call net\.train"):
        tuner.step(torch.zeros(16))
    layer.train()
    tuner.step(torch.zeros(16))
    with pytest.raises(RuntimeError, match="there was none: call it once per batch"):
        tuner.step(torch.zeros(16))


def test_settings_are_checked():
    layer = AugmentationLayer(Add())
    with pytest.raises(TypeError, match=r"got AugNet: RangeTuner\(net.augment\)"):
        RangeTuner(AugNet(layer, nn.Identity()))
    for wrong in ({"tolerance": 0}, {"rate": -1.0}, {"warmup": -1}):
        with pytest.raises(ValueError, match="above 0"):
            RangeTuner(layer, **wrong)
    for start in (0.0, 1.5):
        with pytest.raises(ValueError, match="start is a magnitude"):
            RangeTuner(layer, start=start)
    with pytest.raises(ValueError, match="the same layer is in this module more than once"):
        RangeTuner(AugmentationModule(layer, layer))
    assert not layer.tuned
    assert RangeTuner(AugmentationLayer(Add(), magnitude=0.7), start=None).magnitudes == 0.7


@pytest.mark.parametrize("part", [True, False])
def test_several_copies_are_refused_in_training(part):
    module = AugmentationModule(AugmentationLayer(Add()))
    net = AugNet(module, nn.Identity(), copies=3, train_copies=2)
    tuner = RangeTuner(module[0] if part else module)
    with pytest.raises(ValueError, match="average over train_copies=2: use train_copies=1"):
        net(torch.zeros(4, 3))
    net.eval()(torch.zeros(4, 3))
    tuner.finish()
    net.train()(torch.zeros(4, 3))


def test_no_range_grows_before_the_network_knows_something():
    """Edges cost nothing. A network that knows nothing has a loss of 1; the tolerance is 0.1."""
    layer, tuner = tuned(Add(), tolerance=0.1, rate=0.5, warmup=0, start=0.2, chance=1.0)
    assert not tuner.table().notes
    scripted(tuner, torch.zeros(64, 3), [[0.0]], base=0.95)
    assert layer.magnitudes.item() == pytest.approx(0.2)
    (note,) = tuner.table().notes
    assert "cost 0.95" in note
    assert "knows nothing has 1." in note
    for _ in range(200):  # the running mean falls below 0.9
        scripted(tuner, torch.zeros(64, 3), [[0.0]], base=0.5)
    assert layer.magnitudes.item() == 1
    assert not tuner.table().notes


def test_ranges_that_cost_too_much_shrink_whatever_the_network_knows():
    layer, tuner = tuned(Add(), tolerance=0.1, rate=0.5, warmup=0, start=0.2, chance=1.0)
    scripted(tuner, torch.zeros(64, 3), [[0.3]], base=1.0)
    assert layer.magnitudes.item() == pytest.approx(0.2 * math.exp(-0.5))


@pytest.mark.parametrize("chance", [math.nan, math.inf])
def test_the_loss_of_chance_is_a_number(chance):
    with pytest.raises(ValueError, match="chance is the loss of a net that knows nothing"):
        tuned(Add(), chance=chance)
