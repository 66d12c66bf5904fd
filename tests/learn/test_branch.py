"""A branch trains with one transform, and says what it found, or that it did not have the time."""

import copy
import pickle
import sys
from dataclasses import replace

import pytest
import torch
from learn_tasks import Shift, generator, levels, signs, trained_reference
from torch import nn

from augnet.learn import LearnConfig
from augnet.learn.branch import Branch
from augnet.learn.decide import NO_COST, NO_TIME
from augnet.learn.reference import Control
from augnet.learn.result import Invariance
from augnet.transforms import AmplitudeScale, GaussianNoise, SignFlip

CONFIG = LearnConfig(trunk="mlp", budget=150)


def trained(x, y, config=CONFIG):
    return trained_reference(x, y, config)


@pytest.fixture(scope="module")
def reference():
    return trained(*levels())


SCALE = AmplitudeScale(8.0)


def branch(reference, transform=SCALE, config=CONFIG):
    return Branch(reference, transform, config)


def test_a_quarter_of_a_batch_stays_and_half_of_the_rest_is_at_the_edge(reference):
    x = torch.zeros(64, 4)
    some = branch(reference)
    some.rule.restart(0.4)
    fractions = some._fractions(x)
    identity = CONFIG.identity_fraction
    assert fractions.eq(0).sum() == pytest.approx(64 * identity, abs=1)
    assert fractions.eq(fractions.max()).sum() == pytest.approx(64 * (1 - identity) / 2, abs=1)
    assert fractions.max().item() == pytest.approx(0.4)
    assert fractions[(fractions > 0) & (fractions < fractions.max())].unique().numel() > 5
    assert branch(reference, SignFlip())._fractions(x).eq(1).sum() == 32


def test_what_was_random_before_does_not_matter(reference):
    first = branch(reference).measure()
    torch.rand(7)
    branch(reference, SignFlip()).measure()
    state = torch.get_rng_state()
    assert branch(reference).measure() == first
    assert torch.get_rng_state().equal(state)


def test_dropout_is_repeatable():
    layers = nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 2)
    config = LearnConfig(trunk=nn.Sequential(*layers), budget=60)
    some = trained(*levels(), config)
    first = branch(some, SCALE, config).measure()
    torch.rand(7)
    assert branch(some, SCALE, config).measure() == first


def test_targets_are_those_of_the_reference(reference):
    other = copy.deepcopy(reference)
    other.targets = 1 - other.targets
    assert branch(other, SignFlip()).measure().cost > 0.9


def test_samples_are_moved_in_two_parts_that_add_up(reference):
    some = branch(reference, Shift(1.0), replace(CONFIG, trace_noise=1e-9))
    some.rule.restart(0.4)
    x = torch.zeros(64, 4)
    state = some.generator.get_state()
    fractions = some._fractions(x)
    some.generator.set_state(state)
    view = some._view(x)
    assert view.abs().allclose(fractions[:, None].expand(-1, 4), atol=1e-6)


def test_noise_hides_traces_but_not_the_samples(reference):
    some = branch(reference, Shift(1.0))
    x = reference.data.x[:64]
    some.rule.restart(1e-3)
    added = (some._view(x) - x).std(0)
    wanted = CONFIG.trace_noise * reference.data.x[reference.data.fitted].std(0)
    assert added.allclose(wanted, rtol=0.3)


def test_transforms_that_do_not_resample_need_no_noise(reference):
    x = reference.data.x[:64]
    factors = branch(reference)._view(x) / x
    assert factors.std(1).max() < 1e-5  # one factor per sample, and nothing else


def test_a_branch_without_a_transform_stays_where_it_is(reference):
    some = branch(reference, AmplitudeScale(1.001))
    rows, evaluator = reference.held_out, reference.evaluator
    before = evaluator.outputs(reference.network, reference.data.x[rows]).softmax(1)
    some.rule.rate = some.rule.growth = 0.0
    list(some.loop)
    after = evaluator.outputs(some.average.network, reference.data.x[rows]).softmax(1)
    assert (after - before).abs().mean() < 0.02


