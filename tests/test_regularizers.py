"""Regularizers against hand-computed values, and schedules."""

import math
from dataclasses import FrozenInstanceError, dataclass
from typing import ClassVar

import pytest
import torch
from specimens import inputs, seeded
from torch import nn

from augnet import (
    REGULARIZERS,
    Augerino,
    AugmentationLayer,
    AugmentationModule,
    AugNet,
    DataSpaceNorm,
    LogDisplacement,
    MagnitudeNorm,
    MeanDisplacement,
    Schedule,
    WeightedNorm,
    build_transforms,
    identity,
    register_regularizer,
)
from augnet.regularizers import Regularizer, displacement, weighted_norm
from augnet.transforms import IMAGES

weighted, magnitudes_alone, in_data_space = WeightedNorm(), MagnitudeNorm(), DataSpaceNorm()
mean_displacement, log_displacement = MeanDisplacement(), LogDisplacement()


def test_the_weighted_norm_of_tensors():
    w, mu = torch.tensor([0.5, 0.5]), torch.tensor([0.6, 0.8])
    assert weighted_norm(w, mu).item() == pytest.approx(-0.5)  # −‖(0.3, 0.4)‖
    assert weighted_norm(torch.ones(2), mu).item() == pytest.approx(-1.0)


def test_regularizers_are_looked_up_by_name_and_called_alike():
    assert list(REGULARIZERS) == [
        "weighted_norm", "magnitude_norm", "data_space_norm", "mean_displacement",
        "log_displacement",
    ]  # fmt: skip
    layer = AugmentationLayer(*build_transforms(["rotate", "hue"]), magnitude=0.5)
    for name, cls in REGULARIZERS.items():
        assert cls.name == name
        value = cls()(layer, pictures(), seeded(0))
        assert value.shape == ()
        assert value.requires_grad
    with pytest.raises(FrozenInstanceError):
        mean_displacement.samples = 3


def test_a_regularizer_of_ones_own_is_one_class(monkeypatch):
    @dataclass(frozen=True)
    class LargestMagnitude(Regularizer):
        name: ClassVar[str] = "largest_magnitude"

        def __call__(self, augment, x=None, generator=None):
            return -max(layer.magnitudes.max() for layer in self.read(augment))

    registry = dict(REGULARIZERS)
    monkeypatch.setattr("augnet.regularizers.REGULARIZERS", registry)
    assert register_regularizer(LargestMagnitude) is LargestMagnitude
    layer = AugmentationLayer(*build_transforms(["rotate", "hue"]), magnitude=[0.25, 0.5])
    assert registry["largest_magnitude"]()(layer).item() == -0.5
    with pytest.raises(ValueError, match="'weighted_norm' is the name of"):
        register_regularizer(type("Mine", (WeightedNorm,), {}))
    with pytest.raises(TypeError, match="Nameless has no name: add name"):
        register_regularizer(type("Nameless", (Regularizer,), {}))


def test_regularizers_read_layers_modules_and_nets():
    layer = AugmentationLayer(*build_transforms(["rotate", "hue"]), magnitude=[0.6, 0.8])
    assert weighted(layer).item() == pytest.approx(-0.5)
    assert weighted_norm(layer.weights, torch.tensor([0.0, 0.2])).item() == pytest.approx(-0.1)
    assert magnitudes_alone(layer).item() == pytest.approx(-1.0)
    # Layers share one norm: √(0.5² + 0.5²) and √(1 + 1).
    twice = AugmentationModule(layer, AugmentationLayer(*layer.transforms, magnitude=[0.8, 0.6]))
    net = AugNet(twice, nn.Flatten())
    for whole in (twice, net):
        assert weighted(whole).item() == pytest.approx(-(0.5**0.5))
        assert magnitudes_alone(whole).item() == pytest.approx(-(2**0.5))


def test_augerino_has_magnitudes_and_no_weights():
    augerino = Augerino([1.0, 2, 2, 2, 4, 1e-9])
    assert magnitudes_alone(augerino).item() == pytest.approx(-(29**0.5))
    with pytest.raises(
        TypeError,
        match=r"weighted_norm reads AugmentationLayer; Augerino has none: use magnitude_norm$",
    ):
        weighted(augerino)


