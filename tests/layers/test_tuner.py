"""RangeTuner: what layers draw for it, how ranges move, and what users do with it."""

import copy
import io
import math
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
import torch.nn.functional as F
from specimens import inputs, seeded, specimen
from torch import Tensor, nn
from torch.multiprocessing.spawn import spawn

from augnet import AugmentationLayer, AugmentationModule, AugNet, RangeTuner
from augnet.layers.edges import Choice, draw_choices
from augnet.layers.running import RunningMeans
from augnet.transforms import (
    IMAGES,
    SIGNALS,
    Bernoulli,
    HorizontalFlip,
    Rotate,
    SamplePairing,
    ShearX,
    Signed,
    Transform,
    TranslateX,
    Unsigned,
    VerticalFlip,
    per_sample,
    spread,
)

dynamo = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


@dataclass(frozen=True)
class Add(Signed):
    """Add the strength, so that a view shows it."""

    limit: float = 8.0
    unit: ClassVar[str] = "added"

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:  # noqa: D102
        return x + spread(strength, x)


@dataclass(frozen=True)
class Lift(Unsigned):
    """Add the strength, which is positive."""

    limit: float = 8.0
    unit: ClassVar[str] = "added"

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:  # noqa: D102
        return x + spread(strength, x)


@dataclass(frozen=True)
class Scatter(Transform):
    """Add the strength to one of the values: a transform with params that are no strength."""

    limit: float = 8.0
    unit: ClassVar[str] = "added"

    def sample_params(self, shape, like, generator=None):  # noqa: D102
        return torch.randint(shape[1], shape[:1], generator=generator, device=like.device)

    def apply(self, x, magnitude, params):  # noqa: D102
        strength = self.strength(per_sample(magnitude, x))
        return x + F.one_hot(params, x.shape[1]) * strength[:, None]


@dataclass(frozen=True)
class Negate(Bernoulli):
    """Subtract 1000."""

    def transform(self, x: Tensor) -> Tensor:  # noqa: D102
        return x - 1000


def tuned(*transforms, size=64, **settings):
    layer = AugmentationLayer(*transforms)
    return layer, RangeTuner(layer, **settings)


def scripted(tuner, x, costs, base=1.0):
    """Make one step in which samples at the edge of a transform cost what it should."""
    tuner.augment(x)
    losses = torch.full((len(x),), base)
    for layer, layer_costs in zip(tuner.layers, costs, strict=True):
        every = torch.tensor([*layer_costs, 0.0])
        losses += torch.where(layer.choice.edge, every[layer.choice.transform], 0.0)
    tuner.step(losses)


# What layers draw.


@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize("size", [1, 7, 64, 400])
def test_a_quarter_gets_no_transform_and_half_of_the_others_an_edge(count, size):
    (choice,) = draw_choices([[Add()] * count], size, torch.zeros(1), seeded(size))
    groups = torch.bincount(choice.transform * 2 + choice.edge, minlength=2 * count + 2)
    *drawn, none, never = groups.tolist()
    assert abs(none - size / 4) < 1
    assert never == 0
    for samples in drawn:
        assert abs(samples - size * 0.75 / (2 * count)) <= 1


def test_small_batches_get_all_transforms_in_time():
    generator, seen = seeded(0), torch.zeros(6)
    for _ in range(500):
        (choice,) = draw_choices([[Add()] * 5], 1, torch.zeros(1), generator)
        seen[choice.transform] += 1
    torch.testing.assert_close(seen / 500, torch.tensor([0.15] * 5 + [0.25]), atol=0.06, rtol=0)


def test_a_sample_at_an_edge_has_exactly_the_strength_of_the_range():
    layer, _ = tuned(Add(), Lift(), Scatter(), start=0.25)
    x = torch.zeros(512, 3)
    view = layer(x, seeded(1))
    transform, edge = layer.choice
    strength = view.abs().amax(1)
    assert (strength[transform == 3] == 0).all()
    assert (strength[edge] == 2).all()
    assert (strength[(transform < 3) & ~edge] < 2).all()
    assert (view[transform == 2].count_nonzero(1) == 1).all()
    for index, low in ((0, -2.0), (1, 0.0), (2, 0.0)):
        for place in (edge, ~edge):
            values = (view.sum(1).sign() * strength)[(transform == index) & place]
            assert low <= values.min()
            if index == 0:  # both signs
                assert values.min() < 0 < values.max()
        inside = strength[(transform == index) & ~edge]
        assert inside.min() < 0.3
        assert 0.7 < inside.mean() < 1.3


