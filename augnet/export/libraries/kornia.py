"""kornia: batches of images."""

from collections.abc import Callable

from augnet.export.libraries.base import (
    DIFFERENCES,
    NO_NEGATIVE_FACTORS,
    ONE_TRANSFORM_PER_SAMPLE,
    WITHIN_THE_SIDE,
    Library,
    Line,
    around_one,
    bernoulli,
    choice,
    factor,
    number,
    ranged,
    slant,
    within,
)
from augnet.export.steps import Step


def _affine(arguments: Callable[[float], str]) -> Line:
    """Write an affine map, with the interpolation and the padding of the transform."""

    def line(step: Step) -> str:
        interpolation = getattr(step.transform, "interpolation", "bilinear")
        padding = getattr(step.transform, "padding", "zeros")
        more = "" if interpolation == "bilinear" else f', resample="{interpolation}"'
        more += "" if padding == "zeros" else f', padding_mode="{padding}"'
        return f"K.RandomAffine({arguments(step.strength)}{more}, p=1.0)"

    return line


KORNIA = Library(
    kind="images",
    imports="import kornia.augmentation as K\nimport torch",
    lines={
        "rotate": _affine(lambda s: f"degrees={within(min(s, 360))}"),
        "translate_x": _affine(lambda s: f"degrees=0.0, translate=({number(min(s, 1))}, 0.0)"),
        "translate_y": _affine(lambda s: f"degrees=0.0, translate=(0.0, {number(min(s, 1))})"),
        "shear_x": _affine(lambda s: f"degrees=0.0, shear={within(slant(s))}"),
        "shear_y": _affine(
            lambda s: f"degrees=0.0, shear=(0.0, 0.0, {number(-slant(s))}, {number(slant(s))})"
        ),
        "scale": _affine(lambda s: f"degrees=0.0, scale={factor(s)}"),
        "horizontal_flip": bernoulli("K.RandomHorizontalFlip"),
        "vertical_flip": bernoulli("K.RandomVerticalFlip"),
        "brightness": ranged("K.ColorJitter", lambda s: f"brightness={around_one(s)}, p=1.0"),
        "contrast": ranged("K.ColorJitter", lambda s: f"contrast={around_one(s)}, p=1.0"),
        "saturation": ranged("K.ColorJitter", lambda s: f"saturation={around_one(s)}, p=1.0"),
        "hue": ranged("K.ColorJitter", lambda s: f"hue={within(s / 360)}, p=1.0"),
        "sharpness": ranged("K.RandomSharpness", lambda s: f"sharpness={around_one(s)}, p=1.0"),
        "solarize": ranged(
            "K.RandomSolarize",
            lambda s: f"thresholds=({number(1 - s)}, 1.0), additions=(0.0, 0.0), p=1.0",
        ),
        "posterize": ranged("K.RandomPosterize", lambda s: f"bits=({number(8 - s)}, 8.0), p=1.0"),
        "invert": bernoulli("K.RandomInvert"),
        "gray": bernoulli("K.RandomGrayscale"),
        "autocontrast": bernoulli("K.RandomAutoContrast"),
        "equalize": bernoulli("K.RandomEqualize"),
        "cutout": ranged(
            "K.RandomErasing",
            lambda s: f"scale=({number(s**2)}, {number(s**2)}), ratio=(1.0, 1.0), p=1.0",
        ),
        "gaussian_noise": ranged(
            "K.RandomGaussianNoise", lambda s: f"mean=0.0, std={number(s)}, p=1.0"
        ),
    },
    identity="torch.nn.Identity()",
    draw=choice,
    draw_definitions=ONE_TRANSFORM_PER_SAMPLE,
    draw_note=(
        "Choice draws for each sample. kornia's ImageSequential(..., random_apply=1) draws once "
        "for the whole batch."
    ),
    template="augment = torch.nn.Sequential(\n{steps}\n)  # of a batch (B, C, H, W) in [0, 1]",
    options={"pivot": ("center",)},
    limits=NO_NEGATIVE_FACTORS | WITHIN_THE_SIDE | {"rotate": (360.0, "turns by 360° at most")},
    differences=DIFFERENCES
    | {
        "posterize": "drops whole bits, augnet fractions too",
        "autocontrast": "makes channels of one value black, augnet leaves them as they are",
        "cutout": "erases a square of the same area with hard edges, augnet a box with the "
        "proportions of the image and soft edges",
    },
)
