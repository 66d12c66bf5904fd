"""Make a transform of any function with one strength, and of operations of other libraries.

`learn` and `audit` need no gradient, so the function may be anything.
"""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from augnet import validation
from augnet.transforms.base import ANYTHING, COLOR_IMAGES, IMAGES, SIGNALS, Domain, Transform
from augnet.transforms.function import (
    RandomFunction,
    SignedFunction,
    UnsignedFunction,
    seeded,
)
from augnet.transforms.registry import register_transform
from augnet.validation import nearest

DOMAINS = {
    "anything": ANYTHING,
    "images": IMAGES,
    "color_images": COLOR_IMAGES,
    "signals": SIGNALS,
}
SAMPLES = 8
"""The laws take so many samples: an example of fewer is repeated."""
CLOSE = 1e-3
"""A function may change values by so much at strength 0: others resample, and round."""


def transform_from(
    function: Callable[[Tensor, Any], Any],
    *,
    limit: float,
    unit: str = "strength",
    domain: str | Domain = "anything",
    name: str | None = None,
    signed: bool = False,
    random: bool = False,
    batched: bool = False,
    register: bool = False,
    example: Tensor | None = None,
) -> Transform:
    """Make a transform of a function `function(x, strength)`, for `learn` and `audit`.

    The function takes a batch and one number, and returns a batch of the same shape. At strength 0
    it changes nothing. It is called once for each strength that occurs in a batch; one that is
    `batched` gets a strength per sample, (B,). A `signed` one gets strengths within ±limit. One
    that draws random numbers (`random=True`) is called for each sample, with the same numbers at
    all strengths.

    `domain` is "images" (B, C, H, W), "color_images", "signals" (B, C, T) or "anything". The laws
    of `check_transform` that need no gradient are checked, on `example` if it is given, and a
    function that breaks one is refused. With `register`, files can name the transform.

    >>> import torch
    >>> from augnet import transform_from
    >>> fade = transform_from(lambda x, s: x * (1 - s), limit=0.9, unit="of the level", name="fade")
    >>> fade.describe(0.5)
    'up to 0.450 of the level'
    >>> transform_from(lambda x, s: x + 1, limit=1.0, name="plus_one")
    Traceback (most recent call last):
    ...
    ValueError: plus_one is no transform: at strength 0 it changes values by up to 1
    """
    title = str(name or getattr(function, "__name__", "function"))
    title = "function" if title == "<lambda>" else title.replace("-", "_")
    base: Any = RandomFunction if random else SignedFunction if signed else UnsignedFunction
    if random and signed:
        raise ValueError(f"{title}: a random function chooses its own sign; leave signed out")
    members = {
        "__doc__": (function.__doc__ or f"Call {title}.").strip(),
        "__module__": __name__,
        "__qualname__": f"transform_from.<locals>.{title}",
        "__annotations__": {"limit": float},
        "limit": limit,
        "name": title,
        "unit": unit,
        "domain": _domain(domain),
        "function": staticmethod(function),
        "per_strength": not batched,
    }
    kind: Any = dataclass(frozen=True)(type(title, (base,), members))
    made: Transform = kind()
    _check(made, example)
    if register:
        register_transform(type(made))
    return made


def from_operation(
    build: Callable[[float], Callable[[Tensor], Any]],
    *,
    limit: float,
    domain: str | Domain = "images",
    **options: Any,
) -> Transform:
    """Make a transform of operations of torchvision v2 or kornia: `build(strength)` gives one.

    `from_operation(lambda s: v2.RandomRotation((s, s)), limit=30, unit="degrees", signed=True)`.
    An operation takes a batch. One that still draws random numbers at a strength, such as noise,
    needs `random=True`. Other `options` are those of `transform_from`.
    """
    name = options.pop("name", None) or _name_of(build, limit)
    drawn = options.get("random", False)

    def apply(x: Tensor, strength: float) -> Any:
        with nullcontext() if drawn else seeded(0):  # they use up numbers, even for a point
            return build(strength)(x)

    return transform_from(apply, limit=limit, domain=domain, name=name, **options)