def test_a_reference_in_another_process_gives_the_same_answer(reference):
    copied = pickle.loads(pickle.dumps(reference))
    assert branch(copied).measure() == branch(reference).measure()


def test_the_reference_is_left_as_it_is(reference):
    before = copy.deepcopy(reference.network.state_dict())
    branch(reference).measure()
    after = reference.network.state_dict()
    assert all(after[name].equal(before[name]) for name in before)


def test_transforms_of_two_limits_have_random_numbers_of_their_own(reference):
    seeds = {branch(reference, each).seed for each in (SCALE, AmplitudeScale(9.0))}
    assert len(seeds) == 2
    other = branch(reference, config=LearnConfig(trunk="mlp", budget=150, seed=1))
    assert other.seed not in seeds


def test_a_transform_that_exchanges_classes_is_not_invariant():
    row = branch(trained(*signs()), SignFlip()).measure()
    assert (row.status, row.strength) == ("not_invariant", 0.0)
    assert row.cost > 0.2


def test_one_that_changes_nothing_reaches_its_limit_before_all_steps_are_done(reference):
    some = branch(reference, GaussianNoise(1e-4))
    row = some.measure()
    assert (row.status, row.strength) == ("reached_limit", 1e-4)
    assert some.loop.done < some.steps


def test_a_larger_tolerance_never_gives_a_smaller_range():
    rows = []
    for each in (0.03, 0.15, 0.3):
        config = LearnConfig(trunk="mlp", budget=150, tolerance=each)
        rows.append(branch(trained(*levels(), config), SCALE, config).measure())
    assert all(row.kept for row in rows)
    strengths = [row.strength for row in rows]
    assert strengths == sorted(strengths)


def test_a_doubted_reference_measures_nothing():
    x = torch.rand(64, 3, generator=generator())
    y = torch.randint(2, (64,), generator=generator())
    some = branch(trained(x, y), Shift())
    row = some.measure()
    assert (row.status, row.strength, row.interval) == ("unclear", 0.0, (0.0, 0.0))
    assert row.reason == some.reference.doubt != ""
    assert some.loop.done == 0


class Clock:
    """A clock that only steps of a branch move."""

    def __init__(self, monkeypatch, some, seconds):
        self.now = 100.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        step = some.loop.step

        def slow(rows):
            self.now += seconds
            return step(rows)

        some.loop.step = slow


@pytest.mark.parametrize("transform", [SCALE, SignFlip()])
@pytest.mark.parametrize("seconds", [1.0, 9.0, 25.0, 45.0])
def test_a_branch_that_is_cut_is_unclear_and_ends_in_time(
    reference, monkeypatch, transform, seconds
):
    some = branch(reference, transform)
    clock = Clock(monkeypatch, some, 1.0)
    row = some.measure(seconds)
    assert (row.status, row.strength, row.reason) == ("unclear", 0.0, NO_TIME)
    assert clock.now <= 100 + seconds + 1


def test_enough_time_changes_nothing(reference, monkeypatch):
    some = branch(reference)
    Clock(monkeypatch, some, 1.0)
    assert some.measure(1e6) == branch(reference).measure()


def test_no_time_is_no_training(reference):
    some = branch(reference)
    assert some.measure(0.0).reason == some.measure(-3.0).reason == NO_TIME
    assert some.loop.done == 0


def test_a_border_that_adds_no_error_is_not_the_end(reference):
    """Small factors are harmless, so a border there is wrong, and the next one is looked for."""
    some = branch(reference)
    some.rule.border, some.rule.ranges = 0.05, [0.05] * 12
    assert some._decide(last=False) is None
    assert 0.3 < some.rule.border < 1  # where 1 becomes 4
    some.rule.border = 0.05
    assert some._decide(last=True).reason == NO_COST