def test_the_gradient_of_the_square_has_the_closed_form():
    """Section 3.4: with two transforms, w₂ = 1 − w₁ and S = μ₁² + μ₂², ∂R²/∂w₂ = 2μ₂² − 2 w₁ S.

    The paper prints w₂ in the place of w₁ on the right: the same at uniform weights, where
    training starts, which is what its argument is about.
    """
    for start in (0.2, 0.5, 0.7):
        w2 = torch.tensor(start, dtype=torch.float64, requires_grad=True)
        mu = torch.tensor([0.3, 0.9], dtype=torch.float64)
        squares = mu.square().sum()
        (gradient,) = torch.autograd.grad(weighted_norm(torch.stack([1 - w2, w2]), mu).square(), w2)
        torch.testing.assert_close(gradient, 2 * mu[1] ** 2 - 2 * (1 - w2.detach()) * squares)
        if start == 0.5:
            torch.testing.assert_close(gradient, 2 * mu[1] ** 2 - 2 * w2.detach() * squares)
            assert gradient > 0  # μ₁ ≤ μ₂: the norm grows with the weight of the stronger transform


def test_a_layer_that_is_only_regularized_selects_the_transform_with_the_highest_magnitude():
    layer = AugmentationLayer(
        *build_transforms(["rotate", "hue", "scale"]), magnitude=[0.3, 0.5, 0.4]
    )
    layer.raw_magnitudes.requires_grad_(False)
    steps = torch.optim.Adam([layer.logits], lr=0.1)
    for _ in range(200):
        steps.zero_grad()
        weighted(layer).backward()
        steps.step()
    assert layer.weights.argmax() == 1
    assert layer.weights.max() > 0.99


def test_magnitudes_that_start_at_zero_grow_alike():
    layer = AugmentationLayer(*build_transforms(["rotate", "hue"]), magnitude=0.0)
    for regularizer in (weighted, magnitudes_alone):
        layer.zero_grad()
        regularizer(layer).backward()
        assert (layer.raw_magnitudes.grad < -0.1).all()
        assert layer.raw_magnitudes.grad.unique().numel() == 1
        assert regularizer(layer).item() == pytest.approx(0, abs=1e-6)


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="Flatten has none: use no regularizer with it"):
        weighted(nn.Flatten())
    with pytest.raises(TypeError, match="reads AugmentationLayer or Augerino; Flatten has none"):
        magnitudes_alone(nn.Flatten())
    with pytest.raises(TypeError, match="identity has none"):
        weighted(identity)
    layer = AugmentationLayer(*build_transforms(["rotate"]))
    for regularizer in (in_data_space, mean_displacement, log_displacement):
        with pytest.raises(TypeError, match=f"{regularizer.name} measures .* got no x: call it"):
            regularizer(layer)


def test_displacement_is_in_units_of_the_distance_between_samples():
    layer = AugmentationLayer(
        *build_transforms([{"name": "gaussian_noise", "limit": 1.0}, "rotate"]),
        magnitude=[0.5, 0.0],
    )
    x = torch.randn(500, 3, 12, 12)
    moved = displacement(layer, x, seeded(0))
    # Noise of half the standard deviation of the data, whose samples lie √2 apart.
    assert moved[0].item() == pytest.approx(0.5 / 2**0.5, rel=0.02)
    assert moved[1] == 0
    assert not displacement(layer, inputs(IMAGES)).requires_grad
    for alike in (x[:1], x[:1].expand(5, -1, -1, -1)):
        assert displacement(layer, alike).tolist() == [0, 0]


def test_competition_in_data_space_moves_weights_by_distance_and_magnitudes_alike():
    layer = AugmentationLayer(
        *build_transforms(
            [{"name": "gaussian_noise", "limit": 0.1}, {"name": "gaussian_noise", "limit": 2}]
        )
    )
    x = torch.randn(200, 3, 4)
    in_data_space(AugmentationModule(layer), x, seeded(0)).backward()
    assert layer.logits.grad[1] < 0 < layer.logits.grad[0]  # the stronger transform gains weight
    magnitudes = layer.raw_magnitudes.grad
    assert magnitudes[0].item() == pytest.approx(magnitudes[1].item())
    assert (magnitudes < 0).all()
    moved = displacement(layer, x, seeded(0))
    expected = weighted_norm(layer.weights, moved) + weighted(layer)
    torch.testing.assert_close(in_data_space(layer, x, seeded(0)), expected)


def test_schedules_are_data():
    schedule = Schedule([[0, 0.5], [40, 0.05]])
    assert [schedule(epoch) for epoch in (0, 39, 40, 300)] == [0.5, 0.5, 0.05, 0.05]
    assert Schedule(0.2)(17) == 0.2
    assert schedule == Schedule(((0, 0.5), (40, 0.05)))


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [[1, 0.5]],
        [[0, 1], [0, 2]],
        [[0, 1], [5]],
        [[0, 1], [-3, 2]],
        [0, 0.5],
        [[0, 1], [0.5, 2]],
    ],
)
def test_bad_schedules_are_refused(steps):
    with pytest.raises(ValueError, match="a schedule"):
        Schedule(steps)
    with pytest.raises(ValueError, match="epochs count from 0; got -1"):
        Schedule(1)(-1)


def pictures(count=64):
    return torch.rand(count, 3, 16, 16, generator=seeded(3))