def test_a_seed_gives_the_same_views():
    layer, _ = tuned(*map(specimen, ("rotate", "hue", "cutout", "horizontal_flip")))
    x = inputs(IMAGES, batch=16)
    assert torch.equal(layer(x, seeded(3)), layer(x, seeded(3)))
    assert not torch.equal(layer(x, seeded(3)), layer(x, seeded(4)))


@pytest.mark.parametrize(
    ("domain", "names"),
    [
        (IMAGES, ("rotate", "hue", "cutout", "sample_pairing", "horizontal_flip", "solarize")),
        (SIGNALS, ("frequency_shift", "channel_shuffle", "gaussian_noise", "time_mask")),
        (IMAGES, ("rotate", "shear_x", "horizontal_flip", "scale")),
    ],
)
def test_fast_draws_equal_the_plain_definition(domain, names):
    layer, _ = tuned(*map(specimen, names), start=0.6)
    x = inputs(domain, batch=32)
    params = layer.sample_params(x.shape, x, seeded(0))
    plain = layer.pick_by_mask(x, params)
    torch.testing.assert_close(layer.apply_params(x, params), plain, rtol=1e-5, atol=1e-5)
    none = layer.choice.transform == len(names)
    assert torch.equal(plain[none], x[none])
    if not layer.resampling:
        torch.testing.assert_close(layer.pick(x, params), plain, rtol=1e-5, atol=1e-5)


def test_each_sample_costs_one_transform(monkeypatch):
    rows = []
    original = Add.transform
    monkeypatch.setattr(
        Add, "transform", lambda self, x, s: rows.append(len(x)) or original(self, x, s)
    )
    layer, _ = tuned(*[Add(limit) for limit in (1, 2, 3, 4)])
    layer(torch.zeros(64, 3))
    assert sum(rows) == 48


def test_with_several_layers_each_edge_is_alone():
    module = AugmentationModule(AugmentationLayer(Add(), Lift()), AugmentationLayer(Add()))
    RangeTuner(module)
    module(torch.zeros(640, 3), seeded(0))
    (first, second) = (layer.choice for layer in module)
    none = (first.transform == 2) & (second.transform == 1)
    assert none.sum() == 160
    assert (first.edge | second.edge).sum() == 240
    assert (second.transform[first.edge] == 1).all()
    assert (first.transform[second.edge] == 2).all()
    for index in range(2):
        assert (first.edge & (first.transform == index)).sum() == 80
    together = ~(none | first.edge | second.edge)
    assert (first.transform[together] < 2).all()
    assert (second.transform[together] < 1).all()


def test_layers_of_maps_resample_once_while_they_are_tuned():
    module = AugmentationModule(
        AugmentationLayer(Rotate(), ShearX()), AugmentationLayer(TranslateX(), HorizontalFlip())
    )
    RangeTuner(module, start=0.5)
    x = inputs(IMAGES, batch=32)
    params = module.sample_params(x.shape, x, seeded(0))
    assert [len(run) for run in module._runs(params)] == [2]
    view = module.apply_params(x, params)
    first, second = (layer.choice for layer in module)
    alone = (first.transform == 2) | (second.transform == 2)
    one_by_one = module[1].apply_params(module[0].apply_params(x, params[0]), params[1])
    torch.testing.assert_close(view[alone], one_by_one[alone], rtol=1e-4, atol=1e-4)


# How ranges move.


def reference(losses, choices, count, tolerance, rate, warmup, start):
    """Follow the rule for one layer, one number at a time."""
    base = [0.0, 0.0]
    edges = [[0.0, 0.0] for _ in range(count)]
    magnitudes = [start] * count
    history = []
    for values, (transform, edge) in zip(losses, choices, strict=True):
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
    transform, edge = module[1].choice
    module[1].choice = Choice(torch.zeros_like(transform), edge)
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
    for poison in (None, math.nan, math.inf):
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
        assert "64 losses were not finite and were left out" in str(tuner.table())
    assert "finite" not in str(clean.table())


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
        transform, edge = layer.choice
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


