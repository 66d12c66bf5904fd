"""Color transforms against Pillow, kornia and the standard library."""

import colorsys

import kornia.enhance
import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps

from augnet.transforms import (
    Autocontrast,
    Brightness,
    Contrast,
    Cutout,
    Equalize,
    Gray,
    Hue,
    Invert,
    Posterize,
    SamplePairing,
    Saturation,
    Sharpness,
    Solarize,
)

ONE_LEVEL = 1.01 / 255


@pytest.fixture(params=[0, 1, 2])
def photo(request):
    """Give an 8-bit color image with some structure, that does not fill the range."""
    rng = np.random.default_rng(request.param)
    smooth = np.cumsum(np.cumsum(rng.normal(size=(24, 30, 3)), 0), 1)
    smooth = (smooth - smooth.min()) / np.ptp(smooth)
    return (30 + 190 * smooth).round().astype(np.uint8)


def tensor(photo):
    return torch.from_numpy(photo).permute(2, 0, 1)[None].double() / 255


def assert_close(ours, theirs, atol):
    np.testing.assert_allclose(ours[0].permute(1, 2, 0), np.asarray(theirs) / 255, atol=atol)


@pytest.mark.parametrize(
    ("transform", "enhancer"),
    [
        (Brightness(), ImageEnhance.Brightness),
        (Contrast(), ImageEnhance.Contrast),
        (Saturation(), ImageEnhance.Color),
        (Sharpness(), ImageEnhance.Sharpness),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_enhancements_agree_with_pillow(photo, transform, enhancer):
    for strength in (-0.9, -0.3, 0.5, 0.9):
        theirs = enhancer(Image.fromarray(photo)).enhance(1 + strength)
        ours = transform.transform(tensor(photo), torch.tensor([strength], dtype=torch.float64))
        # Pillow rounds the plainer image to a level, and then the blend, whose factor may be 1.9.
        assert_close(ours, theirs, atol=2 * ONE_LEVEL)


def test_saturation_and_sharpness_agree_with_kornia(photo):
    x, strength = tensor(photo), torch.tensor([-0.4], dtype=torch.float64)
    theirs = kornia.enhance.sharpness(x, 1 + strength)
    torch.testing.assert_close(Sharpness().transform(x, strength), theirs, atol=1e-6, rtol=0)
    theirs = kornia.enhance.adjust_saturation_with_gray_subtraction(x, 1 + strength)
    torch.testing.assert_close(Saturation().transform(x, strength), theirs, atol=2e-4, rtol=0)


def test_hue_agrees_with_the_standard_library(photo):
    x = tensor(photo)
    for degrees in (-170.0, -60.0, 25.0, 180.0):
        ours = Hue().transform(x, torch.tensor([degrees], dtype=x.dtype))[0].flatten(1).T
        for pixel, view in zip(x[0].flatten(1).T.tolist(), ours.tolist(), strict=True):
            hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
            expected = colorsys.hsv_to_rgb((hue + degrees / 360) % 1, saturation, value)
            assert view == pytest.approx(expected, abs=1e-9)


def test_solarize_agrees_with_pillow(photo):
    for threshold in (40, 128, 200):
        depth = torch.tensor([1 - threshold / 255], dtype=torch.float64)
        theirs = ImageOps.solarize(Image.fromarray(photo), threshold)
        assert_close(Solarize().transform(tensor(photo), depth), theirs, atol=1e-9)


def test_posterize_agrees_with_pillow(photo):
    for dropped in (1, 2, 4):
        theirs = ImageOps.posterize(Image.fromarray(photo), 8 - dropped)
        ours = Posterize().transform(tensor(photo), torch.tensor([dropped], dtype=torch.float64))
        assert_close(ours, theirs, atol=1e-9)


@pytest.mark.parametrize(
    ("transform", "operation"),
    [
        (Invert(1.0), ImageOps.invert),
        (Equalize(), ImageOps.equalize),
        (Gray(), lambda image: image.convert("L").convert("RGB")),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_coins_agree_with_pillow(photo, transform, operation):
    atol = ONE_LEVEL if isinstance(transform, Gray) else 1e-9
    assert_close(transform(tensor(photo), 1.0), operation(Image.fromarray(photo)), atol)


def test_autocontrast_agrees_with_pillow(photo):
    theirs = ImageOps.autocontrast(Image.fromarray(photo))
    assert_close(Autocontrast()(tensor(photo), 1.0), theirs, ONE_LEVEL)


def test_autocontrast_stretches_any_two_neighboring_levels():
    dark = torch.arange(255.0)
    x = torch.stack((dark, dark + 1), 1).reshape(255, 1, 1, 2) / 255
    assert Autocontrast()(x, 1.0).flatten(1).equal(torch.tensor([0.0, 1.0]).expand(255, 2))


@pytest.mark.parametrize("transform", [Autocontrast(), Equalize(), Hue(), Contrast()], ids=str)
def test_an_even_image_survives(transform):
    x = torch.full((2, 3, 20, 20), 0.4, requires_grad=True)
    view = transform(x, 1.0)
    torch.testing.assert_close(view, x, atol=1e-6, rtol=0)
    (gradient,) = torch.autograd.grad(view.sum(), x)
    assert gradient.isfinite().all()


def test_pixels_stay_in_range_and_the_range_of_others_is_kept():
    x = torch.rand(50, 3, 8, 8)
    for transform in (Brightness(), Contrast(), Saturation(), Sharpness(), Hue(), Solarize()):
        view = transform(x, 1.0)
        assert view.min() >= -1e-6
        assert view.max() <= 1 + 1e-6
    wide = 4 * x - 2
    view = Brightness()(wide, 1.0)
    assert (view >= wide.clamp(max=0)).all()
    assert (view <= wide.clamp(min=1)).all()


def test_solarize_has_its_own_gradient_in_pixels_and_a_soft_one_in_depth():
    x = torch.linspace(0, 1, 50, dtype=torch.float64).reshape(1, 1, 5, 10).requires_grad_()
    depth = torch.tensor([0.3], dtype=torch.float64, requires_grad=True)
    cotangent = torch.rand_like(x)
    to_x, to_depth = torch.autograd.grad(
        (Solarize().transform(x, depth) * cotangent).sum(), (x, depth)
    )
    torch.testing.assert_close(to_x, torch.where(x >= 0.7, -cotangent, cotangent))
    soft = torch.sigmoid(20 * (x.detach() - (1 - depth))) * (1 - 2 * x.detach())
    expected = torch.autograd.grad((soft * cotangent).sum(), depth)
    torch.testing.assert_close((to_depth,), expected)


def test_brightness_has_its_gradient_at_black_and_white_too():
    x = torch.tensor([0.0, 0.5, 1.0]).reshape(1, 1, 1, 3).requires_grad_()
    for strength, expected in ((0.5, [1.5, 1.5, 0.0]), (-0.5, [0.5, 0.5, 0.5])):
        view = Brightness().transform(x, torch.tensor([strength]))
        (gradient,) = torch.autograd.grad(view.sum(), x)
        assert gradient.flatten().tolist() == expected


def test_rounding_is_no_contrast():
    x = torch.full((1, 3, 9, 9), 0.4) + 1e-7 * torch.rand(1, 3, 9, 9)
    assert torch.equal(Autocontrast()(x), x)


@pytest.mark.parametrize(
    "transform", [Posterize(), Equalize()], ids=lambda transform: transform.name
)
def test_look_up_tables_are_straight_through_to_the_image(photo, transform):
    x = tensor(photo).requires_grad_()
    cotangent = torch.rand_like(x)
    (gradient,) = torch.autograd.grad((transform(x, 1.0) * cotangent).sum(), x)
    torch.testing.assert_close(gradient, cotangent)


def test_posterize_goes_straight_to_the_rounded_image(photo):
    x = tensor(photo)
    bits = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
    view = Posterize().transform(x, bits)
    (gradient,) = torch.autograd.grad((view * x).sum(), bits)
    torch.testing.assert_close(gradient, ((view - x) * x).sum()[None].detach() / 3)


def test_cutout_removes_the_area_that_it_should():
    x = torch.ones(300, 1, 40, 60)
    view = Cutout(0.5)(x, 0.8, torch.Generator().manual_seed(0))
    removed = (1 - view).mean((1, 2, 3))
    torch.testing.assert_close(removed, torch.full((300,), 0.16), atol=0.01, rtol=0)
    # Anywhere in the image: from each border to the other, and nowhere always.
    hit = (1 - view)[:, 0]
    torch.testing.assert_close(hit.sum(1).amax(1), torch.full((300,), 16.0), atol=0.5, rtol=0)
    torch.testing.assert_close(hit.sum(2).amax(1), torch.full((300,), 24.0), atol=0.5, rtol=0)
    for border in (hit[:, 1], hit[:, -2], hit[..., 1], hit[..., -2]):
        assert border.max() > 0.5
    assert hit.mean(0).max() < 0.6


def test_channels_other_than_three_have_contrast_but_no_color():
    x = torch.rand(2, 5, 6, 6)
    assert Contrast()(x, 0.5).shape == x.shape
    with pytest.raises(ValueError, match=r"color images \(B, 3, H, W\); got shape \(2, 5, 6, 6\)"):
        Saturation()(x, 0.5)


def test_pairing_blends_with_another_sample_of_the_batch():
    x = torch.eye(6)
    transform = SamplePairing(limit=0.4)
    fraction, offset = transform.sample_params(x.shape, x, torch.Generator().manual_seed(1))
    partner = x[(torch.arange(6) + offset) % 6]
    assert sorted(partner.argmax(1).tolist()) == list(range(6))
    view = transform.apply(x, 1.0, (torch.ones_like(fraction), offset))
    torch.testing.assert_close(view, 0.6 * x + 0.4 * partner)
    partners = {tuple(transform.sample_params(x.shape, x)[1].tolist()) for _ in range(20)}
    assert len(partners) > 10