def from_audio(
    build: Callable[[float], Callable[..., Any]],
    *,
    limit: float,
    sample_rate: float,
    **options: Any,
) -> Transform:
    """Make a transform of operations like those of audiomentations: `build(strength)` gives one.

    `from_audio(lambda s: Gain(min_gain_db=s, max_gain_db=s, p=1.0), limit=12, unit="dB",
    sample_rate=16_000)`. An operation is called as `operation(samples=array, sample_rate=...)` with
    one signal (C, T), or (T,) if it has one channel, in float32. One that still draws random
    numbers at a strength needs `random=True`.
    """
    name = options.pop("name", None) or _name_of(build, limit)
    drawn = options.get("random", False)

    def apply(x: Tensor, strength: float) -> Any:
        with nullcontext() if drawn else seeded(0):
            return play(x, build(strength))

    def play(x: Tensor, operation: Callable[..., Any]) -> Any:
        views = []
        for signal in x.detach().cpu().numpy().astype(np.float32):
            samples = signal[0] if len(signal) == 1 else signal
            made = np.asarray(operation(samples=samples, sample_rate=sample_rate))
            views.append(made.reshape(signal.shape) if made.size == signal.size else made)
        return np.stack(views)

    given = {"domain": "signals"} | options
    return transform_from(apply, limit=limit, name=name, **given)


def _name_of(build: Callable[[float], Any], limit: float) -> str:
    """Name a transform after the class of its operation: RandomRotation becomes random_rotation."""
    built = type(build(limit)).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in built).strip("_")


def _domain(domain: str | Domain) -> Domain:
    if isinstance(domain, Domain):
        return domain
    if domain not in DOMAINS:
        raise ValueError(f"unknown domain {domain!r}{nearest(domain, DOMAINS)}")
    return DOMAINS[domain]


def _check(transform: Transform, example: Tensor | None) -> None:
    """Refuse a function that is no transform, with the law that it breaks."""
    from augnet.testing import check_transform, example_input
    from augnet.testing.base import many

    if example is not None:
        validation.batch(example, transform.name)
    x = example_input(transform) if example is None else many(example, max(SAMPLES, len(example)))
    rest = _called(transform, x, 0.0)
    if rest.shape != x.shape:
        made, given = tuple(rest.shape), tuple(x.shape)
        raise ValueError(f"{transform.name} is no transform: it makes shape {made} of {given}")
    off = (rest - x).abs().max().item()
    if not off <= CLOSE:
        raise ValueError(
            f"{transform.name} is no transform: at strength 0 it changes values by up to {off:.3g}"
        )
    if not isinstance(transform, RandomFunction):
        first, second = (_called(transform, x, transform.limit) for _ in range(2))
        if first.shape == second.shape and not torch.equal(first, second):
            raise ValueError(
                f"{transform.name} is no transform: it draws random numbers; say random=True"
            )
        alone, among = (_called(transform, x[: len(x) // n], transform.limit)[:1] for n in (8, 1))
        if alone.shape == among.shape and not torch.allclose(alone, among, atol=CLOSE):
            raise ValueError(
                f"{transform.name} is no transform: what it makes of a sample depends on the "
                "others of the batch"
            )
    try:
        check_transform(transform, x)
    except AssertionError as error:
        text = " ".join(str(error).split())
        raise ValueError(f"{transform.name} is no transform: {text}") from None


def _called(transform: Transform, x: Tensor, strength: float) -> Tensor:
    """Return what a function makes of a batch at one strength."""
    made: Any = type(transform)
    given = strength if made.per_strength else x.new_full((len(x),), strength)
    try:
        view = made.function(x.clone(), given)
    except Exception as error:  # whatever a function raises
        raise ValueError(
            f"{transform.name} is no transform: at strength {strength:g} it raises "
            f"{type(error).__name__}: {' '.join(str(error).split())}"
        ) from error
    return view if isinstance(view, Tensor) else torch.as_tensor(np.asarray(view))
