"""albumentations: one image at a time, as a numpy array."""

from collections.abc import Callable

from augnet.export.libraries.base import (
    DIFFERENCES,
    NO_NEGATIVE_FACTORS,
    Library,
    Line,
    around_one,
    bernoulli,
    factor,
    number,
    ranged,
    slant,
    whole_bits,
    within,
)
from augnet.export.steps import Layer, Step

INTERPOLATIONS = {"nearest": "INTER_NEAREST", "bicubic": "INTER_CUBIC"}
BORDERS = {"border": "BORDER_REPLICATE", "reflection": "BORDER_REFLECT"}


def _affine(arguments: Callable[[float], str]) -> Line:
    """Write an affine map, with the interpolation and the padding of the transform."""

    def line(step: Step) -> str:
        interpolation = INTERPOLATIONS.get(getattr(step.transform, "interpolation", ""))
        border = BORDERS.get(getattr(step.transform, "padding", ""))
        more = f", interpolation=cv2.{interpolation}" if interpolation else ""
        more += f", border_mode=cv2.{border}" if border else ""
        return f"A.Affine({arguments(step.strength)}{more}, p=1.0)"

    return line


def _jitter(name: str) -> Line:
    """Write the ranges of a color jitter: one as given, the others without effect."""

    def line(step: Step) -> str:
        ranges = dict.fromkeys(("brightness", "contrast", "saturation"), "(1.0, 1.0)")
        ranges["hue"] = "(0.0, 0.0)"
        ranges[name] = within(step.strength / 360) if name == "hue" else around_one(step.strength)
        return f"A.ColorJitter({', '.join(f'{k}={v}' for k, v in ranges.items())}, p=1.0)"

    return line


def _posterize(step: Step) -> str:
    """Write a draw of the number of bits that are kept, which is at least one."""
    dropped = whole_bits(step.strength, most=7)
    pairs = ", ".join(f"({8 - bits}, {number(part)})" for bits, part in dropped.items())
    some = f"[A.Posterize(num_bits=b, p=w) for b, w in [{pairs}]]"
    return f"A.OneOf({some}, p={number(sum(dropped.values()))})"


def _holes(strength: float) -> str:
    side = f"({number(strength)}, {number(strength)})"
    return f"num_holes_range=(1, 1), hole_height_range={side}, hole_width_range={side}, p=1.0"


def _one_of(name: str, layer: Layer) -> list[str]:
    """Draw one transform of a list.

    `SomeOf(n=2)` is shorter than two times `OneOf`, but it sorts what it draws, and before version
    2.0.6 it always applied it.
    """
    return [f"A.OneOf({name}, p=1.0)"] * layer.times


def _with_weight(code: str, weight: float, uniform: bool) -> str:
    """Write a transform so that its p is its weight: a probability goes into a sequence."""
    if uniform and code.endswith(("p=1.0)", "p=1)")):
        return code
    return f"A.Sequential([{code}], p={'1.0' if uniform else number(weight)})"


ALBUMENTATIONS = Library(
    kind="images",
    imports="import albumentations as A",
    lines={
        "rotate": _affine(lambda s: f"rotate={within(s)}"),
        "translate_x": _affine(
            lambda s: f'translate_percent={{"x": {within(s)}, "y": (0.0, 0.0)}}'
        ),
        "translate_y": _affine(
            lambda s: f'translate_percent={{"x": (0.0, 0.0), "y": {within(s)}}}'
        ),
        "shear_x": _affine(lambda s: f'shear={{"x": {within(slant(s))}, "y": (0.0, 0.0)}}'),
        "shear_y": _affine(lambda s: f'shear={{"x": (0.0, 0.0), "y": {within(slant(s))}}}'),
        "scale": _affine(lambda s: f"scale={factor(s)}, keep_ratio=True"),
        "horizontal_flip": bernoulli("A.HorizontalFlip"),
        "vertical_flip": bernoulli("A.VerticalFlip"),
        **{name: _jitter(name) for name in ("brightness", "contrast", "saturation", "hue")},
        "sharpness": ranged(
            "A.Sharpen",
            lambda s: f"alpha=(0.0, {number(min(s / 13, 1))}), lightness=(1.0, 1.0), p=0.5",
        ),
        "solarize": ranged(
            "A.Solarize", lambda s: f"threshold_range=({number(1 - s)}, 1.0), p=1.0"
        ),
        "posterize": _posterize,
        "invert": bernoulli("A.InvertImg"),
        "gray": bernoulli("A.ToGray"),
        "autocontrast": bernoulli("A.AutoContrast", more='method="pil", '),
        "equalize": bernoulli("A.Equalize", more='mode="pil", '),
        "cutout": ranged("A.CoarseDropout", _holes),
        "gaussian_noise": ranged(
            "A.GaussNoise", lambda s: f"std_range=({number(min(s, 1))}, {number(min(s, 1))}), p=1.0"
        ),
    },
    identity="A.NoOp(p=1.0)",
    draw=_one_of,
    in_draw=_with_weight,
    draw_note="OneOf takes p for weights, and applies what it draws. Sequential keeps a p.",
    template="augment = A.Compose([\n{steps}\n])  "
    '# augment(image=image)["image"], (H, W, C), uint8 or float32 in [0, 1]',
    options={"pivot": ("center",)},
    limits={name: beyond for name, beyond in NO_NEGATIVE_FACTORS.items() if name != "sharpness"}
    | {"gaussian_noise": (1.0, "has noise of a std of up to 1")},
    differences=DIFFERENCES
    | {
        "translate_x": "moves by whole pixels, rounded towards 0",
        "translate_y": "moves by whole pixels, rounded towards 0",
        "autocontrast": "rounds to 256 levels",
        "sharpness": "sharpens only, in half of the cases; augnet smooths in the other half",
        "posterize": "drops 1 to 7 bits, so their number is drawn; augnet drops fractions too",
        "cutout": "has hard edges, augnet soft ones",
        "gaussian_noise": "clips values to the range of pixels",
    },
)
