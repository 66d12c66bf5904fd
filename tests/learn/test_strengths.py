"""A transform is applied at a known fraction of its limit, exactly."""

import pytest
import torch
from learn_tasks import generator

from augnet.learn.strengths import apply_at_strength
from augnet.transforms import TRANSFORMS, AmplitudeScale, HorizontalFlip, Rotate, build_transforms


@pytest.mark.parametrize("name", ["horizontal_flip", "rotate", "posterize", "gaussian_noise"])
def test_strength_zero_changes_nothing(name):
    x = torch.rand(6, 3, 8, 8)
    (transform,) = build_transforms([name])
    assert torch.equal(apply_at_strength(transform, x, torch.zeros(6), generator()), x)


def test_strengths_are_exact():
    x = torch.rand(2, 3, 8, 8)
    right, left = torch.tensor([1.0, -1.0])
    assert torch.equal(
        apply_at_strength(HorizontalFlip(), x, torch.tensor([1.0, 0.0]), generator())[0],
        x[0].flip(-1),
    )
    turned = apply_at_strength(
        Rotate(180), x, torch.tensor([0.5, 0.5]), generator(), torch.tensor([right, left])
    )
    torch.testing.assert_close(turned[0], x[0].rot90(1, (1, 2)), atol=1e-4, rtol=0)
    torch.testing.assert_close(turned[1], x[1].rot90(-1, (1, 2)), atol=1e-4, rtol=0)
    louder = apply_at_strength(
        AmplitudeScale(4.0), x, torch.full((2,), 0.5), generator(), torch.ones(2)
    )
    torch.testing.assert_close(louder, 2 * x)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_has_strengths(name):
    shared = {"sfreq": 100, "channels": ["C3", "C4", "Fz", "Pz"]}
    (transform,) = build_transforms([name], **shared)
    x = torch.rand(4, 3, 16, 16) if transform.domain.fits((4, 3, 16, 16)) else torch.rand(4, 4, 256)
    assert apply_at_strength(transform, x, torch.rand(4), generator()).shape == x.shape
