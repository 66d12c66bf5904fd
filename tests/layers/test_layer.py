"""Augmentation layers: mixtures, picks, and what is learned."""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import CHANNELS, inputs, seeded, specimen
from torch import nn

from augnet import AugmentationLayer, AugmentationModule
from augnet.layers.layer import Drawn
from augnet.layers.operators import Maps
from augnet.transforms import (
    IMAGES,
    SIGNALS,
    FrequencyShift,
    GaussianNoise,
    HorizontalFlip,
    Rotate,
    SamplePairing,
    ShearX,
    SignFlip,
    TimeReverse,
    TranslateX,
    TranslateY,
    VerticalFlip,
    build_transforms,
)
from augnet.transforms.geometry import compose, warp


def geometric(**settings):
    return AugmentationLayer(Rotate(180), TranslateX(), ShearX(), HorizontalFlip(), **settings)


def everything(domain):
    names = (
        "rotate", "hue", "cutout", "sample_pairing", "horizontal_flip",
        "frequency_shift", "channel_shuffle", "gaussian_noise", "sensor_rotation_y",
    )  # fmt: skip
    shape = tuple(inputs(domain).shape)
    fitting = [specimen(name) for name in names if specimen(name).domain.fits(shape)]
    return AugmentationLayer(*fitting)


def set_weights(layer, *weights):
    with torch.no_grad():
        layer.logits.copy_(torch.tensor(weights).log().clamp(min=-1e4) * layer.temperature)


def test_a_layer_learns_two_vectors_and_nothing_else():
    layer = geometric(magnitude=[0.1, 0.2, 0.3, 0.4])
    assert {name: tuple(p.shape) for name, p in layer.named_parameters()} == {
        "logits": (4,),
        "raw_magnitudes": (4,),
    }
    assert list(layer.state_dict()) == ["logits", "raw_magnitudes"]
    assert layer.weights.tolist() == [0.25] * 4
    assert layer.magnitudes.tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_magnitudes_outside_the_box_are_at_its_border_and_can_come_back():
    layer = geometric()
    with torch.no_grad():
        layer.raw_magnitudes.copy_(torch.tensor([-0.3, 0.4, 1.2, 0.0]))
    assert layer.magnitudes.tolist() == pytest.approx([0, 0.4, 1, 0])
    for direction, alive in ((1, [0, 1, 1, 0]), (-1, [1, 1, 0, 1])):
        (gradient,) = torch.autograd.grad(direction * layer.magnitudes.sum(), layer.raw_magnitudes)
        assert (gradient != 0).tolist() == [bool(a) for a in alive]


def test_temperature_makes_weights_more_decided():
    layers = [geometric(temperature=temperature) for temperature in (1.0, 0.1)]
    for layer in layers:
        with torch.no_grad():
            layer.logits[0] = 0.5
    mild, decided = (layer.weights[0].item() for layer in layers)
    assert mild == pytest.approx(torch.tensor([0.5, 0, 0, 0]).softmax(0)[0].item())
    assert decided == pytest.approx(torch.tensor([5.0, 0, 0, 0]).softmax(0)[0].item())


def test_training_gives_the_weighted_sum_of_all_views():
    layer = geometric(magnitude=0.6)
    set_weights(layer, 0.5, 0.2, 0.2, 0.1)
    x = inputs(IMAGES)
    generator = seeded(7)
    expected = sum(
        weight * transform(x, 0.6, generator)
        for weight, transform in zip(layer.weights, layer.transforms, strict=True)
    )
    torch.testing.assert_close(layer(x, seeded(7)), expected)