def composed(*names, magnitude=0.2):
    layers = [AugmentationLayer(*build_transforms([name]), magnitude=magnitude) for name in names]
    return AugmentationModule(*layers)


def test_the_mean_displacement_of_a_bernoulli_transform_is_its_expectation():
    x = pictures()
    flip = composed("horizontal_flip", magnitude=0.4)
    moved = (x[:32].flip(-1) - x[:32]).square().flatten(1).mean(1).sqrt().mean()
    others = [-mean_displacement(flip, x, seeded(seed)).item() for seed in range(3)]
    # Probability 0.2; independent pixels are as far from their mirror as from another image.
    assert others == pytest.approx([0.2] * 3, rel=0.05)
    assert moved > 0
    mean_displacement(flip, x, seeded(0)).backward()
    assert flip[0].raw_magnitudes.grad.item() == pytest.approx(-0.5, rel=0.05)


def test_the_mean_displacement_rewards_transforms_by_how_far_they_move_the_data():
    x = pictures()
    augment = composed("translate_x", "rotate", "contrast", "sample_pairing")
    mean_displacement(augment, x, seeded(0)).backward()
    assert all(layer.raw_magnitudes.grad.item() < 0 for layer in augment)
    wide = composed("translate_x", "rotate", "contrast", "sample_pairing", magnitude=0.6)
    assert mean_displacement(wide, x, seeded(0)) < mean_displacement(augment, x, seeded(0))


def test_the_mean_displacement_weighs_transforms_and_takes_any_batch():
    x = pictures()
    layer = AugmentationLayer(*build_transforms(["translate_x", "contrast"]), magnitude=0.5)
    mean_displacement(layer, x, seeded(0)).backward()
    assert layer.logits.grad[0] < 0 < layer.logits.grad[1]  # the translation moves farther
    still = composed("rotate", "horizontal_flip", magnitude=0.0)
    assert -0.1 < mean_displacement(still, x, seeded(0)).item() <= 0
    mean_displacement(still, x, seeded(0)).backward()
    assert all(layer.raw_magnitudes.grad.item() < 0 for layer in still)  # all of them grow
    assert mean_displacement(still, x[:1], seeded(0)) == 0
    with pytest.raises(TypeError, match="mean_displacement reads AugmentationLayer; Identity has"):
        mean_displacement(torch.nn.Identity(), x)


def test_the_log_displacement_rewards_a_doubled_displacement_alike_at_any_size():
    x = pictures()
    flip = composed("horizontal_flip", magnitude=0.4)
    assert log_displacement(flip, x, seeded(0)).item() == pytest.approx(
        -math.log(0.2 + 0.01), abs=0.05
    )
    for magnitude in (0.2, 0.4, 0.8):  # a flip moves in proportion to its magnitude
        flip = composed("horizontal_flip", magnitude=magnitude)
        log_displacement(flip, x, seeded(0)).backward()
        elasticity = flip[0].raw_magnitudes.grad.item() * magnitude
        assert elasticity == pytest.approx(-magnitude / (magnitude + 0.02), rel=0.05)


def test_the_log_displacement_settles_where_a_transform_costs_what_it_may():
    x = pictures()
    allowed = 0.01
    augment = composed("horizontal_flip", "contrast", magnitude=0.1)
    magnitudes = [layer.raw_magnitudes for layer in augment]
    descent = torch.optim.Adam(magnitudes, lr=0.02)
    slopes = torch.tensor([0.04, 0.002])  # costs of the whole range: beyond and below what they may
    for step in range(300):
        cost = sum(s * layer.magnitudes.sum() for s, layer in zip(slopes, augment, strict=True))
        descent.zero_grad()
        (cost + allowed * log_displacement(augment, x, seeded(step))).backward()
        descent.step()
    flip, contrast = (layer.magnitudes.item() for layer in augment)
    assert flip * 0.04 == pytest.approx(allowed, rel=0.1)
    assert contrast == 1.0


def test_the_log_displacement_lets_no_transform_go_to_zero_and_takes_any_batch():
    x = pictures()
    still = composed("rotate", "horizontal_flip", magnitude=0.0)
    log_displacement(still, x, seeded(0)).backward()
    assert all(layer.raw_magnitudes.grad.item() < 0 for layer in still)
    layer = AugmentationLayer(*build_transforms(["translate_x", "contrast"]), magnitude=0.5)
    log_displacement(layer, x, seeded(0)).backward()
    assert layer.logits.grad[0] < 0 < layer.logits.grad[1]  # the translation moves farther
    assert log_displacement(still, x[:1], seeded(0)).isfinite()
    with pytest.raises(TypeError, match="log_displacement reads AugmentationLayer; Identity has"):
        log_displacement(torch.nn.Identity(), x)
