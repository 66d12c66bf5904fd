"""What a library is, and how numbers are written."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from augnet.data.input_spec import Kind
from augnet.export.steps import Layer, Step

Line: TypeAlias = Callable[[Step], str]
Draw: TypeAlias = Callable[[str, Layer], list[str]]
"""Takes the name of a list of transforms, and returns code that applies some, drawn by weights."""

DIFFERENCES = {
    "scale": "draws the factor uniformly, augnet its logarithm",
    "shear_x": "draws the angle uniformly, augnet the shear",
    "shear_y": "draws the angle uniformly, augnet the shear",
}
NO_NEGATIVE_FACTORS = dict.fromkeys(
    ("brightness", "contrast", "saturation", "sharpness"), (1.0, "has no factors below 0")
)
WITHIN_THE_SIDE = dict.fromkeys(("translate_x", "translate_y"), (1.0, "moves by one side at most"))
ONE_TRANSFORM_PER_SAMPLE = '''class Choice(torch.nn.Module):
    """Apply one of some transforms to each sample of a batch, drawn by weights."""

    def __init__(self, transforms, weights=None):
        super().__init__()
        self.transforms = torch.nn.ModuleList(transforms)
        self.weights = torch.tensor(weights or [1.0] * len(transforms))

    def forward(self, x):
        drawn = torch.multinomial(self.weights, len(x), replacement=True).to(x.device)
        view = x.clone()
        for number, transform in enumerate(self.transforms):
            chosen = drawn == number
            if chosen.any():
                view[chosen] = transform(x[chosen])
        return view'''


@dataclass(frozen=True)
class Library:
    """A library: its code for each transform, for a draw of one of them, and for the whole."""

    kind: Kind
    """The samples that it takes."""
    imports: str
    lines: Mapping[str, Line]
    identity: str
    """The code of no transform."""
    draw: Draw
    template: str
    """The code of the whole augmentation; `{steps}` are its lines."""
    definitions: str = ""
    """Code that the whole needs."""
    draw_definitions: str = ""
    """Code that draws need."""
    in_draw: Callable[[str, float, bool], str] = lambda code, weight, uniform: code
    """Writes a transform in a list to draw from, given its weight and whether all are equal."""
    note: str = ""
    """What to know about the whole, for a comment in the snippet."""
    draw_note: str = ""
    """What to know about draws."""
    differences: Mapping[str, str] = field(default_factory=dict)
    """How transforms differ from augnet's, for a comment in the snippet."""
    limits: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """The largest strengths of transforms that the library can express, and what to say beyond."""
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The options of transforms of which the library has some values only."""

    def differs(self, step: Step) -> list[str]:
        """Say how a transform of the library differs from augnet's."""
        name = step.transform.name
        found = [self.differences[name]] if name in self.differences else []
        largest, text = self.limits.get(name, (math.inf, ""))
        if step.strength > largest:
            found.append(text)
        for option, known in self.options.items():
            value = getattr(step.transform, option, known[0])
            if value not in known:
                found.append(f"has no {option} {value!r}: {known[0]!r} is used")
        return found


def choice(name: str, layer: Layer) -> list[str]:
    """Draw one transform of a list per sample, `times` times, by the class in the snippet."""
    return [f"Choice({name}{weights(layer, ', ')})"] * layer.times


def weights(layer: Layer, before: str) -> str:
    """Write the weights of a draw, if they are not all the same."""
    written = ", ".join(number(step.weight) for step in layer.steps)
    return "" if layer.is_uniform else f"{before}[{written}]"


def number(value: float) -> str:
    """Write a number with six digits."""
    return f"{value:.6g}"


def within(value: float) -> str:
    """Write a range around 0."""
    return f"({number(-value)}, {number(value)})"


def around_one(value: float) -> str:
    """Write a range around 1, without negative factors."""
    return f"({number(max(0.0, 1 - value))}, {number(1 + value)})"


def factor(value: float) -> str:
    """Write a range from a factor down to a factor up."""
    return f"({number(1 / value)}, {number(value)})"


def slant(value: float) -> float:
    """Convert a shear to an angle in degrees."""
    return math.degrees(math.atan(value))


def whole_bits(strength: float, most: int = 8) -> dict[int, float]:
    """Return the probabilities of dropping 1, 2, ... bits, for libraries that drop whole ones.

    A number of bits that is uniform on [0, strength] is rounded up or down at random, so that its
    mean stays the same. The rest of the probability is that of no change.
    """
    found: dict[int, float] = {}
    for bits in range(1, math.ceil(strength) + 1):
        part = (_below(strength - bits) - _below(-bits)) / strength
        found[min(bits, most)] = found.get(min(bits, most), 0.0) + part
    return found


def _below(value: float) -> float:
    """Integrate the hat function 1 - |u| from -1 to a value."""
    value = min(max(value, -1.0), 1.0)
    return (1 + value) ** 2 / 2 if value < 0 else 1 - (1 - value) ** 2 / 2


def ranged(make: str, arguments: Callable[[float], str]) -> Line:
    """Write a transform whose arguments depend on its strength."""
    return lambda step: f"{make}({arguments(step.strength)})"


def bernoulli(make: str, argument: str = "p", more: str = "") -> Line:
    """Write a Bernoulli transform, which has a probability."""
    return lambda step: f"{make}({more}{argument}={number(step.strength)})"