SHARING = (
    "frequency_shift", "ft_surrogate", "bandstop", "time_reverse", "gaussian_noise",
    "channel_symmetry", "sensor_rotation_x", "sensor_rotation_y", "sensor_rotation_z",
)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("domain", [IMAGES, SIGNALS], ids=lambda domain: domain.name)
def test_the_mixture_equals_the_plain_definition_with_its_gradients(domain, dtype):
    layer = everything(domain) if domain is IMAGES else AugmentationLayer(*map(specimen, SHARING))
    with torch.no_grad():
        layer.logits.normal_(std=0.3)
    x = inputs(domain, dtype=dtype).requires_grad_()
    cotangent = torch.randn_like(x)
    results = []
    params = layer.sample_params(x.shape, x, seeded(1))
    for mix in (layer.mix, layer.mix_plainly):
        view = mix(x, params)
        results.append((view, *torch.autograd.grad(view, (x, *layer.parameters()), cotangent)))
    for fast, plain in zip(*results, strict=True):
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-4 * plain.abs().max().item())


def test_transforms_of_negligible_weight_are_computed_now_and_then(monkeypatch):
    layer = geometric()
    set_weights(layer, 0.0, 0.9998, 0.0001, 0.0001)
    computed = []
    for cls in {type(transform) for transform in layer.transforms}:

        def counting(self, x, magnitude, params, original=cls.apply):
            computed.append(self.name)
            return original(self, x, magnitude, params)

        monkeypatch.setattr(cls, "apply", counting)
    generator, x = seeded(0), torch.rand(2, 3, 8, 8)
    for _ in range(640):
        layer(x, generator)
    assert computed.count("translate_x") == 640
    for negligible in ("rotate", "shear_x", "horizontal_flip"):
        assert 20 < computed.count(negligible) < 70  # forty are expected
    layer.tolerance = 0
    computed.clear()
    layer(x, generator)
    assert len(computed) == 4


def test_skipping_leaves_mixture_and_gradients_as_they_are_in_expectation():
    # Flips are always applied: only the revisits are random.
    flips = [cls(1.0) for cls in (SignFlip, TimeReverse)]
    layer = AugmentationLayer(FrequencyShift(0.5, sfreq=100), *flips, magnitude=1.0, tolerance=0.2)
    layer.double()
    set_weights(layer, 0.8, 0.05, 0.15)
    x = torch.randn(1, 2, 30, dtype=torch.float64)
    cotangent = torch.randn(30, dtype=torch.float64)
    generator, count = seeded(0), 6000
    views = torch.cat([layer(x, generator) for _ in range(count)])
    layer.tolerance = 0
    params = [layer.sample_params(x.shape, x, generator) for _ in range(count)]
    plain = torch.cat([layer.mix_plainly(x, each) for each in params])
    torch.testing.assert_close(views.mean(0), plain.mean(0), atol=0.12, rtol=0)
    slopes = [
        torch.autograd.grad((view * cotangent).sum() / count, tuple(layer.parameters()))
        for view in (views, plain)
    ]
    for fast, exact in zip(*slopes, strict=True):
        torch.testing.assert_close(fast, exact, atol=0.1 * exact.norm().item(), rtol=0)


def test_one_drawn_transform_per_sample_has_the_gradients_of_the_mixture_in_expectation():
    layer = AugmentationLayer(
        *build_transforms(["amplitude_scale", "sign_flip", "gaussian_noise"]),
        magnitude=0.6,
        mixing="drawn",
    ).double()
    set_weights(layer, 0.5, 0.3, 0.2)
    torch.manual_seed(0)
    x, cotangent = torch.randn(2, 2, 1, 4, dtype=torch.float64)
    many = 40_000
    slopes = []
    for mixing in ("drawn", "weighted"):  # of a loss that is linear
        layer.mixing = mixing
        views = layer(x[:1].expand(many, 1, 4), seeded(1))
        slopes.append((views.mean(0), *torch.autograd.grad(
            (views * cotangent[0]).sum() / many, tuple(layer.parameters())
        )))  # fmt: skip
    for drawn, exact in zip(*slopes, strict=True):
        torch.testing.assert_close(drawn, exact, atol=0.03, rtol=0)


