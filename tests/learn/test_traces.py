"""Noise that hides traces has the spectrum of the data and no mean of its own."""

import pytest
import torch
from learn_tasks import generator

from augnet.learn.traces import TraceNoise


def test_values_get_noise_of_their_own_spread():
    x = torch.randn(4000, 3, generator=generator()) * torch.tensor([1.0, 10.0, 0.0])
    noise = TraceNoise(x, 0.2)(x, generator(1))
    assert noise.std(0).allclose(torch.tensor([0.2, 2.0, 0.0]), rtol=0.1)


@pytest.mark.parametrize("times", [63, 64])
def test_signals_get_noise_of_their_own_spectrum(times):
    white = torch.randn(600, 2, times, generator=generator())
    x = 5 + white.cumsum(-1) * torch.tensor([1.0, 3.0])[:, None]  # slow, and two scales
    noise = TraceNoise(x, 0.2)(x, generator(1))
    assert noise.shape == x.shape
    assert noise.mean(-1).abs().max() < 1e-4
    power = [torch.fft.rfft(each - each.mean(0)).abs().square().mean(0) for each in (x, noise)]
    assert (power[1] / power[0])[:, 1:].sqrt().mean() == pytest.approx(0.2, rel=0.05)
    assert power[1][:, 1].gt(20 * power[1][:, -2]).all()


def test_images_get_noise_of_their_own_spectrum():
    x = torch.nn.functional.avg_pool2d(torch.randn(300, 3, 20, 17, generator=generator()), 3, 1)
    noise = TraceNoise(x, 0.5)(x, generator(1))
    assert noise.shape == x.shape
    assert (noise.std() / (x - x.mean(0)).std()).item() == pytest.approx(0.5, rel=0.1)


def test_one_seed_gives_one_noise():
    x = torch.randn(20, 1, 32, generator=generator())
    noise = TraceNoise(x, 0.2)
    assert noise(x, generator(1)).equal(noise(x, generator(1)))
    assert not noise(x, generator(1)).equal(noise(x, generator(2)))