# In a training.


def bars(size=512):
    """Make vertical and horizontal bars, each rotated by up to 15 degrees."""
    bar = torch.zeros(1, 25, 25)
    bar[:, 4:-4, 11:14] = 1
    y = torch.randint(2, (size,))
    return Rotate(limit=15)(torch.where(y[:, None, None, None] == 0, bar, bar.mT)), y


def bar_net(*transforms):
    trunk = nn.Sequential(
        nn.Conv2d(1, 8, 7, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(),
        nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 2),
    )  # fmt: skip
    return AugNet(AugmentationModule(AugmentationLayer(*transforms)), trunk)


def train(net, tuner, optimizer, x, y, steps, generator):
    for _ in range(steps):
        rows = torch.randint(len(x), (48,), generator=generator)
        losses = F.cross_entropy(net(x[rows], generator), y[rows], reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        tuner.step(losses)


def test_a_short_training_finds_the_range():
    y = torch.arange(256) % 2
    x = (8.0 * y - 4)[:, None] + torch.empty(256, 1).uniform_(-1, 1)  # classes meet at 0
    trunk = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 2))
    net = AugNet(AugmentationLayer(Add(limit=12)), trunk)
    tuner = RangeTuner(net.augment, warmup=50, rate=0.05)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-2)
    train(net, tuner, optimizer, x, y, 300, seeded(0))
    (row,) = tuner.finish()
    assert row.strength == pytest.approx(3, rel=0.1)
    assert (net.eval()(x).argmax(1) == y).float().mean() > 0.97


@pytest.mark.slow
def test_the_range_of_a_rotation_is_found():
    for seed in range(3):
        torch.manual_seed(seed)
        x, y = bars()
        net = bar_net(Rotate(limit=90))
        tuner = RangeTuner(net.augment)
        optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
        train(net, tuner, optimizer, x, y, 400, seeded(seed))
        (row,) = tuner.finish()
        assert 27 < row.strength < 33  # at 30 + 15 degrees the classes meet
        assert row.unit == "degrees"
        assert (net.eval()(x).argmax(1) == y).float().mean() > 0.97


@pytest.mark.slow
def test_the_range_is_found_beside_other_transforms():
    for seed in range(3):
        torch.manual_seed(seed)
        x, y = bars(1024)
        net = bar_net(Rotate(limit=90), TranslateX(0.1), VerticalFlip())
        tuner = RangeTuner(net.augment)
        optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
        train(net, tuner, optimizer, x, y, 900, seeded(seed))
        rotate, translate = tuner.finish()
        assert 26 < rotate.strength < 34
        assert translate.magnitude > 0.9


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_optimizers_do_not_move_magnitudes_and_weights(optimizer):
    layer = AugmentationLayer(Add(), Negate())
    layer.logits.data.fill_(1.0)
    steps = optimizer(layer.parameters(), lr=0.5, weight_decay=0.5)
    layer(torch.randn(8, 3)).square().sum().backward()  # leaves gradients behind
    RangeTuner(layer, start=0.5)
    assert not any(parameter.requires_grad for parameter in layer.parameters())
    steps.step()
    assert layer.logits.tolist() == [1.0, 1.0]
    assert layer.magnitudes.tolist() == [0.5, 0.5]
    assert not layer(torch.randn(8, 3)).requires_grad


