"""What the base class promises holds for every transform: the laws of `augnet.testing`."""

from dataclasses import asdict, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import inputs, seeded, specimen

from augnet.testing import LAWS
from augnet.transforms import TRANSFORMS, Bernoulli, Ranged, build_transforms

every_transform = pytest.mark.parametrize("name", TRANSFORMS)

# Some laws are about averages, which need more samples.
SAMPLES = {"one_seed_one_view": 32, "strength_grows": 200, "expected_gradient": 16}
# These need transforms that neither leave the range of pixels nor go all the way round.
GENTLE = {"exact_gradient", "expected_gradient"}


def gentle(transform):
    """Lower the limit of some transforms."""
    limits = {"time_mask": 16.0, "frequency_shift": 0.2, "time_shift": 0.02}
    enhancements = dict.fromkeys(("brightness", "contrast", "saturation", "sharpness"), 0.2)
    return replace(transform, limit=(limits | enhancements).get(transform.name, transform.limit))


@pytest.mark.parametrize(
    ("name", "law"),
    [
        (name, law)
        for law in LAWS
        for name, cls in TRANSFORMS.items()
        if law != "whole_range" or issubclass(cls, Ranged)
    ],
)
def test_every_law_holds_for_every_transform(name, law):
    transform = specimen(name)
    if reason := transform.exemptions.get(law):
        pytest.skip(f"{reason}; expected_gradient holds")
    x = inputs(transform.domain, SAMPLES.get(law, 8))
    if law in GENTLE:
        transform = gentle(transform)
    if law == "exact_gradient":  # small, so that the whole Jacobian is compared
        x = x[..., :7, :9] if x.dim() == 4 else x[..., :40]
    LAWS[law](transform, x)


@every_transform
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [(torch.float64, 1.0), (torch.float32, 3.0), (torch.float64, 3.0)],
    ids=["double", "out of range", "double out of range"],
)
def test_magnitude_zero_is_the_identity_in_every_type_and_range(name, dtype, scale):
    transform = specimen(name)
    LAWS["identity"](transform, scale * inputs(transform.domain, dtype=dtype))


@every_transform
def test_only_gradients_are_exempt(name):
    assert set(TRANSFORMS[name].exemptions) <= {"exact_gradient"}


@every_transform
@settings(max_examples=15, deadline=None)
@given(
    batch=st.integers(1, 5),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    height=st.integers(3, 17),
    width=st.integers(3, 17),
    duration=st.integers(16, 90),
    magnitude=st.floats(0, 1, width=32),
)
def test_shape_and_type_survive(name, batch, dtype, height, width, duration, magnitude):
    transform = gentle(specimen(name))
    whole = inputs(transform.domain, batch, dtype)
    x = whole[..., :height, :width] if whole.dim() == 4 else whole[..., :duration]
    for strength in (magnitude, torch.full((batch,), magnitude)):
        view = transform(x, strength, seeded(0))
        assert view.shape == x.shape
        assert view.dtype == dtype
        assert view.isfinite().all()


@every_transform
def test_transforms_are_built_from_what_they_hold(name):
    transform = specimen(name)
    assert build_transforms({"name": name, **asdict(transform)}) == [transform]
    assert transform == specimen(name)
    if isinstance(transform, Bernoulli):
        assert transform.unit == "probability"
