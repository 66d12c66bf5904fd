"""Augerino's layer against scipy and its own definition."""

import numpy as np
import pytest
import torch
from scipy.linalg import expm
from scipy.ndimage import map_coordinates
from specimens import seeded

from augnet import Augerino
from augnet.layers.augerino import GENERATORS
from augnet.transforms import Rotate, TranslateX


def only(name: str, width: float, interpolation: str = "bilinear") -> Augerino:
    """Build a layer in which one generator has a width, and the others next to none."""
    return Augerino([width if other == name else 1e-30 for other in GENERATORS], interpolation)


def test_matrices_agree_with_scipy():
    layer = Augerino([0.2, 0.4, 2.0, 0.3, 0.5, 0.6]).double()
    x = torch.rand(20, 3, 8, 8, dtype=torch.float64)
    noise = layer.sample_params(x.shape, x, seeded(0))
    widths = layer.widths.detach().numpy()
    algebra = np.array([[*rows, (0, 0, 0)] for rows in GENERATORS.values()], dtype=float)
    for draw, matrix in zip(noise.numpy(), layer.matrix(noise).detach(), strict=True):
        expected = expm(np.einsum("i,ijk->jk", draw * widths, algebra))
        np.testing.assert_allclose(matrix, expected, atol=1e-6)


@pytest.mark.parametrize("sides", [(12, 24), (24, 12), (16, 16)])
def test_views_agree_with_the_exponential_in_pixels(sides):
    height, width = sides
    layer = Augerino([8.0, 6.0, 1.5, 0.4, 0.5, 0.6]).double()
    x = torch.rand(4, 1, height, width, dtype=torch.float64)
    noise = layer.sample_params(x.shape, x, seeded(0))
    algebra = np.array([[*rows, (0, 0, 0)] for rows in GENERATORS.values()], dtype=float)
    algebra[:, 0, 2] *= width / 2
    algebra[:, 1, 2] *= height / 2
    down, right = np.mgrid[:height, :width].reshape(2, -1) + 0.5
    places = np.stack((right - width / 2, down - height / 2, np.ones_like(down)))
    views = layer.apply_params(x, noise).detach()
    for image, draw, view in zip(x[:, 0].numpy(), noise.numpy(), views[:, 0], strict=True):
        inverse = expm(-np.einsum("i,ijk->jk", draw * layer.widths.detach().numpy(), algebra))
        source = (inverse @ places)[1::-1] + np.array([[height / 2], [width / 2]]) - 0.5
        expected = map_coordinates(image, source, order=1, mode="grid-constant")
        np.testing.assert_allclose(view.flatten(), expected, atol=1e-6)


def test_noise_is_uniform_on_plus_or_minus_a_half():
    noise = Augerino().sample_params((5000, 1, 1, 1), torch.zeros(1), seeded(0))
    assert noise.shape == (5000, 6)
    assert -0.5 <= noise.min() < -0.49
    assert 0.49 < noise.max() <= 0.5


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
def test_rotations_are_rotations(interpolation):
    layer = only("rotate", np.pi, interpolation)
    x = torch.rand(6, 3, 17, 23)
    angle = torch.rad2deg(layer.sample_params(x.shape, x, seeded(0))[:, 2] * np.pi)
    # Our transforms turn counter-clockwise, with y down; the generator turns the other way.
    expected = Rotate(180, interpolation=interpolation).transform(x, -angle)
    torch.testing.assert_close(layer(x, seeded(0)), expected, atol=1e-3, rtol=0)


def test_translations_are_a_part_of_the_half_width():
    layer = only("translate_x", 4.0)
    noise = torch.zeros(1, 6)
    noise[0, 0] = 0.5
    assert layer.matrix(noise)[0, 0, 2].item() == pytest.approx(0.2)
    x = torch.rand(6, 3, 10, 20)
    part = layer.sample_params(x.shape, x, seeded(0))[:, 0] * 4 * 0.1 / 2
    torch.testing.assert_close(
        layer(x, seeded(0)), TranslateX().transform(x, part), atol=1e-4, rtol=0
    )


def test_no_width_is_the_identity():
    x = torch.rand(4, 3, 9, 9)
    torch.testing.assert_close(Augerino(1e-30)(x), x)


def test_widths_start_where_they_should_and_learn():
    assert Augerino().widths.tolist() == pytest.approx([np.log(2)] * 6)
    assert Augerino().raw_widths.tolist() == pytest.approx([0] * 6, abs=1e-6)
    layer = Augerino(0.5)
    assert layer.widths.tolist() == pytest.approx([0.5] * 6)
    layer(torch.rand(4, 3, 9, 9)).square().sum().backward()
    assert (layer.raw_widths.grad != 0).all()
    assert list(layer.state_dict()) == ["raw_widths"]


def test_it_reads_like_a_sentence():
    assert "rotate ±45.0°" in repr(only("rotate", np.pi / 2))


def test_autocast_leaves_it_alone():
    layer, x = Augerino(), torch.rand(4, 3, 16, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        view = layer(x, seeded(0))
    assert torch.equal(view, layer(x, seeded(0)))


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match=r"Augerino takes images .* got shape \(2, 3\)"):
        Augerino()(torch.rand(2, 3))
    with pytest.raises(ValueError, match="widths are positive"):
        Augerino(0.0)
    with pytest.raises(ValueError, match="bilinear, bicubic, nearest; got 'cubic'"):
        Augerino(interpolation="cubic")
    with pytest.raises(ValueError, match="one for each of"):
        Augerino([0.1, 0.2])
