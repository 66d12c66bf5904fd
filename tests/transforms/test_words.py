"""The vocabulary: names, tables, and words of one's own."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
import torch

import augnet.transforms
from augnet import AugmentationLayer
from augnet.transforms import (
    VOCABULARY,
    Domain,
    FrequencyShift,
    Graded,
    Rotate,
    ShearX,
    Transform,
    register,
    words,
)


@pytest.fixture
def vocabulary(monkeypatch):
    """Give a vocabulary to write in, and leave the real one alone."""
    monkeypatch.setattr(augnet.transforms, "VOCABULARY", dict(VOCABULARY))
    return augnet.transforms.VOCABULARY


def test_names_are_the_kebab_case_of_the_classes():
    expected = """
        translate-x translate-y shear-x shear-y rotate scale horizontal-flip vertical-flip
        brightness contrast saturation hue sharpness solarize posterize invert gray autocontrast
        equalize cutout sample-pairing time-reverse sign-flip time-mask gaussian-noise
        amplitude-scale frequency-shift ft-surrogate centred-ft-surrogate bandstop
        channel-symmetry channel-shuffle channel-dropout
        sensor-rotation-x sensor-rotation-y sensor-rotation-z
    """
    assert list(VOCABULARY) == expected.split()
    for name, cls in VOCABULARY.items():
        assert cls.name == name
        assert cls.__name__ in augnet.transforms.__all__


def test_words_are_built_from_names_tables_and_themselves():
    built = words(["shear-x", {"word": "rotate", "limit": 180}, Rotate(5)])
    assert built == [ShearX(), Rotate(180), Rotate(5)]
    assert words("shear-x") == words(ShearX()) == words({"word": "shear-x"}) == [ShearX()]


def test_shared_facts_go_to_the_words_that_take_them():
    shift, turn = words(["frequency-shift", "rotate"], sfreq=200)
    assert shift == FrequencyShift(sfreq=200)
    assert turn == Rotate()
    assert words({"word": "frequency-shift", "sfreq": 50}, sfreq=200) == [FrequencyShift(sfreq=50)]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("rotation", "unknown word 'rotation': did you mean 'rotate'?"),
        ("TranslateX", "unknown word 'TranslateX': did you mean 'translate-x'?"),
        ("translate_x", "did you mean 'translate-x'?"),
        ("xyzzy", "Known: translate-x"),
        ({"word": "rotate", "limits": 3}, "rotate does not take 'limits': did you mean 'limit'?"),
        ({"limit": 3}, "needs the key 'word'"),
        ("frequency-shift", "frequency-shift needs sfreq"),
        ("sensor-rotation-x", "sensor-rotation-x needs channels"),
        ({"word": "rotate", "limit": -3}, "rotate takes a limit above 0 degrees; got -3"),
        ({"word": "horizontal-flip", "limit": 2}, "limit above 0 and up to 1 probability; got 2"),
        ({"word": "scale", "limit": 1}, "scale takes a limit above 1 times; got 1"),
    ],
)
def test_mistakes_are_explained(spec, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        words(spec)
    assert message in str(error.value)


def test_shared_facts_that_no_word_takes_are_refused():
    with pytest.raises(ValueError, match="no word shares 'sfrq': did you mean 'sfreq'"):
        words(["rotate"], sfrq=100)
    with pytest.raises(ValueError, match="no word shares 'limit'"):
        words(["rotate"], limit=180)


def test_limits_are_numbers():
    for limit in ("30", None, torch.tensor(30.0)):
        with pytest.raises(TypeError, match="rotate takes a number as its limit"):
            Rotate(limit)
    assert Rotate(np.float32(30)) == Rotate(30)


def broken(view=None, noise=None):
    """Make a word whose view or whose noise is not what it should be."""

    @dataclass(frozen=True)
    class Broken(Transform):
        limit: float = 1.0

        unit: ClassVar[str] = "bugs"

        def sample(self, x, generator=None):
            return noise

        def transform(self, x, magnitude, noise):
            return x if view is None else view(x)

    return Broken()


@pytest.mark.parametrize("training", [True, False])
def test_a_word_must_keep_shape_and_type(training):
    x = torch.rand(4, 3, 6, 6)
    for view in (lambda x: x[:, :1], lambda x: x.double(), lambda x: x[:-1]):
        layer = AugmentationLayer(broken(view)).train(training)
        with pytest.raises(TypeError, match="a word keeps shape and type"):
            layer(x)


def test_noise_may_be_nothing_or_any_tuple_of_tensors():
    class Pair(NamedTuple):
        first: torch.Tensor
        second: torch.Tensor

    x = torch.rand(4, 2)
    for noise in (None, [x, x], (x, None), Pair(x, x)):
        assert AugmentationLayer(broken(noise=noise)).eval()(x).shape == x.shape


def test_neither_numbers_nor_classes_are_words():
    with pytest.raises(TypeError, match="a word is a name, a table or a Transform; got int"):
        words([3])


def test_what_is_learned_reads_like_a_sentence():
    said = {name: words(name, sfreq=100, channels=("C3", "C4"))[0].describe(0.25)
            for name in VOCABULARY}  # fmt: skip
    assert Rotate(180).describe(0.25) == "±45.0°"
    assert said["translate-x"] == "±0.125 of the width"
    assert said["horizontal-flip"] == "with probability 0.12"
    assert said["time-mask"] == "50.0 samples"
    assert said["frequency-shift"] == "±1.25 Hz"
    assert said["amplitude-scale"] == "up or down 1.19 times"


def test_a_word_of_ones_own_is_one_class_and_one_registration(vocabulary):
    @register
    @dataclass(frozen=True)
    class Gamma(Graded):
        """Brighten the mid-tones."""

        limit: float = 0.5

        unit: ClassVar[str] = "exponent"

        def apply(self, x, strength):
            return x ** (1 - strength)[:, None, None, None]

    assert vocabulary["gamma"] is Gamma
    layer = AugmentationLayer(*words(["rotate", {"word": "gamma", "limit": 0.8}]))
    x = torch.rand(6, 3, 8, 8)
    for training in (True, False):
        layer.train(training)
        assert layer(x).shape == x.shape
    assert "gamma up to 0.400 exponent" in repr(layer)


def test_registration_refuses_what_would_not_work(vocabulary):
    class Plain(Rotate):
        pass

    with pytest.raises(TypeError, match=r"Plain must be a frozen dataclass"):
        register(Plain)

    @dataclass(frozen=True)
    class Unitless(Transform):
        pass

    with pytest.raises(TypeError, match="Unitless must say the unit"):
        register(Unitless)

    @dataclass(frozen=True)
    class Rotate2(ShearX):
        pass

    Rotate2.name = "rotate"
    Rotate2.__qualname__ = "Rotate"  # as if it stood at the top of a module
    with pytest.raises(ValueError, match=r"rotate is taken by augnet.*geometry\.Rotate"):
        register(Rotate2)


def test_domains_know_which_shapes_fit():
    images = Domain("colour images", ("B", "3", "H", "W"))
    assert images.fits((2, 3, 5, 5))
    assert not images.fits((2, 1, 5, 5))
    assert not images.fits((2, 3, 5))
    assert Domain("batches", ("B", "...")).fits((2,))
