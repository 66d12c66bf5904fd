"""Geometry against kornia, Pillow and scipy."""

import kornia.geometry.transform as kornia
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from scipy.ndimage import affine_transform

from augnet.transforms import (
    HorizontalFlip,
    Rotate,
    Scale,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    VerticalFlip,
)
from augnet.transforms.geometry import affine, warp

WORDS = [TranslateX(0.4), TranslateY(0.4), ShearX(0.5), ShearY(0.5), Rotate(70), Scale(1.7)]


def images(height=17, width=22, batch=4):
    # Black borders, so that what lies outside the image does not matter to the comparison.
    x = torch.zeros(batch, 3, height, width, dtype=torch.float64)
    x[..., 4:-4, 4:-4] = torch.rand(batch, 3, height - 8, width - 8, dtype=torch.float64)
    return x


def scipy_warp(image, matrix):
    """Resample one image (C, H, W) by a matrix as `warp` takes it, with scipy."""
    height, width = image.shape[-2:]
    center = np.array([(height - 1) / 2, (width - 1) / 2])
    linear = matrix[:, :2][::-1, ::-1]  # scipy's coordinates are (y, x)
    shift = matrix[:, 2][::-1] * [height, width]
    inverse = np.linalg.inv(linear)
    offset = center - inverse @ (center + shift)
    return np.stack(
        [affine_transform(plane, inverse, offset, order=1, mode="grid-constant") for plane in image]
    )


@pytest.mark.parametrize("transform", WORDS, ids=lambda transform: transform.name)
def test_affine_transforms_agree_with_scipy(transform):
    x = images()
    strength = transform.strength(torch.linspace(-1, 0.9, len(x), dtype=x.dtype))
    ours = transform.transform(x, strength)
    for image, view, matrix in zip(x, ours, transform.matrix(strength), strict=True):
        np.testing.assert_allclose(view, scipy_warp(image.numpy(), matrix.numpy()), atol=1e-9)


def test_transforms_move_content_as_their_names_say():
    x = torch.zeros(1, 1, 9, 9)
    x[..., 4, 6] = 1  # two pixels to the right of the center

    def place(transform, strength):
        y = transform.transform(x, torch.tensor([float(strength)]))
        return tuple(divmod(int(y.argmax()), 9))

    assert place(TranslateX(), 2 / 9) == (4, 8)
    assert place(TranslateY(), 2 / 9) == (6, 6)
    assert place(Rotate(90), 90) == (2, 4)  # counter-clockwise: from the right to the top
    assert place(ShearX(), 1) == (4, 6)
    assert place(ShearY(), 1) == (6, 6)  # as far down as it is to the right
    assert place(Scale(2), 2) == (4, 8)
    x = x.mT.contiguous()  # two pixels below the center
    assert place(ShearX(), 1) == (6, 6)  # as far to the right as it is down
    assert place(ShearX(), 0.5) == (6, 5)
    assert place(ShearY(), 1) == (6, 4)


def test_rotation_agrees_with_kornia():
    x = torch.rand(5, 3, 32, 32, dtype=torch.float64)
    angle = torch.tensor([-170.0, -30.0, 10.0, 45.0, 90.0], dtype=torch.float64)
    theirs = kornia.rotate(x, angle, padding_mode="zeros", align_corners=True)
    torch.testing.assert_close(Rotate(180).transform(x, angle), theirs, atol=1e-9, rtol=0)


def test_translation_agrees_with_kornia():
    x = torch.rand(4, 3, 12, 20, dtype=torch.float64)
    part = torch.tensor([-0.4, 0.1, 0.25, 0.33], dtype=torch.float64)
    theirs = kornia.translate(x, torch.stack((20 * part, 0 * part), 1), align_corners=True)
    torch.testing.assert_close(TranslateX().transform(x, part), theirs, atol=1e-9, rtol=0)
    theirs = kornia.translate(x, torch.stack((0 * part, 12 * part), 1), align_corners=True)
    torch.testing.assert_close(TranslateY().transform(x, part), theirs, atol=1e-9, rtol=0)


