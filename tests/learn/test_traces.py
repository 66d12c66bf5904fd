"""Noise that hides traces is as strong as the data, at each frequency and each place."""

import sys

import pytest
import torch
import torch.nn.functional as F
from learn_tasks import generator

from augnet.learn.traces import TraceNoise, _running_mean


def test_values_get_noise_of_their_own_spread():
    x = torch.randn(4000, 3, generator=generator()) * torch.tensor([1.0, 10.0, 0.0])
    noise = TraceNoise(x, 0.2)(x, generator(1))
    assert noise.std(0).allclose(torch.tensor([0.2, 2.0, 0.0]), rtol=0.1)


@pytest.mark.parametrize("times", [127, 128])
def test_signals_get_noise_of_their_own_spectrum(times):
    white = torch.randn(600, 2, times, generator=generator())
    slow = white.cumsum(-1)
    slow = slow - slow.mean(-1, keepdim=True)
    x = 5 + slow * torch.tensor([1.0, 3.0])[:, None]  # slow, and two scales
    noise = TraceNoise(x, 0.2)(x, generator(1))
    assert noise.shape == x.shape
    scales = noise.std((0, 2))
    assert (scales[1] / scales[0]).item() == pytest.approx(3, rel=0.1)
    power = torch.fft.rfft(noise).abs().square().mean(0)
    assert power[:, 1].gt(10 * power[:, -2]).all()


def test_noise_is_as_strong_as_what_is_around_it():
    x = torch.randn(200, 1, 128, generator=generator())
    x[:, :, :64] = 0.3  # silence
    noise = TraceNoise(x, 0.2)(x, generator(1))
    assert noise[:, :, :56].abs().max() < 1e-3
    assert noise[:, :, 80:].std().item() == pytest.approx(0.2, rel=0.2)
    images = torch.zeros(50, 3, 20, 17)
    images[:, :, 5:12, 5:12] = torch.rand(50, 3, 7, 7, generator=generator())
    noise = TraceNoise(images, 0.2)(images, generator(1))
    assert noise.shape == images.shape
    assert not noise[:, :, 15:].any()
    assert noise[:, :, 5:12, 5:12].std() > 0.01


def test_one_seed_gives_one_noise():
    x = torch.randn(20, 1, 32, generator=generator())
    noise = TraceNoise(x, 0.2)
    assert noise(x, generator(1)).equal(noise(x, generator(1)))
    assert not noise(x, generator(1)).equal(noise(x, generator(2)))


@pytest.mark.parametrize("most", [0, 256])  # by running sums, by products
@pytest.mark.parametrize("window", [3, 9])
@pytest.mark.parametrize("shape", [(4, 9, 7), (3, 5, 4, 6, 8)])
def test_running_means_are_those_of_torch(monkeypatch, most, window, shape):
    monkeypatch.setattr(sys.modules["augnet.learn.traces"], "MOST_BY_PRODUCT", most)
    x = torch.randn(shape, generator=generator())
    for dim in range(1, x.dim()):
        means = _running_mean(x, window, dim)
        lines = x.movedim(dim, -1).flatten(0, -2)[:, None]
        pooled = F.avg_pool1d(lines, window, 1, window // 2, count_include_pad=False)
        expected = pooled.view(x.movedim(dim, -1).shape).movedim(-1, dim)
        torch.testing.assert_close(means, expected)


def test_autocast_does_not_change_the_noise():
    x = 5 + 0.3 * torch.randn(50, 1, 64, generator=generator())
    noise = TraceNoise(x, 0.4)
    expected = noise(x, generator(1))
    with torch.autocast("cpu", torch.bfloat16):
        assert noise(x, generator(1)).equal(expected)