@pytest.mark.parametrize("load_net_first", [True, False])
def test_a_resumed_training_continues_exactly(load_net_first):
    x, y = bars(128)

    def start():
        torch.manual_seed(1)
        net = bar_net(Rotate(), TranslateX(), HorizontalFlip())
        tuner = RangeTuner(net.augment, warmup=5, rate=0.1)
        return net, tuner, torch.optim.AdamW(net.parameters(), lr=1e-2)

    net, tuner, optimizer = start()
    generator = seeded(0)
    train(net, tuner, optimizer, x, y, 20, generator)
    file = io.BytesIO()
    parts = [net.state_dict(), tuner.state_dict(), optimizer.state_dict(), generator.get_state()]
    torch.save(parts, file)
    train(net, tuner, optimizer, x, y, 20, generator)

    file.seek(0)
    states = torch.load(file, weights_only=True)
    net2, tuner2, optimizer2 = start()
    for part, state in [(net2, states[0]), (tuner2, states[1])][:: 1 if load_net_first else -1]:
        part.load_state_dict(state)
    optimizer2.load_state_dict(states[2])
    generator.set_state(states[3])
    train(net2, tuner2, optimizer2, x, y, 20, generator)
    assert tuner2.steps == 40
    assert torch.equal(tuner.average, tuner2.average)
    assert str(tuner.finish()) == str(tuner2.finish())
    for ours, theirs in zip(net.parameters(), net2.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_state_of_other_transforms_is_refused():
    _, tuner = tuned(Add(), Lift())
    _, other = tuned(Add())
    with pytest.raises(ValueError, match="is that of a tuner of add, lift; this one has add"):
        other.load_state_dict(tuner.state_dict())


def test_a_finished_state_finishes_and_a_finished_tuner_loads_nothing():
    layer, tuner = tuned(Add(), warmup=0)
    scripted(tuner, torch.zeros(16, 3), [[0.0]])
    tuner.finish()
    other_layer, other = tuned(Add())
    other.load_state_dict(tuner.state_dict())
    assert other.finished
    assert not other_layer.tuned
    assert torch.equal(other_layer.magnitudes, layer.magnitudes)
    with pytest.raises(RuntimeError, match="make a new one"):
        other.load_state_dict(tuner.state_dict())


def test_finish_sets_the_averages_and_gives_the_layers_back():
    module = AugmentationModule(AugmentationLayer(Add(), Lift()))
    tuner = RangeTuner(module, warmup=0, rate=0.5)
    for step in range(30):
        scripted(tuner, torch.zeros(16, 3), [[step % 3, 0.0]])
    averages = tuner.average.tolist()
    assert averages != pytest.approx(module[0].magnitudes.tolist())
    table = tuner.finish()
    assert module[0].magnitudes.tolist() == pytest.approx(averages)
    assert [row.magnitude for row in table] == pytest.approx(averages)
    plain = AugmentationModule(AugmentationLayer(Add(), Lift(), magnitude=averages))
    x = torch.randn(8, 3)
    for training in (True, False):
        ours, theirs = (net.train(training)(x, seeded(2)) for net in (module, plain))
        assert torch.equal(ours, theirs)
    module.train()
    with pytest.raises(RuntimeError, match="finished: its ranges are set"):
        tuner.step(torch.zeros(8))
    assert str(tuner.finish()) == str(table)


def test_eval_is_as_it_was_while_a_tuner_is_attached():
    layers = [AugmentationLayer(Rotate(), ShearX(), magnitude=0.05) for _ in range(2)]
    RangeTuner(layers[0])
    x = inputs(IMAGES)
    ours, theirs = (layer.eval()(x, seeded(0)) for layer in layers)
    assert torch.equal(ours, theirs)
    assert layers[0].choice is None
    assert list(layers[0].state_dict()) == ["logits", "raw_magnitudes"]


def test_the_table_is_aligned_text():
    module = AugmentationModule(AugmentationLayer(Rotate(90)), AugmentationLayer(SamplePairing()))
    tuner = RangeTuner(module, warmup=0)
    assert "unknown" in str(tuner.table())
    for _ in range(3):
        scripted(tuner, torch.rand(64, 1, 8, 8), [[0.04], [0.5]])
    head, rotate, pairing = str(tuner.table()).splitlines()
    assert head.split("  ")[0] == "transform"
    assert "1 rotate" in rotate
    assert "±90.0°" in rotate
    assert "+0.040 ± 0.000" in rotate
    assert "2 sample_pairing" in pairing
    assert {line.index("up to") for line in [pairing]} == {head.index("range")}
    assert rotate.index("±90.0°") == head.index("limit")
    (first, second) = tuner.table()
    assert (first.layer, first.name, first.unit, first.samples) == (1, "rotate", "degrees", 36)
    assert first.strength == pytest.approx(90 * first.magnitude)
    assert second.cost == pytest.approx(0.5)


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


# Devices, graphs, copies and processes.


def test_a_step_reads_nothing_from_the_device():
    layer = AugmentationLayer(Rotate(), ShearX(), HorizontalFlip()).to("meta")
    tuner = RangeTuner(layer, warmup=0)
    for _ in range(2):  # values of this device cannot be read
        layer(torch.zeros(8, 1, 5, 5, device="meta"))
        tuner.step(torch.zeros(8, device="meta"))
    assert tuner.steps == 2


def test_the_net_may_be_moved_after_the_tuner_was_made():
    layer, tuner = tuned(Rotate(), warmup=0)
    layer.to("meta")
    layer(torch.zeros(8, 1, 5, 5, device="meta"))
    with pytest.raises(ValueError, match="the tuner is on meta and the input is on cpu"):
        tuner.step(torch.zeros(8))
    layer(torch.zeros(8, 1, 5, 5, device="meta"))
    tuner.step(torch.zeros(8, device="meta"))
    assert tuner.edges.sums.is_meta


def test_a_copy_of_a_tuned_net_can_be_tuned():
    layer, tuner = tuned(Add(), warmup=0)
    layer(torch.zeros(16, 3))
    other = copy.deepcopy(layer)
    second = RangeTuner(other, warmup=0)
    scripted(second, torch.zeros(16, 3), [[9.0]])
    tuner.step(torch.zeros(16))
    assert other.magnitudes < 0.05 < layer.magnitudes


def test_a_compiled_trunk_gives_the_same_training():
    x, y = bars(64)
    results = []
    for compiled in (True, False):
        torch.manual_seed(0)
        net = bar_net(Rotate(), TranslateX())
        if compiled:
            net.trunk = torch.compile(net.trunk, backend="eager", fullgraph=True)
        tuner = RangeTuner(net.augment, warmup=0)
        train(net, tuner, torch.optim.SGD(net.parameters(), lr=0.1), x, y, 3, seeded(0))
        results.append(tuner.magnitudes)
    assert torch.equal(*results)


@dynamo
@pytest.mark.slow
def test_a_whole_net_compiles_to_one_graph_and_remembers_its_draws():
    x, y = bars(32)
    net = bar_net(Rotate(), TranslateX(), specimen("cutout"))
    tuner = RangeTuner(net.augment, warmup=0)
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    for _ in range(3):
        losses = F.cross_entropy(compiled(x), y, reduction="none")
        assert net.augment[0].choice.edge.sum() == 12
        tuner.step(losses)
    assert tuner.steps == 3
    assert (tuner.magnitudes != 0.05).all()


def two_steps(rank: int, store: str, out: str) -> None:
    """Train one of two processes on samples of its own, and write the ranges."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=2
    )
    torch.manual_seed(0)
    layer, tuner = tuned(Add(), Lift(), warmup=0)
    net = nn.Sequential(layer, nn.Linear(3, 1))
    net = nn.parallel.DistributedDataParallel(net)
    generator = seeded(rank)
    torch.manual_seed(rank)
    for _ in range(3):
        net(torch.zeros(10, 3)).sum().backward()
        tuner.step(torch.rand(10, generator=generator))
    torch.save((tuner.magnitudes, tuner.state_dict()), f"{out}{rank}")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_all_processes_have_the_same_ranges(tmp_path):
    spawn(two_steps, (str(tmp_path / "store"), str(tmp_path / "out")), nprocs=2)
    results = [torch.load(tmp_path / f"out{rank}", weights_only=True) for rank in range(2)]
    assert torch.equal(results[0][0], results[1][0])

    layer, tuner = tuned(Add(), Lift(), warmup=0)  # one process with the samples of both
    draws, losses = [[], []], [[], []]
    for rank in range(2):
        torch.manual_seed(rank)
        for _ in range(3):
            layer(torch.zeros(10, 3))
            draws[rank].append(layer.choice)
        generator = seeded(rank)
        losses[rank] = [torch.rand(10, generator=generator) for _ in range(3)]
    for step in range(3):
        layer.choice = Choice(*map(torch.cat, zip(*(each[step] for each in draws), strict=True)))
        tuner.step(torch.cat([each[step] for each in losses]))
    torch.testing.assert_close(results[0][0], tuner.magnitudes)
    assert torch.equal(results[0][1]["edges"]["seen"], tuner.edges.seen)
