"""Synthetic nights: they look like nights, and are invariant to what they say they are."""

import numpy as np
import pytest
import torch

from augnet.paper.datasets import sleep
from augnet.paper.datasets.sleep.folds import fold
from augnet.paper.datasets.sleep.synthetic import N2, N3, REM, W, hypnogram, night
from augnet.transforms import build_transforms


@pytest.fixture(scope="module")
def nights():
    made = [night(np.random.default_rng([7, n]), windows=30, disagreement=0) for n in range(12)]
    return np.concatenate([each.x for each in made]), np.concatenate([each.y for each in made])


def band(x, low, high):
    """Give the power of a band, as a part of all, per window and channel."""
    power = np.abs(np.fft.rfft(x)) ** 2
    frequency = np.fft.rfftfreq(x.shape[-1], 0.01)
    return power[..., (frequency >= low) & (frequency < high)].sum(-1) / power.sum(-1)


def test_a_night_has_cycles_with_deep_sleep_early_and_rem_late():
    nights = [hypnogram(np.random.default_rng(n)) for n in range(8)]
    shares = np.mean([np.bincount(each, minlength=5) / len(each) for each in nights], axis=0)
    assert 600 < np.mean([len(each) for each in nights]) < 1400
    assert shares.argmax() == N2
    assert (shares > 0.05).all()
    early, late = (
        np.mean([[(half == s).mean() for s in (N3, REM)] for half in halves], axis=0)
        for halves in zip(*(np.array_split(each, 2) for each in nights), strict=True)
    )
    assert early[0] > late[0]
    assert early[1] < late[1]


def test_stages_have_their_spectra_and_places(nights):
    x, y = nights
    alpha, sigma, delta = band(x, 8, 12), band(x, 12, 15), band(x, 0.3, 3)
    back, middle = [4, 5], [0, 1]
    assert alpha[y == W][:, back].mean() > 2 * alpha[y == N3][:, back].mean()
    assert alpha[y == W][:, back].mean() > alpha[y == W][:, middle].mean()
    assert sigma[y == N2][:, middle].mean() > 2 * sigma[y == REM][:, middle].mean()
    assert delta[y == N3].mean() > delta[y == N2].mean() > delta[y == W].mean()


def test_rapid_eyes_are_opposite_left_and_right(nights):
    x, y = nights
    slow = np.fft.rfft(x)[..., :60]
    front = (slow[:, 2] * slow[:, 3].conj()).real.sum(-1) / np.abs(slow[:, 2] * slow[:, 3]).sum(-1)
    assert front[y == REM].mean() < front[y == N3].mean() - 0.5


@pytest.mark.parametrize("transform", ["sign_flip", "time_reverse", "channel_symmetry"])
def test_harmless_transforms_keep_what_tells_stages_apart(transform, nights):
    x, y = nights
    (harmless,) = build_transforms([{"name": transform, "limit": 1.0}], channels=sleep.CHANNELS)
    seen = harmless(torch.from_numpy(x)).numpy()
    for stage in range(5):
        for low, high in ((0.3, 3), (4, 8), (8, 12), (12, 15)):
            before, after = band(x[y == stage], low, high), band(seen[y == stage], low, high)
            assert abs(before.mean() - after.mean()) < 1e-3


def test_the_same_night_for_the_same_dice_and_no_window_too_many():
    first, again = (night(np.random.default_rng(3), windows=5) for _ in range(2))
    assert (first.x == again.x).all()
    assert (first.y == again.y).all()
    assert first.x.dtype == np.float32
    with pytest.raises(ValueError, match="this night has 1 to"):
        night(np.random.default_rng(3), windows=10_000)


def test_splits_are_standardized_and_share_no_subject():
    splits = sleep.load(0, nights=(3, 2, 1), windows=8)
    assert [len(part.y) for part in splits] == [24, 16, 8]
    assert splits.train.x.shape[1:] == (6, 3000)
    assert splits.train.x.mean(-1).abs().max() < 1e-4
    assert (splits.train.x.std(-1) - 1).abs().max() < 1e-2
    everything = torch.cat([part.x[:, 0, :5] for part in splits])
    assert len(everything.unique(dim=0)) == 48
    again = sleep.load(0, nights=(3, 2, 1), windows=8)
    assert torch.equal(splits.test.x, again.test.x)
    few = sleep.load(0, nights=(3, 2, 1), windows=8, sizes=(5, 4, 3))
    assert [len(part.y) for part in few] == [5, 4, 3]
    more = sleep.load(0, nights=(3, 2, 1), windows=(8, 4, 10))
    assert [len(part.y) for part in more] == [24, 8, 10]
    assert torch.equal(more.train.x, splits.train.x)
    with pytest.raises(ValueError, match="three whole numbers"):
        sleep.load(0, nights=(3, 2, 1), windows=(8, 4))


def test_folds_are_those_of_the_paper_where_there_are_that_many():
    subjects = [f"{n:02d}" for n in range(62)]
    parts = [fold(subjects, seed) for seed in range(5)]
    assert [tuple(map(len, part)) for part in parts] == [(24, 24, 12)] * 5
    for train, valid, test in parts:
        assert not set(train) & set(valid) | set(train) & set(test) | set(valid) & set(test)
    tests = [name for _, _, test in parts for name in test]
    assert len(set(tests)) == 60
    assert fold(subjects, 5) != fold(subjects, 0)
    small = fold(subjects[:28], 0)
    assert sum(map(len, small)) == 28
    assert [len(part) for part in small] == [12, 11, 5]
    with pytest.raises(ValueError, match="5 folds need 5 subjects"):
        fold(subjects[:4], 0)


def test_what_data_it_was_is_said_plainly():
    assert "no real EEG" in sleep.describe()
    assert "MASS" in sleep.describe(source="mass", root="x")
    with pytest.raises(ValueError, match="source is one of"):
        sleep.load(source="dreams")
    with pytest.raises(ValueError, match=r"data\.root"):
        sleep.load(source="mass")
