"""What layers draw while a RangeTuner is attached."""

import pytest
import torch
from specimens import inputs, seeded, specimen
from tuned import Add, Lift, Scatter, tuned

from augnet import AugmentationLayer, AugmentationModule, RangeTuner
from augnet.layers.edges import draw_choices
from augnet.transforms import (
    IMAGES,
    SIGNALS,
    HorizontalFlip,
    Rotate,
    ShearX,
    TranslateX,
)


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
    transform, edge, *_ = layer.choice
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