def close_to_the_tolerance(reference):
    """Return a branch of a flip that finds the same cost, a bit too high, after any training."""
    some = branch(reference, SignFlip())
    some._without_training, some._settled = lambda: None, lambda: False
    whole = some._measured

    def measured(network, rows):
        found = whole(network, rows)
        rest = torch.zeros_like(found.rest)
        rest[: round(1.5 * len(rows) * some.tolerance)] = 1.0
        return replace(found, rest=rest, before=torch.zeros_like(rest))

    some._measured = measured
    return some


def test_training_goes_on_if_a_flip_costs_a_little_too_much():
    config = replace(CONFIG, tolerance=0.1)
    some = close_to_the_tolerance(trained(*levels(), config))
    row = some.measure()
    assert row.status == "not_invariant"
    assert some.tolerance < row.cost < 2 * some.tolerance
    assert some.loop.done == 2 * some.steps  # the cost did not fall


def test_a_flip_that_is_clearly_refused_is_not_trained_to_the_end(monkeypatch):
    monkeypatch.setattr(sys.modules["augnet.learn.branch"], "exchanges_classes", lambda *_: False)
    some = branch(trained(*signs(200)), SignFlip())
    row = some.measure()
    assert (row.status, row.cost > 0.2) == ("not_invariant", True)
    assert some.steps / 2 < some.loop.done < some.steps


def test_costs_that_fall_slowly_or_are_far_too_high_are_not_trained_on(reference):
    some = branch(reference, SignFlip())
    some.loop.done = some.steps
    for last, on in ((3.0, True), (3.8, False), (0.9, False)):
        some.rule.excesses = [4.0] * 12 + [last] * 6
        assert some._moves() == on
    some.loop.done += 1
    for last, on in ((3.0, False), (1.9, True)):
        some.rule.excesses = [4.0] * 12 + [last] * 6
        assert some._moves() == on


@pytest.mark.parametrize(("wrong", "own"), [(0, True), (1, True), (20, False)])
def test_ranges_are_compared_with_errors_at_rest_unless_these_are_clearly_more(
    reference, wrong, own
):
    some, flip = branch(reference), branch(reference, SignFlip())
    rows = reference.held_out
    before = torch.zeros(len(rows))
    rest = torch.where(torch.arange(len(rows)) < wrong, 1.0, 0.0)
    assert len(rows) > 50
    assert some.compared(rest, before, rows) is (rest if own else before)
    assert some.compared(before, rest, rows) is before  # fewer errors than before
    assert flip.compared(rest, before, rows) is before  # a flip may have to be paid at rest


def test_a_range_may_cost_several_tolerances_at_first(reference, monkeypatch):
    some = branch(reference)
    some.tolerance, seen = 0.2, []
    monkeypatch.setattr(some.rule, "update", lambda *_, allowed, settling: seen.append(allowed))
    some._measure_cost()
    assert seen[0] == pytest.approx(CONFIG.leniency * 0.2)


def test_noise_of_a_part_of_the_samples_is_that_of_more(reference, monkeypatch):
    """Without groups: how groups differ is not known better with more samples of each."""
    count, seen = len(reference.held_out) // 4, []
    config = replace(CONFIG, cost_samples=count, leniency=1e-9)
    monkeypatch.setattr(reference.evaluator, "deviation", lambda *_: 0.5)
    for groups in (None, torch.arange(len(reference.data.y))):
        some = branch(reference, config=config)
        some.data = replace(some.data, groups=groups)
        some.tolerance = 1e-9
        monkeypatch.setattr(some.rule, "update", lambda *_, allowed, settling: seen.append(allowed))
        some._measure_cost()
    assert seen[0] == pytest.approx(CONFIG.confidence * 0.5 * (count / (4 * count)) ** 0.5)
    assert seen[1] == pytest.approx(CONFIG.confidence * 0.5)


