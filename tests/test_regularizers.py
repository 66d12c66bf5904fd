"""Regularizers against hand-computed values, and schedules."""

from dataclasses import FrozenInstanceError, dataclass
from typing import ClassVar

import pytest
import torch
from specimens import seeded
from torch import nn

from augnet import (
    REGULARIZERS,
    Augerino,
    AugmentationLayer,
    AugmentationModule,
    AugNet,
    MagnitudeNorm,
    Schedule,
    WeightedNorm,
    build_transforms,
    identity,
    register_regularizer,
)
from augnet.regularizers import Regularizer, weighted_norm

weighted, magnitudes_alone = WeightedNorm(), MagnitudeNorm()


def test_the_weighted_norm_of_tensors():
    w, mu = torch.tensor([0.5, 0.5]), torch.tensor([0.6, 0.8])
    assert weighted_norm(w, mu).item() == pytest.approx(-0.5)  # −‖(0.3, 0.4)‖
    assert weighted_norm(torch.ones(2), mu).item() == pytest.approx(-1.0)


def test_regularizers_are_looked_up_by_name_and_called_alike():
    assert list(REGULARIZERS) == ["weighted_norm", "magnitude_norm"]
    layer = AugmentationLayer(*build_transforms(["rotate", "hue"]), magnitude=0.5)
    for name, cls in REGULARIZERS.items():
        assert cls.name == name
        value = cls()(layer, pictures(), seeded(0))
        assert value.shape == ()
        assert value.requires_grad
    with pytest.raises(FrozenInstanceError):
        weighted.samples = 3


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
