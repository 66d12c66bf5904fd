"""Augmentation layers: mixtures, picks, and what is learned."""

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import CHANNELS, inputs, seeded, word
from torch import nn

from augnet import AugmentationLayer, AugmentationModule
from augnet.transforms import (
    IMAGES,
    SIGNALS,
    FrequencyShift,
    GaussianNoise,
    HorizontalFlip,
    Rotate,
    SamplePairing,
    ShearX,
    TranslateX,
    words,
)


def geometric(**settings):
    return AugmentationLayer(Rotate(180), TranslateX(), ShearX(), HorizontalFlip(), **settings)


def everything(domain):
    names = (
        "rotate", "hue", "cutout", "sample-pairing", "horizontal-flip",
        "frequency-shift", "channel-shuffle", "gaussian-noise", "sensor-rotation-y",
    )  # fmt: skip
    shape = tuple(inputs(domain).shape)
    fitting = [word(name) for name in names if word(name).domain.fits(shape)]
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


@pytest.mark.parametrize("domain", [IMAGES, SIGNALS], ids=lambda domain: domain.name)
def test_eval_computes_only_what_was_drawn_and_equals_the_plain_definition(domain):
    layer = everything(domain).eval()
    x = inputs(domain, batch=60)
    with torch.no_grad():
        # All words are drawn in a batch of sixty: both ways roll the same dice.
        torch.testing.assert_close(layer.pick(x, seeded(1)), layer.pick_by_mask(x, seeded(1)))


def test_eval_computes_each_sample_once(monkeypatch):
    layer = geometric().eval()
    rows = []
    for cls in {type(transform) for transform in layer.transforms}:

        def counting(self, x, magnitude, noise, original=cls.transform):
            rows.append((self.name, len(x)))
            return original(self, x, magnitude, noise)

        monkeypatch.setattr(cls, "transform", counting)
    layer(torch.rand(50, 3, 8, 8))
    assert sum(count for _, count in rows) == 50
    rows.clear()
    set_weights(layer, 0, 1, 0, 0)
    layer(torch.rand(50, 3, 8, 8))
    assert rows == [("translate-x", 50)]


def test_words_are_drawn_per_sample_by_their_weights():
    layer = AugmentationLayer(*words(["sign-flip", "time-reverse"]), magnitude=1.0).eval()
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
    module = AugmentationModule([geometric() for _ in range(3)])
    assert len(module) == len(list(module)) == 3
    assert module[1] is list(module)[1]
    x = inputs(IMAGES)
    generator = seeded(4)
    expected = x
    for layer in module:
        expected = layer(expected, generator)
    assert torch.equal(module(x, seeded(4)), expected)


def test_a_layer_reads_like_a_sentence():
    layer = geometric(magnitude=[0.25, 0.5, 0.5, 1.0])
    set_weights(layer, 0.97, 0.0, 0.01, 0.02)
    said = "0.97 × rotate ±45.0° + 0.02 × horizontal-flip with probability 0.50"
    assert repr(layer).startswith(said)
    assert "translate-x" not in repr(layer)
    module = AugmentationModule([layer, geometric()])
    assert repr(module).splitlines()[0].startswith(said)


def test_layers_survive_copying_pickling_and_their_state_dict():
    layer = AugmentationLayer(*words(["sensor-rotation-x", "sign-flip"], channels=CHANNELS))
    with torch.no_grad():
        layer.logits.normal_()
        layer.raw_magnitudes.uniform_()
    fresh = AugmentationLayer(*layer.transforms)
    fresh.load_state_dict(layer.state_dict())
    x = inputs(SIGNALS)
    for twin in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer)), fresh):
        assert torch.equal(twin(x, seeded(0)), layer(x, seeded(0)))


def test_autocast_does_not_touch_the_words():
    layer = AugmentationLayer(word("sensor-rotation-z"), word("frequency-shift"))
    x = inputs(SIGNALS)
    plain = layer(x, seeded(0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(layer(x, seeded(0)), plain)


@pytest.mark.parametrize("training", [True, False])
def test_bad_input_is_refused_and_nothing_changes(training):
    layer = AugmentationModule([geometric()]).train(training)
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


def test_no_layer_rolls_dice_before_all_have_looked():
    module = AugmentationModule([geometric(), everything(SIGNALS)])
    generator = seeded(0)
    state = generator.get_state()
    with pytest.raises(ValueError, match="takes signals"):
        module(inputs(IMAGES), generator)
    assert torch.equal(generator.get_state(), state)
    with pytest.raises(TypeError, match=r"generator takes a torch.Generator; got 0"):
        module[0](inputs(IMAGES), 0)


def test_a_layer_of_many_words_still_says_something():
    assert "rotate" in repr(AugmentationLayer(*[Rotate(limit) for limit in range(1, 121)]))


def test_bad_layers_are_refused():
    with pytest.raises(ValueError, match="at least one word"):
        AugmentationLayer()
    with pytest.raises(TypeError, match="takes words"):
        AugmentationLayer("rotate")
    with pytest.raises(ValueError, match=r"magnitudes lie in \[0, 1\].*got 1.5"):
        geometric(magnitude=1.5)
    with pytest.raises(ValueError, match=r"magnitudes lie in \[0, 1\]"):
        geometric(magnitude=[0.1, 0.2, float("nan"), 0.3])
    with pytest.raises(ValueError, match="one for each of 4 words"):
        geometric(magnitude=[0.1, 0.2])
    with pytest.raises(ValueError, match="temperature must be positive; got 0"):
        geometric(temperature=0)
    with pytest.raises(ValueError, match="at least one layer"):
        AugmentationModule([])
    with pytest.raises(TypeError, match=r"AugmentationModule\(\[layer\]\)"):
        AugmentationModule(geometric())
    with pytest.raises(TypeError, match="list of layers; got Linear"):
        AugmentationModule([nn.Linear(2, 2)])
