"""Write an augmentation as code for a library, or as JSON."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import augnet
from augnet.data import InputSpec
from augnet.export.libraries import LIBRARIES, Library
from augnet.export.steps import Layer, Step, layers, transforms
from augnet.model.header import to_spec
from augnet.validation import nearest

POLICY_SCHEMA = 4
"""The version of the JSON format."""


@dataclass(frozen=True)
class Snippet:
    """The text of a file, and the transforms that the library does not have."""

    text: str
    missing: tuple[str, ...] = ()


def export(
    augment: Any, to: str, input_spec: InputSpec | None = None, notes: Sequence[str] = ()
) -> Snippet:
    """Write an augmentation as code for a library, or as a policy in JSON.

    `measured` gives the augmentation of a learned model; its `notes` become comments of the code.
    Raise ValueError if the library does not take samples of this kind.
    """
    if to == "policy":
        return Snippet(_policy(layers(augment)))
    if to not in LIBRARIES:
        raise ValueError(f"unknown library {to!r}{nearest(to, [*LIBRARIES, 'policy'])}")
    library, found = LIBRARIES[to], transforms(augment)
    _check_kind(to, found, input_spec)
    missing = tuple(s.description for s in found if s.transform.name not in library.lines)
    lists, lines = _code(layers(augment), library)
    if not lines:
        why = f"none of the learned transforms exists in {to}" if found else "no augmentation"
        lines = [f"    {library.identity},  # {why}"]
    whole = "\n".join((*lists, library.template.format(steps="\n".join(lines))))
    imports = library.imports + ("\nimport cv2" if "cv2." in whole else "")
    classes = [library.definitions, library.draw_definitions if lists else ""]
    parts = [imports, *(part for part in classes if part), whole]
    head = _comments(to, found, lists, lines, input_spec, notes)
    between = "\n\n\n" if len(parts) > 2 else "\n\n"
    return Snippet("\n".join((*head, between.join(parts), "")), missing)


def _check_kind(to: str, found: list[Step], input_spec: InputSpec | None) -> None:
    """Raise an error if a library is for other samples than those of the model."""
    if input_spec is not None:
        kinds: dict[str, str] = {input_spec.kind: f"{input_spec.kind} of shape {input_spec.shape}"}
    else:
        names = [s.transform.domain.name.rpartition(" ")[2] for s in found]
        kinds = {name: name for name in names if name != "batches"}
    takes = LIBRARIES[to].kind
    if kinds and takes not in kinds:
        others = [name for name, library in LIBRARIES.items() if library.kind in kinds]
        raise ValueError(
            f"{to} is for {takes}, and this model is for {' and '.join(kinds.values())}: "
            f"export it to {', '.join(others)}{' or ' if others else ''}policy"
        )


def _comments(
    to: str,
    found: list[Step],
    lists: list[str],
    lines: list[str],
    input_spec: InputSpec | None,
    notes: Sequence[str],
) -> list[str]:
    """Return what to know before the snippet is used."""
    library = LIBRARIES[to]
    head = [
        f"# Learned by augnet {augnet.__version__}: transforms that keep the labels of your data."
    ]
    head += [f"# {note}" for note in notes]
    for step in found:
        if step.transform.name not in library.lines:
            head.append(f"# {to} has no transform for {step.description}: it is omitted.")
        else:
            head += [f"# {step.transform.name}: {to} {text}." for text in library.differs(step)]
    repeated = bool(lists) and len(set(lines)) < len(lines)
    general = (
        library.note if found else "",
        library.draw_note if lists else "",
        "Draws are independent, as in augnet: a transform can be drawn twice." if repeated else "",
    )
    head += [f"# {note}" for note in general if note]
    if input_spec is not None:
        head += _scaling(input_spec)
    return list(dict.fromkeys(head))


def _scaling(input_spec: InputSpec) -> list[str]:
    """Say for which samples the numbers are; images are always in [0, 1]."""
    center, scale = input_spec.center, input_spec.scale
    if input_spec.kind == "images" or (center, scale) == ((0.0,), (1.0,)):
        return []
    return [
        "# For scaled samples, (x - center) / scale: "
        f"center {_short(center)}, scale {_short(scale)}."
    ]


def _short(values: tuple[float, ...]) -> str:
    shown = ", ".join(f"{value:.4g}" for value in values[:8])
    return f"({shown}{', ...' if len(values) > 8 else ''})"


def _code(found: list[Layer], library: Library) -> tuple[list[str], list[str]]:
    """Return lists of transforms to draw from, and the lines that apply them in sequence."""
    known = [
        layer
        for layer in found
        if any(s.transform.name in library.lines for s in layer.steps if not s.is_identity)
    ]
    lists: list[str] = []
    lines: list[str] = []
    drawn = sum(len(layer.steps) > 1 for layer in known)
    for layer in known:
        if len(layer.steps) == 1:
            (step,) = layer.steps
            line = f"    {library.lines[step.transform.name](step)},  # {step.description}"
            lines += [line] * layer.times
        else:
            name = "transforms" if drawn == 1 else f"transforms_{len(lists) + 1}"
            lists.append(_list(name, layer, library))
            lines += [f"    {line}," for line in library.draw(name, layer)]
    return lists, lines


def _list(name: str, layer: Layer, library: Library) -> str:
    """Write the transforms of a layer; where the library lacks one, samples stay as they are."""
    lines = []
    for step in layer.steps:
        make, comment = library.lines.get(step.transform.name), step.description
        code = library.identity if make is None or step.is_identity else make(step)
        if make is None and not step.is_identity:
            comment = f"in place of {comment}"
        code = library.in_draw(code, step.weight, layer.is_uniform)
        lines.append(f"    {code},  # {comment}")
    return "\n".join((f"{name} = [", *lines, "]"))


def _policy(found: list[Layer]) -> str:
    """Write the augmentation as JSON.

    For each layer, in sequence and `times` times, a sample gets one step, drawn by the weights.
    """
    written = [
        {"times": layer.times, "steps": [_entry(step) for step in layer.steps]} for layer in found
    ]
    policy = {"schema": POLICY_SCHEMA, "augnet": augnet.__version__, "layers": written}
    return json.dumps(policy, indent=1) + "\n"


def _entry(step: Step) -> dict[str, Any]:
    entry = {**to_spec(step.transform), "magnitude": step.magnitude, "weight": step.weight}
    if not step.is_identity:
        entry |= {"strength": step.strength, "unit": step.transform.unit}
    return entry | {"description": step.description}
