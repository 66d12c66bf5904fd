"""Data sets: what the paper says they are."""

import numpy as np
import pytest
import torch

from augnet.paper.datasets import file_fingerprint, mario, sinusoids


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


def test_phases_are_uniform_or_those_of_the_authors():
    length = 50  # half a second: all phases are seen at the start
    for phase, most in (("paper", 2 * torch.pi), ("authors", torch.pi / 2)):
        waves, labels = sinusoids.load(
            0, sizes=(4000, 4, 4), noise=0.0, spread=0.0, duration=0.5, phase=phase
        ).train
        fast = waves[labels == 3, 0].double()  # 8 Hz
        turns = torch.arange(length) * 2 * torch.pi * 8 / 100
        angle = torch.atan2((fast * turns.cos()).sum(1), (fast * turns.sin()).sum(1))
        angle = angle % (2 * torch.pi)
        assert angle.max() == pytest.approx(most, rel=0.02)
        assert angle.mean() == pytest.approx(most / 2, rel=0.05)
    with pytest.raises(ValueError, match="phase knows paper, authors; got 'mine'"):
        sinusoids.load(phase="mine")


@pytest.mark.parametrize("load", [sinusoids.load, mario.load])
def test_one_draw_of_the_data_serves_all_seeds(load):
    sizes = (8, 4, 4)
    first, second = (load(seed, sizes=sizes, draw=88).train.x for seed in (0, 1))
    assert torch.equal(first, second)
    assert torch.equal(first, load(88, sizes=sizes).train.x)
    assert not torch.equal(first, load(0, sizes=sizes).train.x)


def test_sinusoids_of_other_kinds():
    splits = sinusoids.load(sizes=(30, 3, 6), frequencies=(5, 8, 11), duration=2, sfreq=50)
    assert splits.train.x.shape == (30, 1, 100)
    assert splits.train.y.max() == 2


def test_figures_stay_inside_the_circle_that_turns_keep():
    figures = mario.figures()
    assert figures.shape == (2, 3, 32, 32)
    assert figures.min() == 0
    assert figures.max() == 1
    y, x = torch.meshgrid(torch.arange(32) - 15.5, torch.arange(32) - 15.5, indexing="ij")
    assert figures[..., x.square() + y.square() > 16**2].max() == 0


def test_mario_classes_are_figure_and_heading():
    splits = mario.load(sizes=(400, 8, 8))
    assert splits.train.x.shape == (400, 3, 32, 32)
    assert splits.train.y.bincount().tolist() == [100] * 4
    # Turned back by half a turn, the upside-down ones look like the upright ones in the mean.
    means = [splits.train.x[splits.train.y == label].mean(0) for label in range(4)]
    for up, down in ((0, 1), (2, 3)):
        turned = means[down].flip(-1, -2)
        assert (turned - means[up]).abs().mean() < 0.3 * (means[down] - means[up]).abs().mean()


def test_mario_reads_two_images_and_refuses_others(tmp_path):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    np.savez(good, a=np.ones((1, 3, 32, 32)), b=np.zeros((3, 32, 32)))
    np.savez(bad, a=np.ones((3, 16, 16)))
    assert mario.load(sizes=(8, 4, 4), images=str(good)).train.x.amax().item() == pytest.approx(1)
    with pytest.raises(ValueError, match=r"two images \(3, 32, 32\); got \(3, 16, 16\)"):
        mario.load(images=str(bad))
    np.savez(bad, a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"not a readable \.npz file"):
        mario.load(images=str(bad))


def test_mario_reads_the_authors_images(shared_data):
    path = shared_data / "mario-iggy" / "images.npz"
    assert mario.load(sizes=(8, 4, 4), images=str(path)).train.x.shape == (8, 3, 32, 32)


def test_data_has_a_fingerprint_if_it_is_read_from_files():
    splits = sinusoids.load(sizes=(8, 4, 4))
    for generated in ({"name": "sinusoids"}, {"name": "mario-iggy"}, {"name": "sleep"}):
        assert file_fingerprint(generated, splits) is None
    read = {"name": "mario-iggy", "images": "a.npz"}, {"name": "cifar10"}
    first, second = (file_fingerprint(spec, splits) for spec in read)
    assert first == second != file_fingerprint(read[0], sinusoids.load(1, sizes=(8, 4, 4)))