def test_values_are_measured_for_longer():
    y = torch.rand(200, generator=generator())
    x = torch.stack((y, 1 - y), 1)
    some = branch(trained(x, y))
    steps = some.reference.planned
    assert some.steps == round(CONFIG.value_branch_steps * steps)
    assert branch(trained(*levels())).steps == round(CONFIG.branch_steps * steps)


@pytest.mark.parametrize(("second", "parts"), [(0.5, 3), (0.9, 2)])
def test_a_flip_is_trained_on_once_more_only_if_its_cost_fell(monkeypatch, second, parts):
    some = branch(trained(*signs(200)), SignFlip())
    module = sys.modules["augnet.learn.branch"]
    costs = iter((0.015, second * 0.015, second * 0.015))
    found = Invariance(SignFlip(), "not_invariant", 0.0, (0.0, 0.0))
    monkeypatch.setattr(some, "_without_training", lambda: None)
    monkeypatch.setattr(some, "_moves", lambda: False)
    monkeypatch.setattr(some, "_settled", lambda: False)
    monkeypatch.setattr(module, "is_close", lambda *_: True)
    monkeypatch.setattr(module, "decide_bernoulli", lambda *_: replace(found, cost=next(costs)))
    some.measure()
    assert some.loop.done == parts * some.steps


def test_few_measurements_or_steps_are_enough(reference):
    for config in (replace(CONFIG, measurements=1), replace(CONFIG, branch_steps=0.015)):
        assert branch(reference, config=config).measure().status
        assert branch(reference, SignFlip(), config).measure().status


def test_all_held_out_samples_are_measured_in_turn(reference):
    count = len(reference.held_out) // 2
    some = branch(reference, config=replace(CONFIG, cost_samples=count))
    for _ in range(2):
        parts = [some._next_samples() for _ in range(2)]
        assert torch.cat(parts).unique().numel() == 2 * count
    whole = branch(reference)._next_samples()
    assert whole.sort().values.equal(torch.arange(len(reference.held_out)))


@pytest.mark.parametrize(
    ("before", "status"),
    [(None, "reached_limit"), (0.02, "reached_limit"), (0.012, "not_invariant")],
)
def test_more_training_has_to_help_clearly(reference, before, status):
    some = branch(reference, SignFlip())
    some.close_cost = before
    found = Invariance(SignFlip(), "reached_limit", 0.5, (0.5, 0.5), cost=0.01)
    row = some._only_if_cheaper(found)
    assert (row.status, row.kept) == (status, status == "reached_limit")
    refused = replace(found, status="not_invariant", strength=0.0)
    assert some._only_if_cheaper(refused) == refused


def test_noise_allows_flips_no_more_error(reference):
    noisy = copy.copy(reference)
    noisy.error, noisy.control = 0.3, Control(reference.errors, changed=0.4)
    assert branch(noisy).tolerance == pytest.approx(0.2)
    assert branch(noisy, SignFlip()).tolerance == pytest.approx(0.05 * 0.3)


@pytest.mark.parametrize("trained", [False, True])
def test_flips_are_doubted_by_their_probabilities(monkeypatch, reference, trained):
    """At first the reference is asked, and then the trained branch."""
    asked = []

    def doubt(measured, found, usual, config):
        asked.append((measured.network is reference.network, len(usual)))
        return replace(found, status="unclear", reason="doubt")

    module = sys.modules["augnet.learn.branch"]
    monkeypatch.setattr(module, "doubt_by_distances", doubt)
    some = branch(reference, SignFlip())
    if trained:
        found = some._decide(last=True)
        assert (found.status, found.reason) == ("unclear", "doubt")
    else:
        monkeypatch.setattr(module, "exchanges_classes", lambda *given: False)
        assert some._without_training() is None  # it is trained instead
    assert asked == [(not trained, len(reference.held_out))]
