"""Write an augmentation as code for a library, or as JSON."""

import json
from dataclasses import dataclass
from typing import Any

import augnet
from augnet.data import InputSpec
from augnet.export.libraries import LIBRARIES, Library
from augnet.export.steps import Step, steps
from augnet.model.header import SCHEMA, to_spec
from augnet.validation import nearest


@dataclass(frozen=True)
class Snippet:
    """The text of a file, and the transforms that the library does not have."""

    text: str
    missing: tuple[str, ...] = ()


def export(augment: Any, to: str, input_spec: InputSpec | None = None) -> Snippet:
    """Write an augmentation as code for a library, or as a policy in JSON."""
    found = steps(augment)
    if to == "policy":
        return Snippet(_policy(found))
    if to not in LIBRARIES:
        raise ValueError(f"unknown library {to!r}{nearest(to, [*LIBRARIES, 'policy'])}")
    library = LIBRARIES[to]
    all_steps = [step for layer in found for step in layer]
    missing = tuple(
        dict.fromkeys(s.description for s in all_steps if s.transform.name not in library.lines)
    )
    head = [
        f"# Learned by augnet {augnet.__version__}: transforms that keep the labels of your data."
    ]
    head += [f"# {to} has no transform for {each}: it is omitted." for each in missing]
    known = [[s for s in layer if s.transform.name in library.lines] for layer in found]
    names = dict.fromkeys(step.transform.name for layer in known for step in layer)
    head += [
        f"# {name}: {to} {library.differences[name]}."
        for name in names
        if name in library.differences
    ]
    if library.note:
        head.append(f"# {library.note}")
    if input_spec is not None and input_spec.kind != "images":
        head.append(
            "# For scaled samples, (x - center) / scale: "
            f"center {_short(input_spec.center)}, scale {_short(input_spec.scale)}."
        )
    choices = any(len(layer) > 1 or _is_partial(layer) for layer in known)
    body = [library.imports]
    if choices:
        body.append(_CHOICE if "torch" in library.imports.split() else "")
    body.append(library.template.format(steps="\n".join(_lines(known, library, to))))
    return Snippet(
        "\n".join(head) + "\n" + "\n\n".join(part for part in body if part) + "\n", missing
    )


def _short(values: tuple[float, ...]) -> str:
    shown = ", ".join(f"{value:.4g}" for value in values[:8])
    return f"({shown}{', ...' if len(values) > 8 else ''})"


def _is_partial(layer: list[Step]) -> bool:
    """Return whether the steps of a layer are for a part of the samples only."""
    return bool(layer) and sum(step.weight for step in layer) < 1 - 1e-6


def _lines(layers: list[list[Step]], library: Library, to: str) -> list[str]:
    lines = []
    for layer in layers:
        made = [library.lines[step.transform.name](step) for step in layer]
        if len(layer) == 1 and not _is_partial(layer):
            lines.append(f"    {made[0]},  # {layer[0].description}")
        elif layer:
            lines += _choice(made, [step.weight for step in layer], to)
    return lines or ["    # none of the learned transforms exists in this library"]


def _choice(made: list[str], fractions: list[float], to: str) -> list[str]:
    """Write a random choice of one of some transforms, or none."""
    weights = [f"{fraction:.6g}" for fraction in fractions]
    inner = [f"        {line}," for line in made]
    if to == "torchvision":
        rest = 1 - sum(fractions)
        inner += ["        v2.Identity(),"] if rest > 1e-6 else []
        weights += [f"{rest:.6g}"] if rest > 1e-6 else []
        return ["    v2.RandomChoice([", *inner, f"    ], p=[{', '.join(weights)}]),"]
    if to == "albumentations":
        lines = [f"    A.OneOf([  # with the weights {', '.join(weights)}"]
        for line, weight in zip(made, weights, strict=True):
            lines.append(f"        A.Sequential([{line}], p={weight}),")
        return [*lines, f"    ], p={sum(fractions):.6g}),"]
    return ["    Choice([", *inner, f"    ], [{', '.join(weights)}]),"]


_CHOICE = '''class Choice(torch.nn.Module):
    """Apply to each sample one of some transforms, or none, drawn by weights."""

    def __init__(self, transforms, weights):
        super().__init__()
        self.transforms = torch.nn.ModuleList(transforms)
        self.weights = torch.tensor([*weights, max(0.0, 1.0 - sum(weights))])

    def forward(self, x):
        drawn = torch.multinomial(self.weights, len(x), replacement=True).to(x.device)
        view = x.clone()
        for number, transform in enumerate(self.transforms):
            chosen = drawn == number
            if chosen.any():
                view[chosen] = transform(x[chosen])
        return view'''


def _policy(layers: list[list[Step]]) -> str:
    """Write the augmentation as JSON: one step of each layer is drawn by its weight."""
    written = [
        [
            {
                **to_spec(step.transform),
                "magnitude": step.magnitude,
                "weight": step.weight,
                "strength": step.strength,
                "unit": step.transform.unit,
                "description": step.description,
            }
            for step in layer
        ]
        for layer in layers
    ]
    policy = {"schema": SCHEMA, "augnet": augnet.__version__, "layers": written}
    return json.dumps(policy, indent=1) + "\n"
