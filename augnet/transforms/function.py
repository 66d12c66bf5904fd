"""Transforms that call a function: of tensors or of arrays, drawn at random or not."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Generator, Tensor

from augnet.transforms.base import (
    Magnitude,
    Params,
    Signed,
    Transform,
    Unsigned,
    per_sample,
)
from augnet.transforms.noise import global_generators, uniform

SEEDS = 2**24
"""Seeds of random functions: whole numbers that float32 holds exactly."""

_NO_GRADIENT = "a function of others need not have a gradient: learn and audit use none"
EXEMPTIONS = MappingProxyType(
    {
        "any_device": "a function of others may read values, or need a device",
        "no_loop_over_samples": "a function takes one strength, so each strength is a call",
        "strength_grows": "others decide what a strength does: the measured curve is made to rise",
        "whole_range": "opposite strengths of a function need not have opposite effects",
        "exact_gradient": _NO_GRADIENT,
        "expected_gradient": _NO_GRADIENT,
        "gradient_in_input": _NO_GRADIENT,
        "identity_jacobian": _NO_GRADIENT,
        "finite_gradient": _NO_GRADIENT,
    }
)


class _Function:
    """What all transforms that are made of functions share; the class has the function."""

    function: ClassVar[Callable[[Tensor, Any], Any]]
    per_strength: ClassVar[bool]
    exemptions: ClassVar[Mapping[str, str]] = EXEMPTIONS

    def _call(self, x: Tensor, strength: Tensor) -> Tensor:
        """Call the function once per strength; samples at strength 0 stay as they are, exactly."""
        view = x.clone()
        moved = (strength != 0).nonzero()[:, 0]
        if not self.per_strength:
            if len(moved):
                view[moved] = self._checked(x[moved], strength[moved])
            return view
        values, parts = strength[moved].unique(return_inverse=True)
        for number, value in enumerate(values.tolist()):
            rows = moved[parts == number]
            view[rows] = self._checked(x[rows], value)
        return view

    def _checked(self, x: Tensor, strength: Any) -> Tensor:
        made = type(self).function(x.clone(), strength)
        if not isinstance(made, Tensor):
            made = torch.as_tensor(np.asarray(made))
        if made.shape != x.shape:
            raise TypeError(
                f"the function makes shape {tuple(made.shape)} of {tuple(x.shape)}: a transform "
                "keeps the shape of a batch"
            )
        return made.to(x)


@dataclass(frozen=True)
class UnsignedFunction(_Function, Unsigned):
    """A function of a strength from 0 to the limit."""

    name: ClassVar[str] = "function"

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Call the function."""
        return self._call(x, strength)


@dataclass(frozen=True)
class SignedFunction(_Function, Signed):
    """A function of a strength within ±limit."""

    name: ClassVar[str] = "function"

    def transform(self, x: Tensor, strength: Tensor) -> Tensor:
        """Call the function."""
        return self._call(x, strength)


@dataclass(frozen=True)
class RandomFunction(_Function, Transform):
    """A function that draws random numbers; its params are the seeds of samples."""

    name: ClassVar[str] = "function"
    prefix: ClassVar[str] = "up to "

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> Tensor:
        """Draw a seed for each sample."""
        return (uniform(like, shape[:1], generator) * SEEDS).floor()

    def apply(self, x: Tensor, magnitude: Magnitude, params: Params) -> Tensor:
        """Call the function for each sample, with the random numbers of its seed."""
        strength = self.strength(per_sample(magnitude, x))
        views = []
        for sample, value, seed in zip(x, strength.tolist(), params.tolist(), strict=True):
            with seeded(int(seed)):
                views.append(self._checked(sample[None], value) if value else sample[None])
        return torch.cat(views)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch on all devices in use, numpy and Python, and restore their states."""
    legacy, plain = np.random.get_state(), random.getstate()  # noqa: NPY002
    # torch.manual_seed would also seed an accelerator that is initialized later.
    generators = global_generators()
    states = [generator.get_state() for generator in generators]
    for generator in generators:
        generator.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        np.random.set_state(legacy)  # noqa: NPY002
        random.setstate(plain)
