"""Published policies, as tables of transforms.

Translations are in fractions of the side and resample nearest pixels, as the authors do; the
strength of a color transform is its factor minus one. A level becomes a magnitude: a fraction of
the limit of the transform.
"""

from augnet.layers.policy import Policy, Step
from augnet.transforms import TransformSpec, build_transforms

EITHER_SIGN = (-1.0, 1.0)
FULL = (1.0,)
UNSIGNED = ("posterize", "solarize")
WITHOUT_STRENGTH = ("autocontrast", "equalize", "invert")

# Limits of AutoAugment (Cubuk et al. 2019, table 6) and RandAugment (Cubuk et al. 2020).
LIMITS = {
    "shear_x": 0.3, "shear_y": 0.3, "translate_x": 150 / 331, "translate_y": 150 / 331,
    "rotate": 30.0, "brightness": 0.9, "saturation": 0.9, "contrast": 0.9, "sharpness": 0.9,
    "posterize": 4.0, "solarize": 1.0,
}  # fmt: skip

# Those of TrivialAugment's wide space (Müller and Hutter 2021, table 1), for images of 32 pixels.
WIDE = LIMITS | {
    "shear_x": 0.99, "shear_y": 0.99, "translate_x": 1.0, "translate_y": 1.0, "rotate": 135.0,
    "brightness": 0.99, "saturation": 0.99, "contrast": 0.99, "sharpness": 0.99, "posterize": 6.0,
}  # fmt: skip

# RandAugment and TrivialAugment draw from these transforms and the identity.
DRAWN = ("autocontrast", "equalize", "rotate", "solarize", "saturation", "posterize", "contrast",
         "brightness", "sharpness", "shear_x", "shear_y", "translate_x", "translate_y")  # fmt: skip

# AutoAugment's policy for CIFAR-10, table 7: (transform, probability, level of 0 to 9). Its Color
# is our saturation; a level is None if a transform has no strength.
AUTOAUGMENT: tuple[tuple[tuple[str, float, int | None], ...], ...] = (
    (("invert", 0.1, None), ("contrast", 0.2, 6)),
    (("rotate", 0.7, 2), ("translate_x", 0.3, 9)),
    (("sharpness", 0.8, 1), ("sharpness", 0.9, 3)),
    (("shear_y", 0.5, 8), ("translate_y", 0.7, 9)),
    (("autocontrast", 0.5, None), ("equalize", 0.9, None)),
    (("shear_y", 0.2, 7), ("posterize", 0.3, 7)),
    (("saturation", 0.4, 3), ("brightness", 0.6, 7)),
    (("sharpness", 0.3, 9), ("brightness", 0.7, 9)),
    (("equalize", 0.6, None), ("equalize", 0.5, None)),
    (("contrast", 0.6, 7), ("sharpness", 0.6, 5)),
    (("saturation", 0.7, 7), ("translate_x", 0.5, 8)),
    (("equalize", 0.3, None), ("autocontrast", 0.4, None)),
    (("translate_y", 0.4, 3), ("sharpness", 0.2, 6)),
    (("brightness", 0.9, 6), ("saturation", 0.2, 8)),
    (("solarize", 0.5, 2), ("invert", 0.0, None)),
    (("equalize", 0.2, None), ("autocontrast", 0.6, None)),
    (("equalize", 0.2, None), ("equalize", 0.6, None)),
    (("saturation", 0.9, 9), ("equalize", 0.6, None)),
    (("autocontrast", 0.8, None), ("solarize", 0.2, 8)),
    (("brightness", 0.1, 3), ("saturation", 0.7, 0)),
    (("solarize", 0.4, 5), ("autocontrast", 0.9, None)),
    (("translate_y", 0.9, 9), ("translate_y", 0.7, 9)),
    (("autocontrast", 0.9, None), ("solarize", 0.8, 3)),
    (("equalize", 0.8, None), ("invert", 0.1, None)),
    (("translate_y", 0.7, 9), ("autocontrast", 0.9, None)),
)


def crop_flip(padding: int = 4, side: int = 32) -> Policy:
    """Crop images padded with zeros, and flip them horizontally (Krizhevsky 2012)."""
    pixels = tuple(step / padding for step in range(-padding, padding + 1))
    sides = build_transforms(
        {"name": transform, "limit": padding / side} for transform in ("translate_x", "translate_y")
    )
    (flip,) = build_transforms("horizontal_flip")
    return Policy([[*(Step(transform, fractions=pixels) for transform in sides), Step(flip)]])


def autoaugment() -> Policy:
    """Build the policy that AutoAugment found for CIFAR-10."""
    return Policy(
        [
            [
                published(transform, LIMITS, (level or 0) / 9, probability)
                for transform, probability, level in pair
            ]
            for pair in AUTOAUGMENT
        ]
    )


def randaugment(rounds: int = 3, level: int = 9, levels: int = 30) -> Policy:
    """Build RandAugment: `rounds` of fourteen transforms in sequence, all at one level."""
    if not 0 <= level <= levels:
        raise ValueError(f"level lies between 0 and {levels}; got {level}")
    steps = [published(transform, LIMITS, level / levels) for transform in DRAWN]
    return Policy([[step] for step in (nothing(), *steps)], rounds)


def trivialaugment(levels: int = 30) -> Policy:
    """Build TrivialAugment (wide): one transform of fourteen, at any level."""
    steps = [published(transform, WIDE, 1.0, levels=levels) for transform in DRAWN]
    return Policy([[step] for step in (nothing(), *steps)])


def nothing() -> Step:
    """Return the step that changes nothing, one of the fourteen."""
    return Step(build_transforms("rotate")[0], magnitude=0.0)


def published(
    name: str,
    limits: dict[str, float],
    magnitude: float,
    probability: float = 1.0,
    levels: int | None = None,
) -> Step:
    """Build a step at a magnitude with either sign, or at one of so many levels up to it."""
    if name in WITHOUT_STRENGTH:
        return Step(build_transforms({"name": name, "limit": 1.0})[0], probability)
    spec: dict[str, TransformSpec | float | str] = {"name": name, "limit": limits[name]}
    if name in ("rotate", "shear_x", "shear_y", "translate_x", "translate_y"):
        spec["interpolation"] = "nearest"
    fractions = tuple(level / levels for level in range(levels + 1)) if levels else FULL
    if name == "posterize":  # whole bits
        bits = limits[name]
        magnitude, fractions = (
            round(magnitude * bits) / bits,
            tuple(round(fraction * bits) / bits for fraction in fractions),
        )
    if name not in UNSIGNED:
        fractions = tuple(sign * fraction for fraction in fractions for sign in EITHER_SIGN)
    return Step(build_transforms(spec)[0], probability, magnitude, fractions)
