"""Data sets: what the paper says they are."""

import torch

from augnet.data import sinusoids


def test_sinusoids_are_those_of_the_paper():
    train, valid, test = sinusoids.load(seed=1)
    assert train.x.shape == (400, 1, 1000)
    assert valid.x.shape == test.x.shape == (200, 1, 1000)
    assert train.y.bincount().tolist() == [100] * 4
    # The strongest frequency of each wave lies within half a hertz of its class's.
    spectrum = torch.fft.rfft(train.x[:, 0], n=8000).abs()
    frequency = spectrum.argmax(1) * 100 / 8000
    offset = frequency - torch.tensor([2.0, 4, 6, 8])[train.y]
    assert offset.abs().max() <= 0.55
    assert offset.std().item() > 0.25
    # Power: half for a wave of unit amplitude, a quarter for noise of 0.5.
    assert 0.72 < train.x.square().mean() < 0.78


def test_sinusoids_are_seeded_and_splits_differ():
    first, again, other = (sinusoids.load(seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.train.x, again.train.x)
    assert not torch.equal(first.train.x, other.train.x)
    assert not torch.equal(first.valid.x, first.test.x)


def test_sinusoids_of_other_kinds():
    splits = sinusoids.load(sizes=(30, 3, 6), frequencies=(5, 8, 11), duration=2, sfreq=50)
    assert splits.train.x.shape == (30, 1, 100)
    assert splits.train.y.max() == 2
