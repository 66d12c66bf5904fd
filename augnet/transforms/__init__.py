"""Transforms: stateless functions T(x; μ), by name.

    base        what a transform is, and its kinds: Bernoulli, Unsigned, Signed, Linear
    registry    TRANSFORMS, register_transform, build_transforms
    noise       all random numbers, and stratified ones for copies
    relax       gradients where there are none: straight-through values, soft windows
    geometry    translate, shear, rotate, scale, flip; affine maps share one resampling
    color       brightness to cutout
    pairing     blends of two samples
    time        signals in time: reverse, shift, speed, mask, noise, sign, amplitude
    frequency   signals by their spectra
    sensors     channels of a recording; scalp has their positions
    function    transforms that call a function; from_function makes them

>>> from augnet.transforms import build_transforms
>>> build_transforms(["shear_x", {"name": "rotate", "limit": 180}])[1].describe(0.25)
'±45.0°'
"""

# isort: off
# Transforms are listed in the order of these imports.
from augnet.transforms.base import (
    ANYTHING,
    COLOR_IMAGES,
    IMAGES,
    SIGNALS,
    Bernoulli,
    Domain,
    Magnitude,
    Multiplicative,
    Params,
    Ranged,
    Signed,
    Transform,
    Unsigned,
    per_sample,
    spread,
)
from augnet.transforms.registry import (
    TRANSFORMS,
    TransformSpec,
    build_transforms,
    register_transform,
)
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
from augnet.transforms.color import (
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
from augnet.transforms.pairing import SamplePairing
from augnet.transforms.time import (
    AmplitudeScale,
    GaussianNoise,
    SignFlip,
    Speed,
    TimeMask,
    TimeReverse,
    TimeShift,
)
from augnet.transforms.frequency import Bandstop, CenteredFTSurrogate, FrequencyShift, FTSurrogate
from augnet.transforms.sensors import (
    ChannelDropout,
    ChannelShuffle,
    ChannelSymmetry,
    SensorRotationX,
    SensorRotationY,
    SensorRotationZ,
)
from augnet.transforms.from_function import from_audio, from_operation, transform_from
# isort: on

__all__ = [
    "TRANSFORMS", "TransformSpec", "build_transforms", "register_transform",
    "Transform", "Bernoulli", "Ranged", "Unsigned", "Signed", "Multiplicative", "Affine",
    "Domain", "ANYTHING", "COLOR_IMAGES", "IMAGES", "SIGNALS",
    "Magnitude", "Params", "per_sample", "spread", "transform_from", "from_operation", "from_audio",
    "TranslateX", "TranslateY", "ShearX", "ShearY", "Rotate", "Scale",
    "HorizontalFlip", "VerticalFlip",
    "Brightness", "Contrast", "Saturation", "Hue", "Sharpness", "Solarize", "Posterize",
    "Invert", "Gray", "Autocontrast", "Equalize", "Cutout", "SamplePairing",
    "TimeReverse", "TimeShift", "Speed", "SignFlip", "TimeMask", "GaussianNoise", "AmplitudeScale",
    "FrequencyShift", "FTSurrogate", "CenteredFTSurrogate", "Bandstop",
    "ChannelSymmetry", "ChannelShuffle", "ChannelDropout",
    "SensorRotationX", "SensorRotationY", "SensorRotationZ",
]  # fmt: skip