def test_one_drawn_transform_per_sample_is_what_eval_draws_and_has_gradients():
    for layer, domain in (
        (everything(IMAGES), IMAGES),
        (everything(SIGNALS), SIGNALS),
        (affine_layer(), IMAGES),
    ):
        layer.mixing = "drawn"
        x = inputs(domain, batch=40)
        drawn = layer.train()(x, seeded(2))
        assert torch.equal(drawn, layer.eval()(x, seeded(2)))
        layer.train()(x.requires_grad_(), seeded(2)).square().sum().backward()
        for parameter in (*layer.parameters(), x):
            assert parameter.grad.isfinite().all()
            assert parameter.grad.abs().sum() > 0
    with pytest.raises(ValueError, match="mixing is one of weighted, drawn; got 'softly'"):
        geometric(mixing="softly")


@pytest.mark.parametrize("domain", [IMAGES, SIGNALS], ids=lambda domain: domain.name)
def test_eval_computes_only_what_was_drawn_and_equals_the_plain_definition(domain):
    layer = everything(domain).eval()
    x = inputs(domain, batch=60)
    with torch.no_grad():
        params = layer.sample_params(x.shape, x, seeded(1))
        torch.testing.assert_close(layer.pick(x, params), layer.pick_by_mask(x, params))


def test_eval_computes_each_sample_once(monkeypatch):
    transforms = Rotate(180), TranslateX(), specimen("hue"), HorizontalFlip()
    layer = AugmentationLayer(*transforms).eval()
    rows = []
    for cls in {type(transform) for transform in layer.transforms}:

        def counting(self, x, magnitude, params, original=cls.apply):
            rows.append((self.name, len(x)))
            return original(self, x, magnitude, params)

        monkeypatch.setattr(cls, "apply", counting)

    def resampled(self, x, prepared, original=Maps.act):
        rows.append(("maps", len(x)))
        return original(self, x, prepared)

    monkeypatch.setattr(Maps, "act", resampled)
    layer(torch.rand(50, 3, 8, 8))
    assert sorted(name for name, _ in rows) == ["horizontal_flip", "hue", "maps"]
    assert sum(count for _, count in rows) == 50
    rows.clear()
    set_weights(layer, 0, 1, 0, 0)
    layer(torch.rand(50, 3, 8, 8))
    assert rows == [("translate_x", 50)]


def test_transforms_are_drawn_per_sample_by_their_weights():
    layer = AugmentationLayer(
        *build_transforms(["sign_flip", "time_reverse"]), magnitude=1.0
    ).eval()
    for transform in layer.transforms:
        object.__setattr__(transform, "limit", 1.0)
    set_weights(layer, 0.7, 0.3)
    x = torch.arange(1.0, 5).expand(5000, 1, 4)
    view = layer(x, seeded(0))
    flipped = (view == -x).all((1, 2)).float().mean().item()
    turned = (view == x.flip(-1)).all((1, 2)).float().mean().item()
    assert flipped == pytest.approx(0.7, abs=0.03)
    assert turned == pytest.approx(0.3, abs=0.03)


def test_a_partner_comes_from_the_whole_batch_though_few_are_paired():
    layer = AugmentationLayer(SamplePairing(0.5), Rotate(1e-3), magnitude=1.0).eval()
    set_weights(layer, 0.05, 0.95)
    x = torch.eye(64)[:, :, None, None].expand(64, 64, 3, 3).contiguous()
    view = layer(x, seeded(3))
    paired = (view.flatten(2).mean(2) > 1e-4).sum(1) == 2
    assert 0 < paired.sum() < 12


def test_same_generator_same_view_and_the_input_is_left_alone():
    x = inputs(IMAGES)
    before = x.clone()
    for training in (True, False):
        layer = geometric().train(training)
        for weights in ((0.25, 0.25, 0.25, 0.25), (0.9999, 0.0001, 0.0, 0.0)):
            set_weights(layer, *weights)
            assert torch.equal(layer(x, seeded(0)), layer(x, seeded(0)))
            assert not torch.equal(layer(x, seeded(0)), layer(x, seeded(1)))
    assert torch.equal(x, before)


def test_gradients_reach_weights_magnitudes_and_input():
    layer = geometric(magnitude=0.3)
    x = inputs(IMAGES).requires_grad_()
    layer(x).square().sum().backward()
    assert (layer.logits.grad != 0).all()
    assert (layer.raw_magnitudes.grad != 0).all()
    assert (x.grad != 0).any()


