"""The final net draws as many transforms per sample as make it better, and says what they bring."""

import copy
from dataclasses import replace

import pytest
import torch
from learn_tasks import generator, kept, levels
from torch import nn

from augnet import AugNet, identity
from augnet.learn import Gain, LearnConfig, learn
from augnet.learn.final import Compared, FinalNet
from augnet.learn.inputs import prepare_data
from augnet.learn.net import NetTraining
from augnet.learn.reference import Reference
from augnet.learn.result import Invariance, InvarianceResult
from augnet.transforms import build_transforms

CONFIG = LearnConfig(copies=2)
SIZE = 200


def final(rows=None, steps=20, values=False, config=CONFIG, hidden=0):
    x, y = levels(SIZE)
    y = x.mean(1) if values else y
    data = prepare_data(x, y, generator())
    torch.manual_seed(0)
    trunk = nn.Linear(4, data.outputs)
    reference = Reference(data, trunk, generator(), config)
    rows = kept("sign_flip", "gaussian_noise", "amplitude_scale") if rows is None else rows
    if hidden:  # the net has another trunk than the reference
        trunk = nn.Sequential(nn.Linear(4, hidden), nn.ReLU(), nn.Linear(hidden, data.outputs))
    return FinalNet(reference, rows, trunk, generator(), config, steps)


