"""Lines become a file."""

import json
from dataclasses import dataclass
from typing import Any

import augnet
from augnet.data.reading import Reading
from augnet.export.libraries import LIBRARIES, Library
from augnet.export.steps import Step, steps
from augnet.model.header import SCHEMA, table
from augnet.validation import nearest


@dataclass(frozen=True)
class Snippet:
    """The text of a file, and the transforms that the library has not."""

    text: str
    lacks: tuple[str, ...] = ()


def export(augment: Any, to: str, reading: Reading | None = None) -> Snippet:
    """Say an augmentation in the terms of a library, or as a plain policy in JSON."""
    found = steps(augment)
    if to == "policy":
        return Snippet(_policy(found))
    if to not in LIBRARIES:
        raise ValueError(f"unknown library {to!r}{nearest(to, [*LIBRARIES, 'policy'])}")
    library = LIBRARIES[to]
    lacks = tuple(
        dict.fromkeys(
            s.says for layer in found for s in layer if s.transform.name not in library.lines
        )
    )
    head = [f"# Learned by augnet {augnet.__version__}: what leaves the labels of your data alone."]
    head += [f"# {to} has no transform for {said}: it is left out." for said in lacks]
    known = [[s for s in layer if s.transform.name in library.lines] for layer in found]
    names = dict.fromkeys(step.transform.name for layer in known for step in layer)
    head += [
        f"# {name}: {to} {library.differences[name]}."
        for name in names
        if name in library.differences
    ]
    if library.note:
        head.append(f"# {library.note}")
    if reading is not None and reading.kind != "images" and any(reading.scale):
        head.append(
            "# For samples that were centered and scaled as the model does it: "
            f"center {_short(reading.center)}, scale {_short(reading.scale)}."
        )
    choices = any(len(layer) > 1 or _sometimes(layer) for layer in known)
    body = [library.imports]
    if choices:
        body.append(_CHOICE if "torch" in library.imports.split() else "")
    body.append(library.whole.format(steps="\n".join(_lines(known, library, to))))
    return Snippet(
        "\n".join(head) + "\n" + "\n\n".join(part for part in body if part) + "\n", lacks
    )


def _short(values: tuple[float, ...]) -> str:
    shown = ", ".join(f"{value:.4g}" for value in values[:8])
    return f"({shown}{', ...' if len(values) > 8 else ''})"


def _sometimes(layer: list[Step]) -> bool:
    """Whether what is left of a layer is for a part of the samples only."""
    return bool(layer) and sum(step.share for step in layer) < 1 - 1e-6


def _lines(layers: list[list[Step]], library: Library, to: str) -> list[str]:
    lines = []
    for layer in layers:
        made = [library.lines[step.transform.name](step) for step in layer]
        if len(layer) == 1 and not _sometimes(layer):
            lines.append(f"    {made[0]},  # {layer[0].says}")
        elif layer:
            lines += _choice(made, [step.share for step in layer], to)
    return lines or ["    # nothing that was learned can be said here"]


def _choice(made: list[str], shares: list[float], to: str) -> list[str]:
    """Choose one of some transformations, or none, by their shares."""
    weights = [f"{share:.6g}" for share in shares]
    inner = [f"        {line}," for line in made]
    if to == "torchvision":
        rest = 1 - sum(shares)
        inner += ["        v2.Identity(),"] if rest > 1e-6 else []
        weights += [f"{rest:.6g}"] if rest > 1e-6 else []
        return ["    v2.RandomChoice([", *inner, f"    ], p=[{', '.join(weights)}]),"]
    if to == "albumentations":
        lines = [f"    A.OneOf([  # by the shares {', '.join(weights)}"]
        for line, share in zip(made, weights, strict=True):
            lines.append(f"        A.Sequential([{line}], p={share}),")
        return [*lines, f"    ], p={sum(shares):.6g}),"]
    return ["    Choice([", *inner, f"    ], [{', '.join(weights)}]),"]


_CHOICE = '''class Choice(torch.nn.Module):
    """Gives each sample one of some transformations, or none, by their shares."""

    def __init__(self, transforms, shares):
        super().__init__()
        self.transforms = torch.nn.ModuleList(transforms)
        self.shares = torch.tensor([*shares, max(0.0, 1.0 - sum(shares))])

    def forward(self, x):
        drawn = torch.multinomial(self.shares, len(x), replacement=True).to(x.device)
        view = x.clone()
        for number, transform in enumerate(self.transforms):
            mine = drawn == number
            if mine.any():
                view[mine] = transform(x[mine])
        return view'''


def _policy(layers: list[list[Step]]) -> str:
    """Write all of it as data: of each layer one step is drawn by its share."""
    written = [
        [
            {
                **table(step.transform),
                "magnitude": step.magnitude,
                "share": step.share,
                "strength": step.strength,
                "unit": step.transform.unit,
                "says": step.says,
            }
            for step in layer
        ]
        for layer in layers
    ]
    said = {"schema": SCHEMA, "augnet": augnet.__version__, "layers": written}
    return json.dumps(said, indent=1) + "\n"