def test_the_gradient_of_the_mixture_is_exact():
    layer = AugmentationLayer(
        FrequencyShift(sfreq=100), GaussianNoise(), magnitude=[0.3, 0.6]
    ).double()
    x = torch.randn(2, 1, 20, dtype=torch.float64)

    def mix(logits, raw_magnitudes):
        parameters = {"logits": logits, "raw_magnitudes": raw_magnitudes}
        return torch.func.functional_call(layer, parameters, (x, seeded(0)))

    assert torch.autograd.gradcheck(
        mix, tuple(p.detach().clone().requires_grad_() for p in layer.parameters())
    )


@settings(max_examples=20, deadline=None)
@given(
    batch=st.integers(1, 6),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    training=st.booleans(),
    domain=st.sampled_from([IMAGES, SIGNALS]),
)
def test_shape_and_type_survive(batch, dtype, training, domain):
    layer = everything(domain).train(training)
    x = inputs(domain, batch, dtype)
    view = layer(x)
    assert view.shape == x.shape
    assert view.dtype == x.dtype


def test_layers_in_sequence_draw_independently():
    module = AugmentationModule(*(geometric() for _ in range(3)))
    assert len(module) == len(list(module)) == 3
    assert module[1] is list(module)[1]
    x = inputs(IMAGES)
    generator = seeded(4)
    expected = x
    for layer in module:
        expected = layer(expected, generator)
    assert torch.equal(module(x, seeded(4)), expected)


def affine_layer(**settings):
    return AugmentationLayer(Rotate(60), TranslateX(0.3), TranslateY(), ShearX(), **settings)


def test_affine_transforms_of_a_layer_share_one_resampling_in_eval():
    layer = affine_layer().eval()
    assert layer.resampling == ("bilinear", "zeros")
    assert geometric().resampling == ("bilinear", "zeros")  # flips join
    assert AugmentationLayer(HorizontalFlip()).resampling is None  # but need no resampling
    assert AugmentationLayer(Rotate(), specimen("hue")).resampling is None
    assert AugmentationLayer(Rotate(), Rotate(padding="border")).resampling is None
    x = inputs(IMAGES, batch=40, dtype=torch.float64)
    with torch.no_grad():
        plain = layer.pick_by_mask(x, layer.sample_params(x.shape, x, seeded(1)))
        torch.testing.assert_close(layer(x, seeded(1)), plain)


def test_consecutive_affine_layers_resample_once_under_the_product_of_their_maps():
    first, second = affine_layer(magnitude=0.4), affine_layer(magnitude=0.3)
    module = AugmentationModule(first, second, AugmentationLayer(specimen("hue"))).eval()
    x, generator = inputs(IMAGES, batch=20, dtype=torch.float64), seeded(2)
    # In pixels, maps are matrices that can be multiplied; translations are fractions of the sides.
    sides = torch.tensor([[x.shape[-1]], [x.shape[-2]]])
    row = torch.tensor([0.0, 0, 1], dtype=x.dtype).expand(len(x), 1, 3)
    inner, outer = (
        torch.cat((maps[..., :2], maps[..., 2:] * sides), 2)
        for maps in (
            layer.maps(x, layer.sample_params(x.shape, x, generator)).matrix
            for layer in (first, second)
        )
    )
    product = outer @ torch.cat((inner, row), 1)
    product[..., 2:] /= sides
    expected = module[2](warp(x, product), generator)
    torch.testing.assert_close(module(x, seeded(2)), expected)


def test_layers_of_one_affine_transform_resample_once_in_training_too():
    """What a trunk is trained on is no more blurred than what it is asked about."""

    def module(*more):
        layers = [
            AugmentationLayer(transform, magnitude=0.4) for transform in (Rotate(), TranslateX())
        ]
        return AugmentationModule(*layers, *more)

    x = inputs(IMAGES, batch=20, dtype=torch.float64)
    learning = module()
    view = learning(x, seeded(2))
    generator = seeded(2)
    maps = [
        transform.map(x, 0.4, transform.sample_params(x.shape, x, generator))
        for transform in (Rotate(), TranslateX())
    ]
    torch.testing.assert_close(view, warp(x, compose(*maps, x)))
    view.square().sum().backward()
    for layer in learning:
        assert layer.raw_magnitudes.grad.abs() > 0

    mixed = module(affine_layer(magnitude=0.4))  # a mixture is no map: it resamples by itself
    generator = seeded(2)
    composed = module()(x, generator)
    torch.testing.assert_close(mixed(x, seeded(2)), mixed[2](composed, generator))