def test_scale_agrees_with_kornia():
    x = torch.rand(3, 3, 15, 15, dtype=torch.float64)
    factor = torch.tensor([0.6, 1.2, 1.9], dtype=torch.float64)
    theirs = kornia.scale(x, factor, align_corners=True)
    torch.testing.assert_close(Scale(2).transform(x, factor), theirs, atol=1e-9, rtol=0)


def test_shears_are_what_the_textbook_says():
    x = images(21, 26)
    strength = torch.tensor([-0.3, 0.1, 0.2, 0.3], dtype=torch.float64)
    for transform, matrix in (
        (ShearX(), lambda s: np.array([[1, s, 0], [0, 1, 0]])),
        (ShearY(), lambda s: np.array([[1, 0, 0], [s, 1, 0]])),
    ):
        for image, view, s in zip(
            x, transform.transform(x, strength), strength.tolist(), strict=True
        ):
            np.testing.assert_allclose(view, scipy_warp(image.numpy(), matrix(s)), atol=1e-9)


def test_shears_about_the_corner_agree_with_kornia():
    x = torch.rand(4, 3, 12, 20, dtype=torch.float64)
    part = torch.tensor([-0.4, 0.1, 0.25, 0.33], dtype=torch.float64)
    for shear, columns in ((ShearX, (part, 0 * part)), (ShearY, (0 * part, part))):
        theirs = kornia.shear(x, torch.stack(columns, 1), align_corners=True)
        ours = shear(pivot="corner")
        for view in (ours.transform(x, part), warp(x, ours.matrix_for(x, part))):
            torch.testing.assert_close(view, theirs, atol=1e-9, rtol=0)


@pytest.mark.parametrize("transform", WORDS[:4], ids=lambda transform: transform.name)
@pytest.mark.parametrize("reach", [1.0, 30.0], ids=["inside", "far outside"])
def test_sliding_is_the_warp_in_one_dimension(transform, reach):
    x = torch.rand(7, 3, 9, 12, dtype=torch.float64, requires_grad=True)
    strength = reach * torch.tensor([-0.9, -0.31, -1e-3, 0, 0.07, 0.52, 1.1], dtype=x.dtype)
    strength.requires_grad_()
    views = transform.transform(x, strength), warp(x, transform.matrix(strength))
    torch.testing.assert_close(*views, atol=1e-10, rtol=0)
    cotangent = torch.rand_like(x)
    to_x, to_strength = zip(
        *(torch.autograd.grad(view, (x, strength), cotangent) for view in views), strict=True
    )
    torch.testing.assert_close(*to_x, atol=1e-10, rtol=0)
    # At rest, rounding decides which of two slopes the warp takes.
    moved = strength != 0
    torch.testing.assert_close(*(gradient[moved] for gradient in to_strength))
    assert to_strength[0].isfinite().all()


def test_nearest_has_the_gradient_of_bilinear():
    x = torch.rand(2, 1, 9, 9, requires_grad=True)
    gradients = []
    for interpolation in ("nearest", "bilinear"):
        angle = torch.tensor([10.0, -20.0], requires_grad=True)
        view = Rotate(interpolation=interpolation).transform(x, angle)
        gradients.append(torch.autograd.grad(view.sum(), (x, angle)))
    torch.testing.assert_close(*gradients)


def test_nearest_rotation_agrees_with_pillow():
    image = np.random.default_rng(0).integers(0, 256, (31, 31), dtype=np.uint8)
    x = torch.from_numpy(image)[None, None].double() / 255
    for angle in (-40.0, 13.0, 90.0):
        transform = Rotate(180, interpolation="nearest")
        ours = transform.transform(x, torch.tensor([angle], dtype=x.dtype))[0, 0] * 255
        theirs = np.asarray(Image.fromarray(image).rotate(angle, resample=Image.Resampling.NEAREST))
        # Pixels whose source lies half way between two may go either way.
        assert (ours.numpy().round() == theirs).mean() > 0.97


