"""One transform per sample: transforms share operators, and equal the plain definition."""

import pytest
import torch
from specimens import inputs, seeded, specimen
from torch import nn

from augnet import AugmentationLayer, AugmentationModule, AugNet, RangeTuner
from augnet.layers.operators import TONES, Actions, Maps, Tones, groups, permuted, pick_all
from augnet.layers.weight_gradient import plain_weight_gradient, with_weight_gradient
from augnet.transforms import IMAGES, SIGNALS, TRANSFORMS, Rotate, ShearX
from augnet.transforms import frequency as spectra
from augnet.transforms import geometry as maps

IMAGE_NAMES = [
    "translate_x", "rotate", "scale", "horizontal_flip", "vertical_flip", "brightness", "contrast",
    "saturation", "gray", "invert", "sharpness", "solarize", "cutout", "sample_pairing",
]  # fmt: skip
SIGNAL_NAMES = [
    "ft_surrogate", "centered_ft_surrogate", "bandstop", "sensor_rotation_x", "sensor_rotation_z",
    "time_reverse", "gaussian_noise", "frequency_shift",
]  # fmt: skip
CASES = [(IMAGES, IMAGE_NAMES), (SIGNALS, SIGNAL_NAMES)]


def drawn(names, tuned=False):
    start = 0.57  # no edge moves pixels by whole pixels, where interpolation has a kink
    layer = AugmentationLayer(*map(specimen, names), magnitude=start, mixing="drawn").double()
    if tuned:
        RangeTuner(layer, start=start)
        for parameter in layer.parameters():
            parameter.requires_grad_()
    return layer


@pytest.mark.parametrize("tuned", [False, True], ids=["weights", "tuned"])
@pytest.mark.parametrize(("domain", "names"), CASES, ids=["images", "signals"])
def test_shared_operators_equal_the_plain_definition_with_their_gradients(domain, names, tuned):
    layer = drawn(names, tuned)
    x = 1.4 * inputs(domain, batch=70, dtype=torch.float64).requires_grad_() - 0.2
    x.retain_grad()
    params = layer.sample_params(x.shape, x, seeded(1))
    cotangent = torch.randn(x.shape, dtype=x.dtype, generator=seeded(2))
    choice, transforms = layer._chosen(params), list(layer._all(params))
    slopes = []
    for view in (
        layer.pick_by_mask(x, params),
        layer.pick(x, params),
        pick_all(x, choice, transforms),
    ):
        gradients = torch.autograd.grad(
            (view * cotangent).sum(), (x, layer.raw_magnitudes), retain_graph=True
        )
        slopes.append((view, *gradients))
    assert len(choice.unique()) == len(names) + tuned
    for fast in slopes[1:]:
        for one, other in zip(fast, slopes[0], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def test_transforms_are_grouped_by_operator():
    sequence = [specimen(name) for name in IMAGE_NAMES]
    affine, flips = {0, 1, 2}, {3, 4}
    assert {type(group.operator): set(group.indices) for group in groups(sequence, True)} == {
        Maps: affine | flips,
        Tones: {5, 6, 7, 8, 9},
        type(None): {13},
    }
    alone = [group.indices for group in groups(sequence, False) if group.operator is None]
    assert alone == [(3,), (4,), (10,), (11,), (12,), (13,)]
    assert {TRANSFORMS[transform.name] for transform in sequence[5:10]} == set(TONES)
    filters, rotations, *others = groups([specimen(name) for name in SIGNAL_NAMES], True)
    assert (filters.indices, rotations.indices) == ((0, 1, 2), (3, 4))
    assert isinstance(filters.operator, Actions)
    assert all(group.operator is None for group in others)


def test_ways_to_resample_are_not_joined():
    sequence = [Rotate(), ShearX(interpolation="nearest"), Rotate(9.0), specimen("hue")]
    assert [group.indices for group in groups(sequence, True)] == [(0, 2), (1,), (3,)]


def test_a_layer_resamples_once_and_filters_once(monkeypatch):
    calls = []
    for module, name in ((spectra, "filtered"), (maps.F, "grid_sample")):
        original = getattr(module, name)
        monkeypatch.setattr(
            module,
            name,
            lambda x, *rest, original=original, name=name, **more: (
                calls.append((name, len(x))) or original(x, *rest, **more)
            ),
        )
    for pick in ("rows", "all"):
        for domain, names, call in (
            (IMAGES, ["rotate", "translate_x", "horizontal_flip", "hue"], "grid_sample"),
            (SIGNALS, ["ft_surrogate", "bandstop", "sign_flip"], "filtered"),
        ):
            layer, x = drawn(names), inputs(domain, batch=40, dtype=torch.float64)
            params = layer.sample_params(x.shape, x, seeded(0))
            choice = layer._chosen(params)
            calls.clear()
            if pick == "rows":
                layer.pick(x, params)
                own = choice < 2
            else:
                pick_all(x, choice, list(layer._all(params)))
                own = choice >= 0
            assert calls == [(call, int(own.sum()))]


@pytest.mark.parametrize("mode", ["train", "tuned", "eval"])
@pytest.mark.parametrize(("domain", "names"), CASES, ids=["images", "signals"])
def test_nothing_is_read_from_an_accelerator(domain, names, mode, monkeypatch):
    half = len(names) // 2
    layers = [
        AugmentationLayer(*map(specimen, some), mixing="drawn")
        for some in (names[:half], names[half:], names[:3])
    ]
    net = AugNet(AugmentationModule(*layers), nn.Flatten(), copies=2).train(mode != "eval")
    if mode == "tuned":
        RangeTuner(net.augment)
    net.to("meta")
    x = inputs(domain, batch=16).to("meta")

    def refuse(*_, **__):
        raise AssertionError("this copies a value to the device, and waits for it")

    monkeypatch.setattr(torch, "tensor", refuse)
    monkeypatch.setattr(torch, "as_tensor", refuse)
    assert net(x).device.type == "meta"  # to read a value of a meta tensor is an error


def test_the_gradient_of_weights_equals_the_plain_definition():
    weight = torch.rand(6, dtype=torch.float64, generator=seeded(0)).requires_grad_()
    x, view, cotangent = torch.rand(3, 6, 2, 4, dtype=torch.float64, generator=seeded(1))
    view.requires_grad_()
    slopes = []
    for add in (with_weight_gradient, plain_weight_gradient):
        out = add(view, x, weight)
        slopes.append((out, *torch.autograd.grad((out * cotangent).sum(), (view, weight))))
    for one, other in zip(*slopes, strict=True):
        torch.testing.assert_close(one, other)


def test_a_trunk_may_change_drawn_views_in_place():
    net = AugNet(drawn(["rotate", "brightness", "hue"]).float(), nn.ReLU(inplace=True))
    x = inputs(IMAGES)
    before = x.clone()
    net(x).sum().backward()
    assert torch.equal(x, before)


def test_sorted_samples_come_back_and_so_do_their_gradients():
    x = torch.rand(5, 3, dtype=torch.float64, generator=seeded(0)).requires_grad_()
    order = torch.randperm(5, generator=seeded(1))
    back = order.argsort()
    assert torch.equal(permuted(permuted(x, order, back), back, order), x)
    assert torch.autograd.gradcheck(lambda x: permuted(x, order, back), (x,))
    assert torch.autograd.gradgradcheck(lambda x: permuted(x, order, back).square(), (x,))
