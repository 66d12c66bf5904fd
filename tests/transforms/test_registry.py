"""The transforms: names, tables, and transforms of one's own."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
import torch
from specimens import inputs, seeded, specimen

import augnet.transforms
from augnet import AugmentationLayer
from augnet.transforms import (
    TRANSFORMS,
    Domain,
    FrequencyShift,
    Rotate,
    ShearX,
    Transform,
    Unsigned,
    build_transforms,
    register_transform,
    registry,
)


@pytest.fixture
def transforms(monkeypatch):
    """Give a registry to write to, and leave the real one as it is."""
    monkeypatch.setattr(registry, "TRANSFORMS", dict(TRANSFORMS))
    return registry.TRANSFORMS


def test_names_are_the_snake_case_of_the_classes():
    expected = """
        translate_x translate_y shear_x shear_y rotate scale horizontal_flip vertical_flip
        brightness contrast saturation sharpness hue solarize posterize invert gray autocontrast
        equalize cutout sample_pairing time_reverse time_shift speed sign_flip time_mask
        gaussian_noise amplitude_scale frequency_shift bandstop ft_surrogate centered_ft_surrogate
        channel_symmetry channel_dropout channel_shuffle
        sensor_rotation_x sensor_rotation_y sensor_rotation_z
    """
    assert list(TRANSFORMS) == expected.split()
    for name, cls in TRANSFORMS.items():
        assert cls.name == name
        assert cls.__name__ in augnet.transforms.__all__


@pytest.mark.parametrize("name", [name for name, cls in TRANSFORMS.items() if not cls.resamples])
def test_a_transform_that_does_not_resample_keeps_values_at_their_places(name):
    transform = specimen(name)
    x = inputs(transform.domain)
    magnitude = torch.linspace(0.1, 1, len(x))
    params = transform.sample_params(x.shape, x, seeded(0))
    order = torch.randperm(x[0, 0].numel(), generator=seeded(1))

    def shuffled(x):
        return x.flatten(2)[:, :, order].reshape(x.shape)

    moved = transform.apply(shuffled(x), magnitude, params)
    assert not moved.allclose(shuffled(x))
    assert moved.allclose(shuffled(transform.apply(x, magnitude, params)), atol=1e-5)


def test_transforms_are_built_from_names_tables_and_themselves():
    built = build_transforms(["shear_x", {"name": "rotate", "limit": 180}, Rotate(5)])
    assert built == [ShearX(), Rotate(180), Rotate(5)]
    assert (
        build_transforms("shear_x")
        == build_transforms(ShearX())
        == build_transforms({"name": "shear_x"})
        == [ShearX()]
    )


def test_shared_facts_go_to_the_transforms_that_take_them():
    shift, turn = build_transforms(["frequency_shift", "rotate"], sfreq=200)
    assert shift == FrequencyShift(sfreq=200)
    assert turn == Rotate()
    assert build_transforms({"name": "frequency_shift", "sfreq": 50}, sfreq=200) == [
        FrequencyShift(sfreq=50)
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rotation", "unknown transform 'rotation': did you mean 'rotate'?"),
        ("TranslateX", "unknown transform 'TranslateX': did you mean 'translate_x'?"),
        ("translate_xx", "did you mean 'translate_x'?"),
        ("xyzzy", "Known: translate_x"),
        ({"name": "rotate", "limits": 3}, "rotate does not take 'limits': did you mean 'limit'?"),
        ({"limit": 3}, "needs the key 'name'"),
        ("frequency_shift", "frequency_shift needs sfreq"),
        ("sensor_rotation_x", "sensor_rotation_x needs channels"),
        ({"name": "rotate", "limit": -3}, "rotate takes a limit above 0 degrees; got -3"),
        ({"name": "horizontal_flip", "limit": 2}, "limit above 0 and up to 1 probability; got 2"),
        ({"name": "scale", "limit": 1}, "scale takes a limit above 1 times; got 1"),
    ],
)
def test_mistakes_are_explained(spec, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        build_transforms(spec)
    assert message in str(error.value)


def test_shared_facts_that_no_transform_takes_are_refused():
    with pytest.raises(ValueError, match="no transform shares 'sfrq': did you mean 'sfreq'"):
        build_transforms(["rotate"], sfrq=100)
    with pytest.raises(ValueError, match="no transform shares 'limit'"):
        build_transforms(["rotate"], limit=180)


def test_limits_are_numbers():
    for limit in ("30", None, torch.tensor(30.0)):
        with pytest.raises(TypeError, match="rotate takes a number as its limit"):
            Rotate(limit)
    assert Rotate(np.float32(30)) == Rotate(30)


def broken(view=None, params=None):
    """Make a transform whose view or whose params are not what they should be."""

    @dataclass(frozen=True)
    class Broken(Transform):
        limit: float = 1.0

        unit: ClassVar[str] = "bugs"

        def sample_params(self, shape, like, generator=None):
            return params

        def apply(self, x, magnitude, params):
            return x if view is None else view(x)

    return Broken()


@pytest.mark.parametrize("training", [True, False])
def test_a_transform_must_keep_shape_and_type(training):
    x = torch.rand(4, 3, 6, 6)
    for view in (lambda x: x[:, :1], lambda x: x.double(), lambda x: x[:-1]):
        layer = AugmentationLayer(broken(view)).train(training)
        with pytest.raises(TypeError, match="a transform keeps shape and type"):
            layer(x)


def test_params_may_be_nothing_or_any_tuple_of_tensors():
    class Pair(NamedTuple):
        first: torch.Tensor
        second: torch.Tensor

    x = torch.rand(4, 2)
    for params in (None, [x, x], (x, None), Pair(x, x)):
        assert AugmentationLayer(broken(params=params)).eval()(x).shape == x.shape


def test_neither_numbers_nor_classes_are_transforms():
    with pytest.raises(TypeError, match="a transform is a name, a table or a Transform; got int"):
        build_transforms([3])


def test_what_is_learned_reads_like_a_sentence():
    said = {name: build_transforms(name, sfreq=100, channels=("C3", "C4"))[0].describe(0.25)
            for name in TRANSFORMS}  # fmt: skip
    assert Rotate(180).describe(0.25) == "±45.0°"
    assert said["translate_x"] == "±0.125 of the width"
    assert said["horizontal_flip"] == "with probability 0.12"
    assert said["time_shift"] == "±0.0625 of the duration"
    assert said["speed"] == "up or down 1.06 times"
    assert said["time_mask"] == "50.0 samples"
    assert said["frequency_shift"] == "±1.25 Hz"
    assert said["amplitude_scale"] == "up or down 1.19 times"


def test_a_transform_of_ones_own_is_one_class_and_one_registration(transforms):
    @register_transform
    @dataclass(frozen=True)
    class Gamma(Unsigned):
        """Brighten the mid-tones."""

        limit: float = 0.5

        unit: ClassVar[str] = "exponent"

        def transform(self, x, strength):
            return x ** (1 - strength)[:, None, None, None]

    assert transforms["gamma"] is Gamma
    layer = AugmentationLayer(*build_transforms(["rotate", {"name": "gamma", "limit": 0.8}]))
    x = torch.rand(6, 3, 8, 8)
    for training in (True, False):
        layer.train(training)
        assert layer(x).shape == x.shape
    assert "gamma up to 0.400 exponent" in repr(layer)


def test_registration_refuses_what_would_not_work(transforms):
    class Plain(Rotate):
        pass

    with pytest.raises(TypeError, match=r"Plain must be a frozen dataclass"):
        register_transform(Plain)

    @dataclass(frozen=True)
    class Unitless(Transform):
        pass

    with pytest.raises(TypeError, match="Unitless must say the unit"):
        register_transform(Unitless)

    @dataclass(frozen=True)
    class Rotate2(ShearX):
        pass

    Rotate2.name = "rotate"
    Rotate2.__qualname__ = "Rotate"  # as if it stood at the top of a module
    with pytest.raises(ValueError, match=r"rotate is taken by augnet.*geometry\.Rotate"):
        register_transform(Rotate2)


def test_domains_know_which_shapes_fit():
    images = Domain("color images", ("B", "3", "H", "W"))
    assert images.fits((2, 3, 5, 5))
    assert not images.fits((2, 1, 5, 5))
    assert not images.fits((2, 3, 5))
    assert Domain("batches", ("B", "...")).fits((2,))
