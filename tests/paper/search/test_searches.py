"""Every search finds what was planted, better than chance, counts its cost, and resumes."""

import io
import itertools

import pytest
import torch
from planted import HARMFUL, SEEN, UNSEEN, shares, task
from torch import nn

from augnet.layers import ByClass, Policy, Step
from augnet.paper.search import SEARCHES, RelaxedPolicy, SearchCurve, as_table, with_cost

SMALL = {
    "autoaugment": {"trials": 30, "pause": 30},
    "fast-autoaugment": {"trials": 30, "pause": 30, "folds": 2, "views": 2},
    "faster-autoaugment": {"epochs": 40, "pause": 40},
    "dada": {"epochs": 60, "pause": 60, "policy_lr": 0.05},
    "adda": {"epochs": 15, "pause": 15, "policy_lr": 0.02},
    "cadda": {"epochs": 15, "pause": 15, "policy_lr": 0.02},
}


def last(search, **options):
    given = task(epochs=8)
    *_, found = with_cost(SEARCHES[search](given, **options), given)
    return found


@pytest.mark.parametrize("name", SMALL)
def test_it_finds_what_was_planted_better_than_chance(name):
    found = last(name, **SMALL[name])
    policies = found.policy.policies if isinstance(found.policy, ByClass) else [found.policy]
    mine = [shares(policy) for policy in policies]

    def share(*transforms):
        return sum(each.get(transform, 0.0) for each in mine for transform in transforms) / len(
            mine
        )

    assert found.passes > 0
    # Some look for views like the samples, the others for what helps with other samples.
    planted = SEEN if name.startswith("fast") else UNSEEN
    assert share(planted) > max(0.25, *map(share, HARMFUL))


def test_adda_finds_it_by_plain_gradients_of_large_rates_too():
    found = shares(last("adda", epochs=15, pause=15, sgd=True, policy_lr=100.0).policy)
    assert found[UNSEEN] > max(0.25, *(found.get(name, 0.0) for name in HARMFUL))


@pytest.mark.parametrize("name", ["randaugment", "trivialaugment"])
def test_no_search_uses_all_transforms_evenly(name):
    policy = last(name).policy
    assert set(shares(policy).values()) == {0.25}


def test_points_count_search_and_retraining():
    given = task(epochs=2)
    curve = list(SearchCurve(SEARCHES["adda"](given, epochs=2, pause=1), given))
    pretraining = retraining = 2 * 64
    of_an_epoch = 4 * 16 * 5  # train, valid, both sides of the difference, and the step
    assert [point.passes for point in curve] == [
        pretraining + n * of_an_epoch + retraining for n in (1, 2)
    ]
    assert curve[0].seconds < curve[1].seconds
    assert all(0 <= point.test <= 1 and isinstance(point.policy, Policy) for point in curve)


def test_the_planted_transform_helps_and_the_harmful_ones_do_not():
    given = task(epochs=20)
    plain = given.train().test
    by_name = {transform.name: transform for transform in given.transforms}
    flip = Policy([[Step(by_name[UNSEEN], 1.0, 0.5)]])
    shuffle = Policy([[Step(by_name[HARMFUL[0]], 1.0, 1.0)]])
    assert given.train(flip).test > plain + 0.05
    assert given.train(shuffle).test < plain


def test_a_policy_is_written_down():
    policy = RelaxedPolicy(task().transforms).harden()
    rows, steps = (list(itertools.chain(*each)) for each in (as_table(policy), policy.subpolicies))
    for row, step in zip(rows, steps, strict=True):
        assert row["transform"] == step.transform.name
        assert row["probability"] == pytest.approx(step.probability, abs=1e-4)
        assert row["magnitude"] == pytest.approx(step.magnitude, abs=1e-4)
        assert row["strength"] == step.transform.describe(step.magnitude)


def test_a_relaxed_policy_has_gradients_and_the_same_views_for_the_same_seed():
    given = task()
    policy = RelaxedPolicy(given.transforms)
    x = given.splits.train.x[:10]
    first, again = (policy(x, torch.Generator().manual_seed(1), first=3) for _ in range(2))
    assert torch.equal(first, again)
    first.square().sum().backward()
    for parameter in policy.parameters():
        assert parameter.grad.isfinite().all()
    assert policy.logits.grad.abs().sum() > 0
    assert policy.probabilities.grad.abs().sum() > 0
    assert policy(x[:3]).shape == (3, *x.shape[1:])


def test_a_policy_by_class_needs_labels_and_is_nothing_without():
    given = task()
    transform = next(transform for transform in given.transforms if transform.name == UNSEEN)
    flip, none = (Policy([[Step(transform, probability)]]) for probability in (1.0, 0.0))
    both = ByClass([flip, none])
    x, y = given.splits.train
    assert both(x) is x
    seen = both.labeled(x, y)
    assert torch.equal(seen[y == 1], x[y == 1])
    assert torch.equal(seen[y == 0], -x[y == 0])


def without_seconds(curve):
    return [(point.passes, point.valid, point.test, tables(point.policy)) for point in curve]


def tables(policy):
    policies = policy.policies if isinstance(policy, ByClass) else [policy]
    return [as_table(each) for each in policies]