def test_layers_with_one_active_transform_resample_once_in_training():
    layers = [affine_layer(magnitude=0.4) for _ in range(2)]
    for layer in layers:
        set_weights(layer, *[0.9998 if n == 2 else 1e-4 for n in range(len(layer.transforms))])
    module, x = AugmentationModule(*layers), inputs(IMAGES, batch=20, dtype=torch.float64)
    generator = seeded(6)
    params = module.sample_params(x.shape, x, generator)
    assert [each.active for each in params] == [[2], [2]], "another seed: none is revisited"
    maps = [layer.maps(x, each).matrix for layer, each in zip(layers, params, strict=True)]
    weight = layers[0].weights[2] * layers[1].weights[2]
    view = module(x, seeded(6))
    torch.testing.assert_close(view, weight * warp(x, compose(*maps, x)))
    view.square().sum().backward()
    for layer in layers:
        assert layer.raw_magnitudes.grad[2].abs() > 0
        assert layer.logits.grad.abs().sum() > 0


def test_composed_layers_at_magnitude_zero_are_the_identity_exactly():
    module = AugmentationModule(*[affine_layer(magnitude=0.0)] * 3).eval()
    x = inputs(IMAGES)
    assert torch.equal(module(x), x)


def test_composed_layers_do_what_layers_in_sequence_do_to_smooth_images():
    module = AugmentationModule(*(affine_layer(magnitude=0.2) for _ in range(2))).eval()
    across = torch.linspace(-3, 3, 48, dtype=torch.float64)
    x = (-(across.square() + (across[:, None] - 0.5).square())).exp().expand(30, 3, 48, 48)
    params = module.sample_params(x.shape, x, seeded(5))
    plain = module[1].pick_by_mask(module[0].pick_by_mask(x, params[0]), params[1])
    assert (module(x, seeded(5)) - plain).abs().max() < 0.02
    assert (plain - x).abs().max() > 0.2


def test_a_layer_describes_itself():
    layer = geometric(magnitude=[0.25, 0.5, 0.5, 1.0])
    set_weights(layer, 0.97, 0.0, 0.01, 0.02)
    said = "0.97 × rotate ±45.0° + 0.02 × horizontal_flip with probability 0.50"
    assert repr(layer).startswith(said)
    assert "translate_x" not in repr(layer)
    module = AugmentationModule(layer, geometric())
    assert repr(module).splitlines()[0].startswith(said)


def test_layers_survive_copying_pickling_and_their_state_dict():
    layer = AugmentationLayer(
        *build_transforms(["sensor_rotation_x", "sign_flip"], channels=CHANNELS)
    )
    with torch.no_grad():
        layer.logits.normal_()
        layer.raw_magnitudes.uniform_()
    fresh = AugmentationLayer(*layer.transforms)
    fresh.load_state_dict(layer.state_dict())
    x = inputs(SIGNALS)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), fresh):
        assert torch.equal(twin(x, seeded(0)), layer(x, seeded(0)))