def compared(distance, wrong=0):
    losses = torch.zeros(SIZE // 2)
    losses[:wrong] = 1
    return Compared(losses, losses, torch.full((SIZE // 2,), distance))


@pytest.mark.parametrize(
    ("distances", "wrong", "tried", "choice"),
    [
        ([0.1, 0.2, 0.3], [5, 6, 6], [0, 2, 1], 0),
        ([0.1, 0.2, 0.3], [5, 6, 5], [0, 2, 1], 1),  # its score is not worse, and it is invariant
        ([0.4, 0.2, 0.3], [5, 6, 4], [0, 2, 3], 2),  # three are clearly worse than two
        ([0.4, 0.3, 0.2], [5, 6, 6], [0, 2, 3], 3),
        ([0.1, 0.2, 0.1], [5, 5, 6], [0, 2, 3], 2),  # three are worse than none by both
    ],
)
def test_two_draws_are_taken_unless_others_are_better(monkeypatch, distances, wrong, tried, choice):
    some = final(kept("gaussian_noise", "amplitude_scale", "sign_flip"))
    measured = iter(zip(distances, wrong, strict=True))
    monkeypatch.setattr(some, "_measure", lambda net: compared(*next(measured)))
    rows = list(some.fit(1))
    assert list(some.compared) == tried
    assert not list(measured)
    assert some.choice == choice
    assert next(row["draws"] for row in rows if row["phase"] == "net") == choice
    assert (some.net.augment is identity) == (choice == 0)
    assert some.net.copies == (2 if choice else 1)
    assert some.gain.compared == tuple(sorted(tried))
    known = dict(zip(tried, wrong, strict=True))
    scores = [1 - known[draws] / (SIZE // 2) for draws in some.gain.compared]
    assert some.gain.scores == pytest.approx(scores, abs=1e-6)


@pytest.mark.parametrize(("worse", "choice"), [(0.5, 3), (1.5, 2)])
def test_three_draws_are_taken_unless_they_are_clearly_worse(monkeypatch, worse, choice):
    """A tenth of all distances differ by 1: their mean has a standard error of 0.03."""
    some = final(kept("gaussian_noise", "amplitude_scale", "sign_flip"))
    more = (torch.arange(SIZE // 2) % 10 == 0).float()
    more += 0.03 * worse - more.mean()
    measured = [compared(0.4), compared(0.2), compared(0.2)]
    measured[2] = replace(measured[2], distances=0.2 + more)
    each = iter(measured)
    monkeypatch.setattr(some, "_measure", lambda net: next(each))
    list(some.fit(1))
    assert some.choice == choice


@pytest.mark.parametrize("good", [False, True])
@pytest.mark.parametrize("count", [1, 2])
def test_few_transforms_are_drawn_less_often(monkeypatch, count, good):
    some = final(kept(*["gaussian_noise", "amplitude_scale"][:count]))
    monkeypatch.setattr(some, "_is_as_good", lambda draws: good)
    list(some.fit(1))
    assert list(some.compared) == ([0, 1] if count == 1 else [0, 2] if good else [0, 2, 1])
    assert some.choice == (count if good else 0)


def helped(**benefits):
    """Return kept transforms, each with its benefit."""
    return [replace(row, benefit=benefits[row.transform.name]) for row in kept(*benefits)]


@pytest.mark.parametrize(
    ("benefits", "used"),
    [
        ({"sign_flip": 0.1, "gaussian_noise": -0.1}, ["sign_flip"]),
        ({"sign_flip": 0.1, "gaussian_noise": None}, ["sign_flip", "gaussian_noise"]),
        ({"sign_flip": 0.1, "gaussian_noise": -0.004}, ["sign_flip", "gaussian_noise"]),
        ({"sign_flip": -0.2, "gaussian_noise": -0.1}, ["gaussian_noise"]),
    ],
)
def test_transforms_that_make_predictions_worse_are_not_in_the_net(benefits, used):
    """By less than half an error, here of a hundred samples, they are not told to be worse."""
    some = final(helped(**benefits))
    assert len(some.held_out) == 100
    assert [row.transform.name for row in some.kept] == used
    some.choice = some.draws = 1
    (layer,) = some._begin().net.augment
    assert [each.name for each in layer.transforms] == used


def test_flips_alone_are_drawn_once():
    assert final(kept("sign_flip", "time_reverse")).max_draws == 1
    assert final(helped(sign_flip=0.1, gaussian_noise=-0.1)).max_draws == 1
    assert final(kept("sign_flip", "gaussian_noise", "amplitude_scale")).max_draws == 3


def test_a_transform_is_not_drawn_more_often_than_there_are_transforms():
    assert final(kept("gaussian_noise")).max_draws == 1
    assert final(kept("sign_flip", "gaussian_noise")).max_draws == 2


def test_compared_nets_see_fitted_samples_only_and_the_last_one_all(monkeypatch):
    some = final()
    seen = {"compared": set(), "net": set()}
    views = NetTraining._views

    def watched(self, rows):
        seen["net" if some.choice is not None else "compared"].update(rows.tolist())
        return views(self, rows)

    monkeypatch.setattr(NetTraining, "_views", watched)
    list(some.fit(1))
    assert seen["compared"] == set(some.data.fitted.tolist())
    assert seen["net"] == set(range(len(some.data.x)))


def dropping(config=CONFIG):
    """Return a net whose trunk draws random numbers of torch, too."""
    some = final(config=config, hidden=5)
    some.trunk.insert(1, nn.Dropout(0.5))
    some.training = some._begin()
    return some


def test_a_net_that_draws_none_is_that_of_plain_training(monkeypatch):
    some = dropping()
    monkeypatch.setattr(some, "_is_as_good", lambda draws: False)
    torch.rand(7, generator=some.generator)
    torch.rand(7)
    list(some.fit(1))
    assert some.choice == 0
    assert len(some.compared) > 2
    net = AugNet(identity, copy.deepcopy(some.trunk), some.data.aggregate)
    draws = generator().manual_seed(CONFIG.seed)
    torch.manual_seed(CONFIG.seed)
    list(NetTraining(some.data, net, draws, CONFIG, some.planned).fit(1))
    ends = zip(some.net.trunk.parameters(), net.trunk.parameters(), strict=True)
    assert all(mine.equal(theirs) for mine, theirs in ends)


def test_loading_leaves_random_numbers_alone():
    some, other = dropping(), dropping()
    for row in some.fit(1):
        if row["phase"] == "net":
            break
    before, own = torch.get_rng_state(), other.generator.get_state()
    other.load_state_dict(some.state_dict())
    assert torch.get_rng_state().equal(before)
    assert other.generator.get_state().equal(own)


@pytest.mark.parametrize("edges", [0.0, 0.25])
def test_nets_are_trained_at_the_ends_of_ranges(edges):
    some = final(config=replace(CONFIG, edges=edges))
    some.choice = some.draws = 2
    assert [layer.edges for layer in some._begin().net.augment] == [edges, edges]


def test_compared_nets_go_on_from_the_reference_and_the_last_one_begins_again():
    some = final()
    first = some.trunk.weight.clone()
    nn.init.ones_(some.reference.best.weight)
    some.choice = None
    assert some._begin().net.trunk.weight.eq(1).all()
    some.choice = 1
    assert some._begin().net.trunk.weight.equal(first)
    assert some.trunk.weight.equal(first)


def test_another_trunk_is_trained_without_augmentation_before_nets_are_compared():
    some = final(hidden=5)
    first = some.trunk[0].weight.clone()
    assert some.base is None
    assert some.net.augment is identity
    list(some.fit(1))
    base = some.base["0.weight"]
    assert not base.equal(first)
    assert some.trunk[0].weight.equal(first)
    assert some.steps_before == 3 + 2 * len(some.compared)
    some.choice = None
    assert some._begin().net.trunk[0].weight.equal(base)


def test_frozen_weights_stay_frozen():
    some = final()
    some.trunk.bias.requires_grad_(False)
    assert not some._begin().net.trunk.bias.requires_grad


def test_the_gain_is_that_of_the_same_steps_without_augmentation():
    some = final()
    measured = [compared(0.3, wrong=20), compared(0.2, wrong=10), compared(0.25, wrong=12)]
    some.compared = dict(enumerate(measured))
    some.choice = 1
    gain = some.gain
    assert (gain.draws, len(gain.scores)) == (1, 3)
    assert gain.difference == pytest.approx(gain.score - gain.plain_score)
    assert 0.05 < gain.difference < 0.2
    assert gain.interval[0] < gain.difference < gain.interval[1]
    assert gain.interval[0] > 0
    some.choice = 0
    assert (some.gain.difference, some.gain.interval) == (0, (0, 0))


def test_rows_that_are_not_kept_are_not_in_the_net():
    noise, flip = build_transforms(["gaussian_noise", "sign_flip"])
    rows = [
        Invariance(noise, "unclear", 0.0, (0.0, 0.0), reason="no time was left"),
        Invariance(flip, "not_invariant", 0.0, (0.0, 0.0)),
    ]
    some = final(rows)
    assert list(some.fit(1))[-1]["done"] == 1
    assert some.net.augment is identity
    assert some.gain is None


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("left", [1, 4, 9])
def test_it_is_resumed_to_the_same_end(left, hidden, values):
    whole, first, second = (final(values=values, hidden=hidden) for _ in range(3))
    rows = list(whole.fit(1))
    for row in first.fit(1):
        if row["epoch"] == left:
            break
    second.load_state_dict(first.state_dict())
    second.generator.set_state(first.generator.get_state())
    assert list(second.fit(left + 1)) == rows[left:]
    assert [row["epoch"] for row in rows] == list(range(1, len(rows) + 1))
    assert second.gain == whole.gain
    ends = zip(second.net.trunk.parameters(), whole.net.trunk.parameters(), strict=True)
    assert all(mine.equal(theirs) for mine, theirs in ends)
    assert second.steps == whole.steps


@pytest.mark.parametrize("hidden", [0, 5])
def test_progress_rises_to_one(hidden):
    done = [row["done"] for row in final(hidden=hidden).fit(1)]
    assert done == sorted(done)
    assert done[-1] == 1
    assert max(done[:-1]) < 1


def test_the_time_is_divided_between_the_nets(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    some = final(steps=1000)
    original = some.data.loss

    def slow(*given):
        now[0] += 1.0
        return original(*given)

    monkeypatch.setattr(type(some.data), "loss", lambda self, *given: slow(*given))
    list(some.fit(1, 100.0))
    assert now[0] <= 201.0
    assert some.steps == 100
    assert 60 <= some.training.loop.done <= 85  # of 100, in 1 of 1.3 or 1.4; see SLOWER


@pytest.mark.parametrize("seconds", [None, 100.0])
def test_nets_are_compared_after_the_same_steps(monkeypatch, seconds):
    now, some, steps = [100.0], final(steps=1000), {}
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    original, measure = some.data.loss, some._measure

    def slow(*given):
        now[0] += 1.4 if some.draws else 1.0
        return original(*given)

    def counted(net):
        steps[some.draws] = some.training.steps
        return measure(net)

    monkeypatch.setattr(type(some.data), "loss", lambda self, *given: slow(*given))
    monkeypatch.setattr(some, "_measure", counted)
    list(some.fit(1, seconds))
    assert len(steps) > 1
    assert len(set(steps.values())) == 1
    assert seconds is None or now[0] <= 202.0


def test_what_it_brought_is_part_of_the_result():
    x, y = levels(200)
    result = learn(x, y, ["sign_flip", "gaussian_noise"], trunk="mlp", budget=40)
    assert isinstance(result.gain, Gain)
    assert str(result.gain) in str(result)
    assert result.gain.scores[0] == pytest.approx(result.gain.plain_score)


def test_the_words_say_whether_anything_helped():
    gain = Gain(2, 0.95, 0.93, 0.02, (0.005, 0.035), 0.004, (0.93, 0.94, 0.95), (0, 1, 2))
    assert str(gain) == (
        "the net draws 2 per sample: 0.950 held-out, without augmentation 0.930 "
        "(difference +0.005 to +0.035); averaging +0.004"
    )
    none = Gain(0, 0.93, 0.93, 0.0, (0.0, 0.0), 0.0, (0.93, 0.9), (0, 1))
    assert str(none) == "the net has no augmentation: none made it better (0.930 held-out)"


def test_what_the_net_leaves_out_is_named():
    some = final(helped(sign_flip=0.1, gaussian_noise=-0.1))
    rows = (*helped(sign_flip=0.1, gaussian_noise=-0.1), *kept("amplitude_scale"))
    some.choice = some.draws = 1
    result = InvarianceResult(rows, some._begin().net, [])
    assert [row.transform.name for row in result.left_out] == ["gaussian_noise"]
    assert str(result).endswith(
        "not in the net, because they made predictions worse: gaussian_noise"
    )
    plain = InvarianceResult(rows, AugNet(identity, some.trunk), [])
    assert plain.left_out == []
