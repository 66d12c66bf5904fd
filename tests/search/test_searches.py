"""Every search finds what was planted, better than chance, and says what it took."""

import itertools

import pytest
import torch
from planted import HARMFUL, SEEN, UNSEEN, shares, task

from augnet.augment import ByClass, Policy
from augnet.search import (
    SEARCHES,
    RelaxedPolicy,
    as_table,
    best_so_far,
    from_table,
    metered,
    points,
    usage,
)
from augnet.search.task import Point

SMALL = {
    "autoaugment": {"trials": 30, "pause": 30},
    "fast-autoaugment": {"trials": 30, "pause": 30, "folds": 2, "views": 2},
    "faster-autoaugment": {"epochs": 40, "pause": 40},
    "dada": {"epochs": 60, "pause": 60, "policy_lr": 0.05},
    "adda": {"epochs": 15, "pause": 15, "policy_lr": 0.02},
    "cadda": {"epochs": 15, "pause": 15, "policy_lr": 0.02},
}


def last(search, **options):
    *_, found = metered(lambda each: SEARCHES[search](each, **options), task(epochs=8))
    return found


@pytest.mark.parametrize("name", SMALL)
def test_it_finds_what_was_planted_better_than_chance(name):
    found = last(name, **SMALL[name])
    policies = found.policy.policies if isinstance(found.policy, ByClass) else [found.policy]
    mine = [shares(policy) for policy in policies]

    def share(*words):
        return sum(each.get(word, 0.0) for each in mine for word in words) / len(mine)

    assert found.passes > 0
    # Some look for views like the samples, the others for what helps with other samples.
    planted = SEEN if name.startswith("fast") else UNSEEN
    assert share(planted) > max(0.25, *map(share, HARMFUL))


@pytest.mark.parametrize("name", ["randaugment", "trivialaugment"])
def test_no_search_uses_all_words_evenly(name):
    policy = last(name).policy
    assert set(shares(policy).values()) == {0.25}


def test_points_count_search_and_retraining():
    given = task(epochs=2)
    curve = list(points(lambda each: SEARCHES["adda"](each, epochs=2, pause=1), given))
    pretraining = retraining = 2 * 64
    of_an_epoch = 4 * 16 * 5  # train, valid, both sides of the difference, and the step
    assert [point.passes for point in curve] == [
        pretraining + n * of_an_epoch + retraining for n in (1, 2)
    ]
    assert curve[0].seconds < curve[1].seconds
    assert all(0 <= point.test <= 1 and isinstance(point.policy, Policy) for point in curve)


def test_the_best_so_far_is_by_validation():
    curve = [Point(1, 10, 0.5, 0.6), Point(2, 20, 0.4, 0.9), Point(3, 30, 0.7, 0.5)]
    assert [(p.seconds, p.test) for p in best_so_far(curve)] == [(1, 0.6), (2, 0.6), (3, 0.5)]


def test_the_planted_word_helps_and_the_harmful_ones_do_not():
    given = task(epochs=20)
    plain = given.train().test
    flip = from_table([[{"word": UNSEEN, "probability": 1.0, "magnitude": 0.5}]], given.words)
    shuffle = from_table(
        [[{"word": HARMFUL[0], "probability": 1.0, "magnitude": 1.0}]], given.words
    )
    assert given.train(flip).test > plain + 0.05
    assert given.train(shuffle).test < plain


def test_a_policy_is_written_down_and_read_again():
    given = task()
    policy = RelaxedPolicy(given.words).harden()
    again = from_table(as_table(policy), given.words)
    for ours, theirs in zip(
        *(itertools.chain(*p.subpolicies) for p in (policy, again)), strict=True
    ):
        assert ours.word == theirs.word
        assert ours.magnitude == pytest.approx(theirs.magnitude, abs=1e-4)
    assert sum(usage(policy).values()) == pytest.approx(sum(usage(again).values()), abs=1e-3)


def test_a_relaxed_policy_has_gradients_and_the_same_views_for_the_same_dice():
    given = task()
    policy = RelaxedPolicy(given.words)
    x = given.splits.train.x[:10]
    first, again = (policy(x, torch.Generator().manual_seed(1), turn=3) for _ in range(2))
    assert torch.equal(first, again)
    first.square().sum().backward()
    for parameter in policy.parameters():
        assert parameter.grad.isfinite().all()
    assert policy.logits.grad.abs().sum() > 0
    assert policy.raw_probabilities.grad.abs().sum() > 0
    assert policy(x[:3]).shape == (3, *x.shape[1:])


def test_a_policy_by_class_needs_labels_and_is_nothing_without():
    given = task()
    flip, none = (
        from_table([[{"word": UNSEEN, "probability": p, "magnitude": 1.0}]], given.words)
        for p in (1.0, 0.0)
    )
    both = ByClass([flip, none])
    x, y = given.splits.train
    assert both(x) is x
    seen = both.labelled(x, y)
    assert torch.equal(seen[y == 1], x[y == 1])
    assert torch.equal(seen[y == 0], -x[y == 0])
