"""The code for each transform in each library, and how it differs from augnet."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from augnet.export.steps import Step

Line: TypeAlias = Callable[[Step], str]

DIFFERENCES = {
    "scale": "draws the factor uniformly, augnet its logarithm",
    "shear_x": "draws the angle uniformly, augnet the shear",
    "shear_y": "draws the angle uniformly, augnet the shear",
}


@dataclass(frozen=True)
class Library:
    """A library: its imports, a line of code per transform, and a template for the whole."""

    imports: str
    lines: Mapping[str, Line]
    template: str
    """The code of the whole augmentation; `{steps}` are the lines."""
    differences: Mapping[str, str] = field(default_factory=dict)
    """How transforms of the library differ from augnet, for a comment in the snippet."""
    note: str = ""


def number(value: float) -> str:
    """Write a number with six digits."""
    return f"{value:.6g}"


def _within(value: float) -> str:
    return f"({number(-value)}, {number(value)})"


def _around_one(value: float) -> str:
    return f"({number(max(0.0, 1 - value))}, {number(1 + value)})"


def _factor(value: float) -> str:
    return f"({number(1 / value)}, {number(value)})"


def _slant(value: float) -> float:
    return math.degrees(math.atan(value))


def _affine(make: str, arguments: Callable[[float], str]) -> Line:
    return lambda step: f"{make}({arguments(step.strength)})"


def _named(make: str, argument: str = "p") -> Line:
    """Write a Bernoulli transform, which has a probability only."""
    return lambda step: f"{make}({argument}={number(step.strength)})"


KORNIA = Library(
    imports="import kornia.augmentation as K\nimport torch",
    lines={
        "rotate": _affine("K.RandomAffine", lambda s: f"degrees={_within(s)}, p=1.0"),
        "translate_x": _affine(
            "K.RandomAffine", lambda s: f"degrees=0.0, translate=({number(s)}, 0.0), p=1.0"
        ),
        "translate_y": _affine(
            "K.RandomAffine", lambda s: f"degrees=0.0, translate=(0.0, {number(s)}), p=1.0"
        ),
        "shear_x": _affine(
            "K.RandomAffine",
            lambda s: f"degrees=0.0, shear=({number(-_slant(s))}, {number(_slant(s))}), p=1.0",
        ),
        "shear_y": _affine(
            "K.RandomAffine",
            lambda s: (
                f"degrees=0.0, shear=(0.0, 0.0, {number(-_slant(s))}, {number(_slant(s))}), p=1.0"
            ),
        ),
        "scale": _affine("K.RandomAffine", lambda s: f"degrees=0.0, scale={_factor(s)}, p=1.0"),
        "horizontal_flip": _named("K.RandomHorizontalFlip"),
        "vertical_flip": _named("K.RandomVerticalFlip"),
        "brightness": _affine("K.ColorJitter", lambda s: f"brightness={_around_one(s)}, p=1.0"),
        "contrast": _affine("K.ColorJitter", lambda s: f"contrast={_around_one(s)}, p=1.0"),
        "saturation": _affine("K.ColorJitter", lambda s: f"saturation={_around_one(s)}, p=1.0"),
        "hue": _affine("K.ColorJitter", lambda s: f"hue={_within(s / 360)}, p=1.0"),
        "invert": _named("K.RandomInvert"),
        "gray": _named("K.RandomGrayscale"),
        "autocontrast": _named("K.RandomAutoContrast"),
        "equalize": _named("K.RandomEqualize"),
        "gaussian_noise": _affine(
            "K.RandomGaussianNoise", lambda s: f"mean=0.0, std={number(s)}, p=1.0"
        ),
    },
    template="augment = torch.nn.Sequential(\n{steps}\n)  # of a batch (B, C, H, W) in [0, 1]",
    differences=DIFFERENCES,
)

TORCHVISION = Library(
    imports="from torchvision.transforms import v2",
    lines={
        "rotate": _affine("v2.RandomAffine", lambda s: f"degrees={_within(s)}"),
        "translate_x": _affine(
            "v2.RandomAffine", lambda s: f"degrees=0, translate=({number(s)}, 0.0)"
        ),
        "translate_y": _affine(
            "v2.RandomAffine", lambda s: f"degrees=0, translate=(0.0, {number(s)})"
        ),
        "shear_x": _affine("v2.RandomAffine", lambda s: f"degrees=0, shear={_within(_slant(s))}"),
        "shear_y": _affine(
            "v2.RandomAffine",
            lambda s: f"degrees=0, shear=(0.0, 0.0, {number(-_slant(s))}, {number(_slant(s))})",
        ),
        "scale": _affine("v2.RandomAffine", lambda s: f"degrees=0, scale={_factor(s)}"),
        "horizontal_flip": _named("v2.RandomHorizontalFlip"),
        "vertical_flip": _named("v2.RandomVerticalFlip"),
        "brightness": _affine("v2.ColorJitter", lambda s: f"brightness={_around_one(s)}"),
        "contrast": _affine("v2.ColorJitter", lambda s: f"contrast={_around_one(s)}"),
        "saturation": _affine("v2.ColorJitter", lambda s: f"saturation={_around_one(s)}"),
        "hue": _affine("v2.ColorJitter", lambda s: f"hue={_within(s / 360)}"),
        "invert": _named("v2.RandomInvert"),
        "gray": _named("v2.RandomGrayscale"),
        "autocontrast": _named("v2.RandomAutocontrast"),
        "equalize": _named("v2.RandomEqualize"),
        "gaussian_noise": _affine(
            "v2.GaussianNoise", lambda s: f"mean=0.0, sigma={number(s)}, clip=False"
        ),
    },
    template="augment = v2.Compose([\n{steps}\n])  # of one image, float in [0, 1]",
    differences=DIFFERENCES,
    note="All samples of a batch get the same transform: apply it to one image at a time.",
)

ALBUMENTATIONS = Library(
    imports="import albumentations as A",
    lines={
        "rotate": _affine("A.Affine", lambda s: f"rotate={_within(s)}, p=1.0"),
        "translate_x": _affine(
            "A.Affine",
            lambda s: f'translate_percent={{"x": {_within(s)}, "y": (0.0, 0.0)}}, p=1.0',
        ),
        "translate_y": _affine(
            "A.Affine",
            lambda s: f'translate_percent={{"x": (0.0, 0.0), "y": {_within(s)}}}, p=1.0',
        ),
        "shear_x": _affine(
            "A.Affine", lambda s: f'shear={{"x": {_within(_slant(s))}, "y": (0.0, 0.0)}}, p=1.0'
        ),
        "shear_y": _affine(
            "A.Affine", lambda s: f'shear={{"x": (0.0, 0.0), "y": {_within(_slant(s))}}}, p=1.0'
        ),
        "scale": _affine("A.Affine", lambda s: f"scale={_factor(s)}, p=1.0"),
        "horizontal_flip": _named("A.HorizontalFlip"),
        "vertical_flip": _named("A.VerticalFlip"),
        **{
            name: _affine("A.ColorJitter", lambda s, name=name: _jitter(name, s))  # type: ignore[misc]
            for name in ("brightness", "contrast", "saturation", "hue")
        },
        "invert": _named("A.InvertImg"),
        "gray": _named("A.ToGray"),
        "autocontrast": _named("A.AutoContrast"),
        "equalize": _named("A.Equalize"),
        "gaussian_noise": _affine(
            "A.GaussNoise", lambda s: f"std_range=({number(s)}, {number(s)}), p=1.0"
        ),
    },
    template='augment = A.Compose([\n{steps}\n])  # augment(image=image)["image"]',
    differences=DIFFERENCES,
)


def _jitter(name: str, strength: float) -> str:
    """Write the ranges of a color jitter: one as given, the others without effect."""
    ranges = dict.fromkeys(("brightness", "contrast", "saturation"), "(1.0, 1.0)")
    ranges["hue"] = "(0.0, 0.0)"
    ranges[name] = _within(strength / 360) if name == "hue" else _around_one(strength)
    return ", ".join(f"{key}={value}" for key, value in ranges.items()) + ", p=1.0"


def _sensors(make: str) -> Line:
    return lambda step: (
        f"{make}(probability=1.0, ordered_ch_names={_channels(step)}, "
        f"max_degrees={number(step.strength)})"
    )


def _channels(step: Step) -> list[str]:
    return list(getattr(step.transform, "channels", ()))


def _sfreq(step: Step) -> float:
    return getattr(step.transform, "sfreq", 0.0)


BRAINDECODE = Library(
    imports="import torch\nfrom braindecode import augmentation as B",
    lines={
        "time_reverse": _named("B.TimeReverse", "probability"),
        "sign_flip": _named("B.SignFlip", "probability"),
        "ft_surrogate": _affine(
            "B.FTSurrogate",
            lambda s: f"probability=1.0, phase_noise_magnitude={number(s / (2 * math.pi))}",
        ),
        "frequency_shift": lambda step: (
            f"B.FrequencyShift(probability=1.0, sfreq={number(_sfreq(step))}, "
            f"max_delta_freq={number(step.strength)})"
        ),
        "bandstop": lambda step: (
            f"B.BandstopFilter(probability=1.0, sfreq={number(_sfreq(step))}, "
            f"bandwidth={number(step.strength)}, max_freq={number(_sfreq(step) / 2)})"
        ),
        "gaussian_noise": _affine("B.GaussianNoise", lambda s: f"probability=1.0, std={number(s)}"),
        "time_mask": _affine(
            "B.SmoothTimeMask",
            lambda s: f"probability=1.0, mask_len_samples={max(1, round(s))}",
        ),
        "channel_dropout": _affine(
            "B.ChannelsDropout", lambda s: f"probability=1.0, p_drop={number(s)}"
        ),
        "channel_shuffle": _affine(
            "B.ChannelsShuffle", lambda s: f"probability=1.0, p_shuffle={number(s)}"
        ),
        "channel_symmetry": lambda step: (
            f"B.ChannelsSymmetry(probability={number(step.strength)}, "
            f"ordered_ch_names={_channels(step)})"
        ),
        "sensor_rotation_x": _sensors("B.SensorsXRotation"),
        "sensor_rotation_y": _sensors("B.SensorsYRotation"),
        "sensor_rotation_z": _sensors("B.SensorsZRotation"),
    },
    template="augment = torch.nn.Sequential(\n{steps}\n)  # of a batch (B, C, T)",
    differences={
        f"sensor_rotation_{axis}": "smooths the data a little even at 0°" for axis in "xyz"
    },
)

LIBRARIES: dict[str, Library] = {
    "kornia": KORNIA,
    "torchvision": TORCHVISION,
    "albumentations": ALBUMENTATIONS,
    "braindecode": BRAINDECODE,
}