def trunk_with_state():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(32, 16), nn.BatchNorm1d(16), nn.Dropout(0.3), nn.Linear(16, 2)
    )


def short_curve(name):
    given = task(epochs=1, size=70)
    given.trunk = trunk_with_state
    return SearchCurve(SEARCHES[name](given, epochs=3, pause=1), given)


@pytest.mark.parametrize("name", ["faster-autoaugment", "dada", "adda", "cadda"])
def test_a_gradient_search_resumes_to_exactly_the_same_points(name):
    whole = list(short_curve(name))
    left = short_curve(name)
    first = next(iter(left))
    file = io.BytesIO()
    torch.save(left.state_dict(), file)
    resumed = short_curve(name)
    resumed.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
    torch.manual_seed(123)  # the surroundings may draw what they like
    rest = list(resumed)
    assert without_seconds([first, *rest]) == without_seconds(whole)
    assert first.seconds < rest[0].seconds < rest[1].seconds
    assert list(resumed) == []


@pytest.mark.parametrize("name", ["faster-autoaugment", "dada", "adda"])
def test_a_gradient_search_leaves_the_global_random_numbers_alone(name):
    before = torch.get_rng_state()
    given = task(epochs=1)
    next(iter(SEARCHES[name](given, epochs=1)))
    assert torch.equal(torch.get_rng_state(), before)


def test_gradients_at_the_ends_are_the_true_ones_and_steps_stay_within():
    policy = RelaxedPolicy(task().transforms)
    with torch.no_grad():
        policy.magnitudes.fill_(0.0)
        policy.probabilities.fill_(1.0)
    for sign in (-1, 1):  # neither direction is cut off
        slopes = torch.autograd.grad(
            sign * (policy.magnitudes.sum() + policy.probabilities.sum()),
            [policy.magnitudes, policy.probabilities],
        )
        assert all(slope.eq(sign).all() for slope in slopes)
    with torch.no_grad():
        policy.magnitudes -= 0.5
        policy.probabilities += 0.5
    policy.project()
    assert policy.magnitudes.eq(0).all()
    assert policy.probabilities.eq(1).all()


def test_a_class_of_one_sample_trains_all_its_subpolicies():
    given = task()
    search = SEARCHES["cadda"](given, epochs=1, pause=1)
    x, y = given.splits.train
    few = torch.cat(((y == 0).nonzero()[:7, 0], (y == 1).nonzero()[:1, 0]))
    batch, seen = type(given.splits.train)(x[few], y[few]), set()
    for first in range(5):
        loss = search._train_loss(batch, first, 0, 1)
        (slope,) = torch.autograd.grad(loss, search.relaxed[1].logits)
        seen |= set(slope.abs().sum((1, 2)).nonzero()[:, 0].tolist())
    assert seen == set(range(5))


def test_steps_of_other_folds_have_other_seeds():
    seeds = {
        each
        for seed in (0, 1)
        for each in SEARCHES["dada"](task(seed=seed), epochs=1, pause=1).step_seeds
    }
    assert len(seeds) == 4


def test_randaugment_has_one_strength_and_the_identity():
    (policy,) = SEARCHES["randaugment"](task(), rounds=1, magnitude=0.3)
    steps = {steps[0].transform.name: steps[0] for steps in policy.subpolicies[:-1]}
    assert steps["sign_flip"].transform.limit == steps["sign_flip"].magnitude == 1
    assert steps["gaussian_noise"].magnitude == 0.3
    x = torch.randn(400, *task().splits.train.x.shape[1:])
    still = (policy.train()(x, torch.Generator().manual_seed(0)) == x).flatten(1).all(1)
    unchanged = (1 + 0.7**2) / 5  # by the identity, or as neither of two channels was dropped
    assert still.float().mean().item() == pytest.approx(unchanged, abs=0.07)


@pytest.mark.parametrize("name", ["adda", "cadda", "dada"])
def test_the_trunk_of_a_bilevel_search_has_the_optimizer_of_training(name):
    given = task(optimizer="sgd", momentum=0.5, weight_decay=0.1)
    optimizer = SEARCHES[name](given, epochs=1, pause=1).trunk_optimizer
    assert isinstance(optimizer, torch.optim.SGD)
    (group,) = optimizer.param_groups
    assert (group["lr"], group["momentum"], group["weight_decay"]) == (1e-2, 0.5, 0.1)


def test_class_losses_of_faster_autoaugment_are_balanced_as_in_training(monkeypatch):
    given = task(balanced=True)
    labels = torch.tensor([0, 0, 0, 1])
    given._weights = torch.tensor([0.5, 1.5])
    scores = torch.randn(4, 2)
    losses = torch.nn.functional.cross_entropy(scores, labels, reduction="none")
    expected = (losses * torch.tensor([0.5, 0.5, 0.5, 1.5])).mean()
    torch.testing.assert_close(given.class_loss(scores, labels), expected)
    seen = []

    def counting(scores, y):
        seen.append(len(y))
        return scores.sum()

    monkeypatch.setattr(given, "class_loss", counting)
    search = SEARCHES["faster-autoaugment"](given, epochs=1, pause=1)
    x, y = given.splits.train
    search.step(type(given.splits.train)(x[:16], y[:16]))
    assert seen == [8, 8]  # of the critic, and of the policy
