"""The registry of transforms: names for layers, policies, `learn`, the command line and files."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeAlias, TypeVar

from augnet.transforms.base import Transform
from augnet.validation import nearest

TransformSpec: TypeAlias = str | Mapping[str, Any] | Transform
T = TypeVar("T", bound=type[Transform])

TRANSFORMS: dict[str, type[Transform]] = {}
"""Transform classes by name."""


def register_transform(cls: T) -> T:
    """Add a transform class to `TRANSFORMS`; use it as a class decorator.

    Its name is that of the class in snake_case. See examples/02_your_own_transform.py.
    """
    if "__dataclass_params__" not in vars(cls) or not vars(cls)["__dataclass_params__"].frozen:
        raise TypeError(f"{cls.__name__} must be a frozen dataclass: add @dataclass(frozen=True)")
    if not hasattr(cls, "unit"):
        raise TypeError(f"{cls.__name__} must say the unit of its limit, as a class variable")
    holder = TRANSFORMS.get(cls.name, cls)
    if (holder.__module__, holder.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"{cls.name} is taken by {holder.__module__}.{holder.__qualname__}")
    TRANSFORMS[cls.name] = cls
    return cls


def build_transforms(
    specs: TransformSpec | Iterable[TransformSpec], **shared: Any
) -> list[Transform]:
    """Build transforms from names and from tables such as `{name = "rotate", limit = 180}`.

    Transforms are returned as they are. `shared` arguments (`sfreq=100`, `channels=[...]`) go to
    all transforms that accept them and do not set them. In names, `-` is read as `_`.
    """
    if isinstance(specs, str | Mapping | Transform):
        specs = [specs]
    known = {field.name for cls in TRANSFORMS.values() for field in fields(cls)} - {"limit"}
    for key in shared:
        if key not in known:
            raise ValueError(f"no transform shares {key!r}{nearest(key, sorted(known))}")
    return [_transform(spec, shared) for spec in specs]


def _transform(spec: TransformSpec, shared: Mapping[str, Any]) -> Transform:
    if isinstance(spec, Transform):
        return spec
    if isinstance(spec, str):
        spec = {"name": spec}
    if not isinstance(spec, Mapping):
        raise TypeError(f"a transform is a name, a table or a Transform; got {type(spec).__name__}")
    given = dict(spec)
    if "name" not in given:
        raise ValueError(f"a table needs the key 'name', one of TRANSFORMS; got {given}")
    name = str(given.pop("name")).replace("-", "_")
    if name not in TRANSFORMS:
        raise ValueError(f"unknown transform {name!r}{nearest(name, TRANSFORMS)}")
    cls = TRANSFORMS[name]
    known = {field.name: field for field in fields(cls) if field.init}
    for key in given:
        if key not in known:
            raise ValueError(f"{name} does not take {key!r}{nearest(key, known)}")
    given = {key: value for key, value in shared.items() if key in known} | given
    missing = [
        key
        for key, field in known.items()
        if field.default is MISSING and field.default_factory is MISSING and key not in given
    ]
    if missing:
        raise ValueError(
            f"{name} needs {', '.join(missing)}: {{name = {name!r}, {missing[0]} = ...}}"
        )
    return cls(**given)