def test_quarter_turns_are_exact_rotations():
    x = torch.rand(2, 3, 8, 8, dtype=torch.float64)
    turned = Rotate(90).transform(x, torch.tensor([90.0, -90.0], dtype=x.dtype))
    torch.testing.assert_close(turned[0], x[0].rot90(1, (1, 2)), atol=1e-12, rtol=0)
    torch.testing.assert_close(turned[1], x[1].rot90(-1, (1, 2)), atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    ("transform", "axis"), [(HorizontalFlip(1.0), -1), (VerticalFlip(1.0), -2)], ids=["x", "y"]
)
def test_flips_mirror_and_their_matrix_agrees(transform, axis):
    x = torch.rand(6, 3, 7, 10, dtype=torch.float64)
    assert torch.equal(transform(x, 1.0), x.flip(axis))
    applied = torch.tensor([0.0, 1, 1, 0, 1, 0], dtype=x.dtype)
    view = warp(x, transform.matrix(applied))
    expected = torch.where(applied.bool()[:, None, None, None], x.flip(axis), x)
    torch.testing.assert_close(view, expected, atol=1e-12, rtol=0)


def test_a_flip_is_applied_per_sample_with_its_probability():
    x = torch.rand(4000, 1, 2, 3)
    flipped = (HorizontalFlip()(x, 0.6, torch.Generator().manual_seed(0)) != x).any((1, 2, 3))
    assert flipped.float().mean().item() == pytest.approx(0.3, abs=0.03)


def test_padding_is_a_choice():
    x = torch.ones(1, 1, 8, 8)
    strength = torch.tensor([0.25])
    assert TranslateX().transform(x, strength)[..., :2].eq(0).all()
    assert TranslateX(padding="border").transform(x, strength).eq(1).all()
    assert TranslateX(padding="reflection").transform(x, strength).eq(1).all()


def test_unknown_interpolation_and_padding_are_refused():
    with pytest.raises(ValueError, match="bilinear, bicubic, nearest; got 'cubic'"):
        Rotate(interpolation="cubic")
    with pytest.raises(ValueError, match="zeros, border, reflection; got 'mirror'"):
        Rotate(padding="mirror")


def test_a_still_image_has_the_gradient_of_the_warp():
    x = torch.rand(2, 1, 9, 9, dtype=torch.float64, requires_grad=True)
    angle = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    cotangent = torch.rand_like(x)
    view = Rotate().transform(x, angle)
    assert torch.equal(view, x)
    to_x, to_angle = torch.autograd.grad((view * cotangent).sum(), (x, angle))
    torch.testing.assert_close(to_x, cotangent, atol=1e-9, rtol=0)
    assert (to_angle != 0).all()


def test_maps_compose_as_matrices_do():
    # Smooth images: two resamplings blur what one does not.
    x = F.interpolate(images(batch=2), (61, 61), mode="bicubic")
    first, second = Rotate(40), Scale(1.3)
    a = first.matrix(torch.tensor([30.0, -20.0], dtype=x.dtype))
    b = second.matrix(torch.tensor([1.2, 0.9], dtype=x.dtype))
    row = torch.tensor([0.0, 0, 1], dtype=x.dtype).expand(2, 1, 3)
    both = (torch.cat((b, row), 1) @ torch.cat((a, row), 1))[:, :2]
    once, twice = warp(x, both), warp(warp(x, a), b)
    assert (once - twice).abs().mean() < 0.05 * x.std()
    assert (once - warp(warp(x, b), a)).abs().mean() < 0.05 * x.std()  # these two commute
    assert (once - warp(x, a)).abs().mean() > 0.2 * x.std()


def test_matrices_are_built_from_numbers_and_tensors():
    matrix = affine(((1, 2, torch.tensor([3.0, 4.0])), (0, 5, 6)))
    assert matrix.tolist() == [[[1, 2, 3], [0, 5, 6]], [[1, 2, 4], [0, 5, 6]]]
