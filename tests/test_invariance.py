"""The invariance metric against hand-computed values."""

import math

import pytest
import torch
import torch.nn.functional as F
from specimens import seeded
from torch import nn

from augnet import AugmentationLayer, AugNet, invariance, summary
from augnet.invariance import cosine_distance
from augnet.transforms import HorizontalFlip, Rotate, SignFlip


def test_the_score_is_computed_by_hand():
    # Two samples at a right angle, so that b = 1, both turned by 60°: (1 − (1 − ½)) / 1.
    x = torch.eye(2)
    angle = torch.tensor(math.pi / 3)
    turn = torch.stack(
        [torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])]
    )
    scores = invariance(lambda x: x, lambda x: x @ turn, x)
    torch.testing.assert_close(scores, torch.tensor([0.5, 0.5]))


def test_invariant_models_score_one_and_others_less():
    x = torch.randn(100, 4)
    flip = SignFlip(1.0)
    assert (invariance(torch.abs, flip, x) == 1).all()
    assert summary(invariance(lambda x: x, flip, x)).median < 0


def test_a_constant_model_is_invariant():
    scores = invariance(lambda x: torch.ones(len(x), 3), Rotate(), torch.rand(5, 3, 8, 8))
    assert (scores == 1).all()


def test_a_sample_is_never_compared_with_itself():
    x = torch.eye(10)
    for seed in range(20):
        scores = invariance(lambda x: x, lambda x: -x, x, seeded(seed))
        assert torch.equal(scores, torch.full((10,), -1.0))  # b = 1, d = 2, for all


def test_any_callable_and_any_distance_will_do():
    x = torch.tensor([[1.0], [3.0]])
    scores = invariance(lambda x: x, lambda x: x + 0.5, x, distance=nn.PairwiseDistance(eps=0))
    torch.testing.assert_close(scores, torch.tensor([0.75, 0.75]))


def test_it_is_repeatable_and_leaves_no_graph():
    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 64, 4))
    x = torch.rand(6, 3, 8, 8)
    first, again = (invariance(model, Rotate(), x, seeded(2)) for _ in range(2))
    assert torch.equal(first, again)
    assert not first.requires_grad
    layer = AugmentationLayer(Rotate(), HorizontalFlip()).eval()
    net = AugNet(layer, model, copies=3).eval()
    first, again = (invariance(net, layer, x, seeded(2)) for _ in range(2))
    assert torch.equal(first, again)


def test_cosine_distance_is_one_minus_the_cosine_of_all_outputs():
    a, b = torch.randn(2, 3, 2, 5)
    expected = 1 - F.cosine_similarity(a.flatten(1), b.flatten(1))
    torch.testing.assert_close(cosine_distance(a, b), expected)
    torch.testing.assert_close(cosine_distance(a, 2 * a), torch.zeros(3), atol=1e-6, rtol=0)
    torch.testing.assert_close(cosine_distance(a, -a), torch.full((3,), 2.0))


def test_the_summary_gives_median_and_quantiles():
    scores = torch.arange(101.0) / 100
    median, low, high = summary(scores, coverage=0.5)
    assert (median, low, high) == pytest.approx((0.5, 0.25, 0.75))
    worst = torch.tensor([-torch.inf, 0.5, 1.0, 1.0])
    assert summary(worst).median == pytest.approx(0.75)
    with pytest.raises(ValueError, match="coverage lies between 0 and 1; got 75"):
        summary(scores, coverage=75)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="got a batch of one"):
        invariance(torch.abs, torch.neg, torch.rand(1, 3))
    with pytest.raises(ValueError, match="several values per sample"):
        invariance(lambda x: x.mean(1), torch.neg, torch.rand(4, 3))
    with pytest.raises(ValueError, match="NaN"):
        invariance(torch.abs, torch.neg, torch.full((2, 3), torch.nan))