def test_autocast_does_not_touch_the_transforms():
    layer = AugmentationLayer(specimen("sensor_rotation_z"), specimen("frequency_shift"))
    x = inputs(SIGNALS)
    plain = layer(x, seeded(0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(layer(x, seeded(0)), plain)


@pytest.mark.parametrize("training", [True, False])
def test_bad_input_is_refused_and_nothing_changes(training):
    layer = AugmentationModule(geometric()).train(training)
    x = inputs(IMAGES)
    nan = x.clone()
    nan[0, 0, 0, 0] = torch.nan
    before = copy.deepcopy(layer.state_dict())
    generator = seeded(0)
    state = generator.get_state()
    for bad, error, message in [
        (x[0], ValueError, r"rotate takes images \(B, C, H, W\); got shape \(3, 18, 20\)"),
        (x[:0], ValueError, "at least one sample"),
        (nan, ValueError, "NaN or infinite"),
        (x.to("meta"), ValueError, "the layer is on cpu and the input is on meta"),
        ((255 * x).to(torch.uint8), TypeError, "x.float"),
        (x.half(), TypeError, "let autocast lower the trunk"),
        (x.numpy(), TypeError, "torch.as_tensor"),
    ]:
        with pytest.raises(error, match=message):
            layer(bad, generator)
    assert torch.equal(generator.get_state(), state)
    torch.testing.assert_close(layer.state_dict(), before, rtol=0, atol=0)


def test_no_layer_draws_params_before_all_have_checked_the_input():
    module = AugmentationModule(geometric(), everything(SIGNALS))
    generator = seeded(0)
    state = generator.get_state()
    with pytest.raises(ValueError, match="takes signals"):
        module(inputs(IMAGES), generator)
    assert torch.equal(generator.get_state(), state)
    with pytest.raises(TypeError, match=r"generator takes a torch.Generator; got 0"):
        module[0](inputs(IMAGES), 0)


def test_a_layer_of_many_transforms_still_describes_itself():
    assert "rotate" in repr(AugmentationLayer(*[Rotate(limit) for limit in range(1, 121)]))


def test_bad_layers_are_refused():
    with pytest.raises(ValueError, match="at least one transform"):
        AugmentationLayer()
    with pytest.raises(TypeError, match="takes transforms"):
        AugmentationLayer("rotate")
    with pytest.raises(ValueError, match=r"magnitudes lie in \[0, 1\].*got 1.5"):
        geometric(magnitude=1.5)
    with pytest.raises(ValueError, match=r"magnitudes lie in \[0, 1\]"):
        geometric(magnitude=[0.1, 0.2, float("nan"), 0.3])
    with pytest.raises(ValueError, match="one for each of 4 transforms"):
        geometric(magnitude=[0.1, 0.2])
    with pytest.raises(ValueError, match="temperature must be positive; got 0"):
        geometric(temperature=0)
    for wrong in (-0.1, 0.25, float("nan")):
        with pytest.raises(ValueError, match="tolerance is a weight"):
            geometric(tolerance=wrong)
    with pytest.raises(ValueError, match="at least one layer"):
        AugmentationModule()
    with pytest.raises(TypeError, match=r"not a list of them: AugmentationModule\(\*layers\)"):
        AugmentationModule([geometric()])
    with pytest.raises(TypeError, match="takes layers; got Linear"):
        AugmentationModule(nn.Linear(2, 2))


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic", "nearest"])
def test_flips_share_a_resampling_and_stay_exact(interpolation):
    turn = Rotate(60, interpolation=interpolation)
    flips = HorizontalFlip(1.0), VerticalFlip(1.0)
    x = inputs(IMAGES, batch=60)
    layer = AugmentationLayer(turn, *flips, magnitude=[0.5, 1.0, 1.0]).eval()
    params = layer.sample_params(x.shape, x, seeded(1))
    choice = (params.choice[:, 0] * 3).long()
    view = layer.pick_by_map(x, params)
    for index, dim in ((1, -1), (2, -2)):
        assert (choice == index).sum() > 5
        assert torch.equal(view[choice == index], x[choice == index].flip(dim))
    torch.testing.assert_close(view, layer.pick_by_mask(x, params), atol=1e-4, rtol=1e-4)

    # In one product with other layers, too: no rotation, and both flips.
    still = AugmentationLayer(turn, magnitude=0.0)
    module = AugmentationModule(
        still, *(AugmentationLayer(f, magnitude=1.0) for f in flips), still
    ).eval()
    assert torch.equal(module(x, seeded(0)), x.flip((-2, -1)))


def test_flips_between_rotations_do_what_layers_in_sequence_do():
    across = torch.linspace(-3, 3, 48, dtype=torch.float64)
    x = (-((across - 0.8).square() + (across[:, None] - 0.5).square())).exp().expand(40, 3, 48, 48)
    for flip in (HorizontalFlip(), VerticalFlip()):
        turn = AugmentationLayer(Rotate(40), flip, TranslateX(0.1), magnitude=1.0)
        module = AugmentationModule(turn, AugmentationLayer(flip, magnitude=1.0), turn).eval()
        params = module.sample_params(x.shape, x, seeded(5))
        plain = x
        for layer, drawn in zip(module, params, strict=True):
            plain = layer.pick_by_mask(plain, drawn)
        assert (module.apply_params(x, params) - plain).abs().max() < 0.03
        assert (plain - x).abs().max() > 0.2


def test_images_are_as_sharp_in_training_as_in_eval_with_a_flip_between_maps():
    x = torch.rand(8, 1, 16, 16)
    transforms = Rotate(30), HorizontalFlip(1.0), TranslateX(0.3)
    module = AugmentationModule(*(AugmentationLayer(t, magnitude=1.0) for t in transforms))
    params = module.train().sample_params(x.shape, x, seeded(0))
    drawn = [Drawn(torch.zeros(8, 1), each.transforms) for each in params]
    trained = module.apply_params(x, params)
    torch.testing.assert_close(module.eval().apply_params(x, drawn), trained, rtol=0, atol=1e-5)


def test_flips_that_share_a_resampling_keep_the_gradient_of_their_probability():
    layer = AugmentationLayer(Rotate(60), HorizontalFlip(), VerticalFlip(), mixing="drawn").double()
    x = inputs(IMAGES, batch=40, dtype=torch.float64)
    params = layer.sample_params(x.shape, x, seeded(1))
    cotangent = torch.randn_like(x)
    shared, plain = (
        torch.autograd.grad((pick(x, params) * cotangent).sum(), layer.raw_magnitudes)[0]
        for pick in (layer.pick_by_map, layer.pick_by_mask)
    )
    assert (plain[1:] != 0).all()
    torch.testing.assert_close(shared, plain)


def test_layers_leave_the_apply_of_modules_alone():
    module, visited = AugmentationModule(geometric()), []
    nn.Sequential(module).apply(lambda part: visited.append(type(part)))
    assert AugmentationLayer in visited


@pytest.mark.parametrize("edges", [0.25, 1.0])
def test_some_samples_are_at_the_ends_of_ranges_in_training(edges):
    signed, unsigned = build_transforms(["brightness", "solarize"])
    layer = AugmentationLayer(signed, unsigned, mixing="drawn", edges=edges).train()
    like = torch.zeros(400, 3, 4, 4)
    first, second = layer.sample_params(
        like.shape, like, torch.Generator().manual_seed(0)
    ).transforms
    at_end = first.abs() == 1
    assert abs(at_end.float().mean() - edges) < 0.07
    assert (second == 1).equal(at_end)
    assert 0.4 < (first[at_end] > 0).float().mean() < 0.6
    drawn = layer.eval().sample_params(like.shape, like, torch.Generator().manual_seed(0))
    assert (drawn.transforms[0].abs() < 1).all()


def test_transforms_without_a_strength_have_no_ends():
    names = ["horizontal_flip", "gaussian_noise"]
    like = torch.zeros(20, 3, 4, 4)
    drawn = [
        AugmentationLayer(*build_transforms(names), mixing="drawn", edges=edges)
        .train()
        .sample_params(like.shape, like, torch.Generator().manual_seed(0))
        .transforms
        for edges in (0.0, 1.0)
    ]
    for one, other in zip(*drawn, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(("edges", "mixing"), [(1.5, "drawn"), (-0.1, "drawn"), (0.5, "weighted")])
def test_edges_are_a_fraction_of_drawn_samples(edges, mixing):
    with pytest.raises(ValueError, match=f"edges is a fraction of samples.*got {edges}"):
        AugmentationLayer(*build_transforms(["rotate"]), edges=edges, mixing=mixing)
