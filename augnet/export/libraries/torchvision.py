"""torchvision's transforms v2: one image at a time."""

from collections.abc import Callable

from augnet.export.libraries.base import (
    DIFFERENCES,
    NO_NEGATIVE_FACTORS,
    WITHIN_THE_SIDE,
    Library,
    Line,
    around_one,
    bernoulli,
    factor,
    number,
    ranged,
    slant,
    weights,
    whole_bits,
    within,
)
from augnet.export.steps import Layer, Step

VALUES = 9
"""How many strengths stand for a range, of transforms that take a single one."""


def _affine(arguments: Callable[[float], str]) -> Line:
    """Write an affine map. The default interpolation of torchvision is `nearest`.

    With its default fill, pixels at the edge of the image are blended with black twice.
    """

    def line(step: Step) -> str:
        nearest = getattr(step.transform, "interpolation", "") == "nearest"
        mode = "NEAREST" if nearest else "BILINEAR"
        given = arguments(step.strength)
        return f"v2.RandomAffine({given}, interpolation=v2.InterpolationMode.{mode}, fill=None)"

    return line


def _one_of(make: str, values: Callable[[float], list[float]]) -> Line:
    """Write a draw of a strength, for a transform that takes a single one."""

    def line(step: Step) -> str:
        drawn = ", ".join(number(value) for value in values(step.strength))
        return f"v2.RandomChoice([{make}(v, p=1.0) for v in ({drawn})])"

    return line


def _random_choice(name: str, layer: Layer) -> list[str]:
    """Draw one transform of a list."""
    return [f"v2.RandomChoice({name}{weights(layer, ', p=')})"] * layer.times


def _spaced(low: float, high: float) -> list[float]:
    """Return the centers of equal parts of a range."""
    return [low + (high - low) * (part + 0.5) / VALUES for part in range(VALUES)]


def _posterize(step: Step) -> str:
    """Write a draw of the number of bits that are kept."""
    dropped = whole_bits(step.strength)
    kept = ", ".join(str(8 - bits) for bits in (0, *dropped))
    parts = ", ".join(number(part) for part in (1 - sum(dropped.values()), *dropped.values()))
    return f"v2.RandomChoice([v2.RandomPosterize(b, p=1.0) for b in ({kept})], p=[{parts}])"


TORCHVISION = Library(
    kind="images",
    imports="from torchvision.transforms import v2",
    lines={
        "rotate": _affine(lambda s: f"degrees={within(s)}"),
        "translate_x": _affine(lambda s: f"degrees=0, translate=({number(min(s, 1))}, 0.0)"),
        "translate_y": _affine(lambda s: f"degrees=0, translate=(0.0, {number(min(s, 1))})"),
        "shear_x": _affine(lambda s: f"degrees=0, shear={within(slant(s))}"),
        "shear_y": _affine(
            lambda s: f"degrees=0, shear=(0.0, 0.0, {number(-slant(s))}, {number(slant(s))})"
        ),
        "scale": _affine(lambda s: f"degrees=0, scale={factor(s)}"),
        "horizontal_flip": bernoulli("v2.RandomHorizontalFlip"),
        "vertical_flip": bernoulli("v2.RandomVerticalFlip"),
        "brightness": ranged("v2.ColorJitter", lambda s: f"brightness={around_one(s)}"),
        "contrast": ranged("v2.ColorJitter", lambda s: f"contrast={around_one(s)}"),
        "saturation": ranged("v2.ColorJitter", lambda s: f"saturation={around_one(s)}"),
        "hue": ranged("v2.ColorJitter", lambda s: f"hue={within(s / 360)}"),
        "sharpness": _one_of("v2.RandomAdjustSharpness", lambda s: _spaced(max(0.0, 1 - s), 1 + s)),
        "solarize": _one_of("v2.RandomSolarize", lambda s: _spaced(1 - s, 1.0)),
        "posterize": _posterize,
        "invert": bernoulli("v2.RandomInvert"),
        "gray": bernoulli("v2.RandomGrayscale"),
        "autocontrast": bernoulli("v2.RandomAutocontrast"),
        "equalize": bernoulli("v2.RandomEqualize"),
        "cutout": ranged(
            "v2.RandomErasing",
            lambda s: f"p=1.0, scale=({number(s**2)}, {number(s**2)}), ratio=(1.0, 1.0)",
        ),
        "gaussian_noise": ranged(
            "v2.GaussianNoise", lambda s: f"mean=0.0, sigma={number(s)}, clip=False"
        ),
    },
    identity="v2.Identity()",
    draw=_random_choice,
    note="All images of a batch get the same view: apply `augment` to one image at a time.",
    template="augment = v2.Compose([\n{steps}\n])  # of one image (C, H, W), float in [0, 1]",
    differences=DIFFERENCES
    | {
        "translate_x": "moves by whole pixels",
        "translate_y": "moves by whole pixels",
        "sharpness": f"takes one factor, so one of {VALUES} is drawn",
        "solarize": f"takes one threshold, so one of {VALUES} is drawn",
        "posterize": "drops whole bits, so their number is drawn; augnet drops fractions too",
        "cutout": "erases a square of the same area with hard edges, or nothing if it does not "
        "fit; augnet a box with the proportions of the image and soft edges",
    },
    limits=NO_NEGATIVE_FACTORS | WITHIN_THE_SIDE,
    options={
        "padding": ("zeros",),
        "interpolation": ("bilinear", "nearest"),
        "pivot": ("center",),
    },
)
