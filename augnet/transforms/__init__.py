"""The words: stateless transformations T(x; μ), by name.

>>> from augnet.transforms import VOCABULARY, words
>>> words(["shear-x", {"word": "rotate", "limit": 180}])[1].describe(0.25)
'±45.0°'
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeAlias, TypeVar

from augnet.checks import nearest
from augnet.transforms.base import (
    ANYTHING,
    COLOUR_IMAGES,
    IMAGES,
    SIGNALS,
    Domain,
    Graded,
    Magnitude,
    Multiplicative,
    Noise,
    Ranged,
    Switched,
    Transform,
    per_sample,
    spread,
)
from augnet.transforms.colour import (
    Autocontrast,
    Brightness,
    Contrast,
    Cutout,
    Equalize,
    Gray,
    Hue,
    Invert,
    Posterize,
    Saturation,
    Sharpness,
    Solarize,
)
from augnet.transforms.frequency import Bandstop, CentredFTSurrogate, FrequencyShift, FTSurrogate
from augnet.transforms.geometry import (
    Affine,
    HorizontalFlip,
    Rotate,
    Scale,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    VerticalFlip,
)
from augnet.transforms.pairing import SamplePairing
from augnet.transforms.sensors import (
    ChannelDropout,
    ChannelShuffle,
    ChannelSymmetry,
    SensorRotationX,
    SensorRotationY,
    SensorRotationZ,
)
from augnet.transforms.time import AmplitudeScale, GaussianNoise, SignFlip, TimeMask, TimeReverse

__all__ = [
    "VOCABULARY", "Word", "register", "words",
    "Transform", "Switched", "Graded", "Ranged", "Multiplicative", "Affine",
    "Domain", "ANYTHING", "COLOUR_IMAGES", "IMAGES", "SIGNALS",
    "Magnitude", "Noise", "per_sample", "spread",
    "TranslateX", "TranslateY", "ShearX", "ShearY", "Rotate", "Scale",
    "HorizontalFlip", "VerticalFlip",
    "Brightness", "Contrast", "Saturation", "Hue", "Sharpness", "Solarize", "Posterize",
    "Invert", "Gray", "Autocontrast", "Equalize", "Cutout", "SamplePairing",
    "TimeReverse", "SignFlip", "TimeMask", "GaussianNoise", "AmplitudeScale",
    "FrequencyShift", "FTSurrogate", "CentredFTSurrogate", "Bandstop",
    "ChannelSymmetry", "ChannelShuffle", "ChannelDropout",
    "SensorRotationX", "SensorRotationY", "SensorRotationZ",
]  # fmt: skip

Word: TypeAlias = str | Mapping[str, Any] | Transform
T = TypeVar("T", bound=type[Transform])

VOCABULARY: dict[str, type[Transform]] = {
    cls.name: cls
    for cls in (
        TranslateX, TranslateY, ShearX, ShearY, Rotate, Scale, HorizontalFlip, VerticalFlip,
        Brightness, Contrast, Saturation, Hue, Sharpness, Solarize, Posterize, Invert, Gray,
        Autocontrast, Equalize, Cutout, SamplePairing,
        TimeReverse, SignFlip, TimeMask, GaussianNoise, AmplitudeScale,
        FrequencyShift, FTSurrogate, CentredFTSurrogate, Bandstop,
        ChannelSymmetry, ChannelShuffle, ChannelDropout,
        SensorRotationX, SensorRotationY, SensorRotationZ,
    )
}  # fmt: skip


def register(cls: T) -> T:
    """Add a word of your own to the vocabulary; use it as a class decorator.

    The name is the class's in kebab-case. See examples/02_your_own_word.py.
    """
    if "__dataclass_params__" not in vars(cls) or not vars(cls)["__dataclass_params__"].frozen:
        raise TypeError(f"{cls.__name__} must be a frozen dataclass: add @dataclass(frozen=True)")
    if not hasattr(cls, "unit"):
        raise TypeError(f"{cls.__name__} must say the unit of its limit, as a class variable")
    holder = VOCABULARY.get(cls.name, cls)
    if (holder.__module__, holder.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{cls.name} is taken by {holder.__module__}.{holder.__qualname__}")
    VOCABULARY[cls.name] = cls
    return cls


def words(specs: Word | Iterable[Word], **shared: Any) -> list[Transform]:
    """Build words from names, from tables such as `{word = "rotate", limit = 180}`, or as given.

    What is `shared` (`sfreq=100`, `channels=[...]`) goes to those words that take it and do not
    say otherwise.
    """
    if isinstance(specs, str | Mapping | Transform):
        specs = [specs]
    known = {field.name for cls in VOCABULARY.values() for field in fields(cls)} - {"limit"}
    for key in shared:
        if key not in known:
            raise ValueError(f"no word shares {key!r}{nearest(key, sorted(known))}")
    return [_word(spec, shared) for spec in specs]


def _word(spec: Word, shared: Mapping[str, Any]) -> Transform:
    if isinstance(spec, Transform):
        return spec
    if isinstance(spec, str):
        spec = {"word": spec}
    if not isinstance(spec, Mapping):
        raise TypeError(f"a word is a name, a table or a Transform; got {type(spec).__name__}")
    given = dict(spec)
    if "word" not in given:
        raise ValueError(f"a table needs the key 'word', one of the vocabulary; got {given}")
    name = given.pop("word")
    if name not in VOCABULARY:
        raise ValueError(f"unknown word {name!r}{nearest(name, VOCABULARY)}")
    cls = VOCABULARY[name]
    known = {field.name: field for field in fields(cls) if field.init}
    for key in given:
        if key not in known:
            raise ValueError(f"{name} does not take {key!r}{nearest(key, known)}")
    given = {key: value for key, value in shared.items() if key in known} | given
    missing = [
        key
        for key, field in known.items()
        if field.default is MISSING and field.default_factory is MISSING and key not in given
    ]
    if missing:
        raise ValueError(
            f"{name} needs {', '.join(missing)}: {{word = {name!r}, {missing[0]} = ...}}"
        )
    return cls(**given)
