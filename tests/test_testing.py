"""`check_transform` accepts good transforms, and names the laws that others break."""

from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from specimens import seeded, specimen

from augnet.testing import LAWS, check_transform
from augnet.transforms import Signed, Transform, per_sample, spread
from augnet.transforms.noise import uniform
from augnet.transforms.relax import straight_through

REASON = {"exact_gradient": "its gradient is a straight-through one, for this test"}


@dataclass(frozen=True)
class Gain(Transform):
    """Multiply samples by up to 1 + limit."""

    limit: float = 1.0

    unit: ClassVar[str] = "of the amplitude"

    def sample_params(self, shape, like, generator=None):
        """Draw a fraction per sample."""
        return uniform(like, shape[:1], generator)

    def gain(self, x, magnitude, params):
        """Give the added gain of each sample."""
        return spread(params * self.strength(per_sample(magnitude, x)), x)

    def apply(self, x, magnitude, params):
        """Multiply."""
        return x + x * self.gain(x, magnitude, params)


@dataclass(frozen=True)
class SignedGain(Signed):
    """Multiply samples by 1 ± limit."""

    limit: float = 0.5

    unit: ClassVar[str] = "of the amplitude"

    def transform(self, x, strength):
        """Multiply."""
        return x + x * spread(strength, x)


def applied(change):
    """Change the view of a good transform: change(x, magnitude, params, gain) -> view."""

    def apply(self, x, magnitude, params):
        return change(x, magnitude, params, self.gain(x, magnitude, params))

    return {"apply": apply}


def sampled(draw):
    return {"sample_params": lambda self, shape, like, generator=None: draw(shape, like, generator)}


def in_place(x, magnitude, params, gain):
    with torch.no_grad():
        x.mul_(1 + gain.detach())
    return x * 1


BROKEN = {
    "exemptions": {"exemptions": {"no_such_law": "a long reason for nothing at all"}},
    "identity": applied(lambda x, m, p, gain: x + x * gain + 1e-6),
    "identity_of_one": applied(lambda x, m, p, gain: x + x * gain.mean()),
    "one_seed_one_view": sampled(lambda shape, like, g: uniform(like, shape[:1], g) * 0 + 0.5),
    "generator_only": sampled(lambda shape, like, g: uniform(like, shape[:1], None)),
    "pure_apply": applied(lambda x, m, p, gain: x + x * gain + 0 * p.mul_(0.5).sum()),
    "params_of_shapes": sampled(
        lambda shape, like, g: uniform(like, shape[:1], g) * like.mean().sigmoid()
    ),
    "independent_samples": applied(lambda x, m, p, gain: x + x.roll(1, 0) * gain),
    "input_unchanged": applied(in_place),
    "shape_and_dtype": applied(lambda x, m, p, gain: (x + x * gain)[..., :2]),
    "batch_of_one": applied(lambda x, m, p, gain: x + x * gain / len(x)),
    "one_magnitude_for_all": applied(
        lambda x, m, p, gain: x + x * gain * (2 if isinstance(m, float) else 1)
    ),
    "any_device": applied(lambda x, m, p, gain: x + x * gain * float(x.abs().max().item() > 0)),
    "no_autocast": {
        "__call__": lambda self, x, magnitude=1.0, generator=None: (
            self.apply(x, magnitude, self.sample_params(x.shape, x, generator))
            @ torch.eye(x.shape[-1], dtype=x.dtype)
        ).to(x.dtype)
    },
    "no_loop_over_samples": applied(
        lambda x, m, p, gain: torch.stack([x[i] + x[i] * gain[i] for i in range(len(x))])
    ),
    "exact_gradient": applied(lambda x, m, p, gain: x + x * gain.detach()),
    "expected_gradient": {
        "exemptions": REASON,
        **applied(lambda x, m, p, gain: x + x * straight_through(gain, 2 * gain)),
    },
    "gradient_in_input": applied(lambda x, m, p, gain: x.detach() + 0 * x + x.detach() * gain),
    "identity_jacobian": applied(lambda x, m, p, gain: straight_through(x, 2 * x) + x * gain),
    "default_dtype": applied(lambda x, m, p, gain: x + x * gain * torch.ones(1)),
    "finite_gradient": applied(lambda x, m, p, gain: x + x * gain.sqrt()),
    "strength_grows": applied(
        lambda x, m, p, gain: x + x * gain * (1 - spread(per_sample(m, x), x))
    ),
    "whole_range": {"transform": lambda self, x, strength: x + x * spread(strength.abs(), x)},
    "values": {"__eq__": lambda self, other: False, "__hash__": lambda self: 0},
    "description": {"describe": lambda self, magnitude: "much"},
    "bad_input": {"check": lambda self, x: None},
}


LOCAL = {"__qualname__": "<locals>.Broken"}


def batch():
    return torch.randn(8, 3, 5, generator=seeded(0))


@pytest.mark.parametrize("law", LAWS)
def test_a_transform_that_breaks_a_law_is_refused_by_its_name(law):
    base = SignedGain if law == "whole_range" else Gain
    broken = dataclass(frozen=True)(type("Broken", (base,), LOCAL | BROKEN[law]))
    with pytest.raises(AssertionError, match=rf"(?m)^{law}: "):
        check_transform(broken(), batch())


@pytest.mark.parametrize("transform", [Gain(), SignedGain()], ids=lambda each: each.name)
def test_a_transform_that_keeps_all_laws_is_accepted(transform):
    check_transform(transform, batch())
    check_transform(transform)


@pytest.mark.parametrize("name", ["rotate", "horizontal_flip", "sample_pairing", "time_mask"])
def test_an_input_is_made_for_every_domain(name):
    check_transform(specimen(name))


def test_exempt_laws_are_not_checked():
    broken = dataclass(frozen=True)(type("Broken", (Gain,), LOCAL | BROKEN["identity"]))
    with pytest.raises(AssertionError, match="values change by up to"):
        LAWS["identity"](broken(), batch())
    names = ("identity", "identity_of_one", "strength_grows")
    broken.exemptions = dict.fromkeys(names, "it always adds a little, for this test")
    check_transform(broken(), batch())


def test_few_samples_are_refused():
    with pytest.raises(ValueError, match="at least eight samples; got 2"):
        check_transform(Gain(), batch()[:2])
