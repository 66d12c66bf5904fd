"""learn measures which transforms preserve the label, and refuses what it cannot use."""

import math

import numpy as np
import pytest
import torch
from learn_tasks import SPECS, few, generator, levels, signs
from torch import nn

from augnet import AugNet, learn
from augnet.learn.result import Invariance
from augnet.transforms import Rotate, SignFlip
from augnet.trunks.small import small_trunk


@pytest.fixture(scope="module")
def result():
    return learn(*levels(), SPECS, seed=0)


# Results


def test_a_bounded_range_is_measured(result):
    row = result["amplitude_scale"]
    assert row.status == "bounded"
    assert abs(math.log(row.strength) / math.log(2 / 1.05) - 1) < 0.2
    assert row.interval[0] < row.strength < row.interval[1]
    assert row.unit == "times"
    assert row.cost < 0.1


def test_a_bernoulli_transform_that_preserves_the_label_is_kept(result):
    row = result["sign_flip"]
    assert (row.status, row.strength) == ("reached_limit", 0.5)


def test_rows_come_in_the_order_given_and_print(result):
    assert [row.transform.name for row in result.invariances] == ["amplitude_scale", "sign_flip"]
    first, second, third, last = str(result).splitlines()
    assert first.startswith("amplitude_scale: bounded, up or down 1.")
    assert second == "sign_flip: reached limit, with probability 0.50, error +0.000"
    assert third == "held-out accuracy 1.000, chance 0.500"
    assert last == str(result.gain)
    assert result["sign-flip"] is result["sign_flip"]


def test_a_result_has_scores_steps_and_no_warnings(result):
    assert (result.score, result.chance, result.warnings) == (1.0, 0.5, ())
    assert result.steps > 100


def test_an_unknown_transform_is_named(result):
    with pytest.raises(KeyError, match="transforms are amplitude_scale, sign_flip"):
        result["rotate"]


def test_the_net_is_trained_and_in_eval(result):
    x, y = levels(seed=1)
    assert isinstance(result.net, AugNet)
    assert not result.net.training
    assert (result.net(x, generator()).argmax(1) == y).float().mean() > 0.95


def test_the_history_has_epochs_and_a_row_for_each_transform(result):
    history = result.history
    assert [row["epoch"] for row in history] == list(range(1, len(history) + 1))
    by_phase = {
        phase: [row for row in history if row["phase"] == phase]
        for phase in ("reference", "transforms", "compared", "net")
    }
    assert sum(map(len, by_phase.values())) == len(history)
    keys = {"phase", "epoch", "loss", "done", "transforms"}
    assert all(set(row) - {"draws"} == keys for row in history)
    assert not any(row["transforms"] for row in by_phase["reference"])
    answers = [row["transforms"] for row in by_phase["transforms"]]
    assert answers == [
        [{"name": row.transform.name, "strength": row.strength, "status": row.status}]
        for row in result.invariances
    ]
    assert {row["draws"] for row in by_phase["compared"]} == set(result.gain.compared)
    assert len(result.gain.compared) >= 2
    assert {row["draws"] for row in by_phase["net"]} == {result.gain.draws}


def test_a_bernoulli_transform_that_decides_the_class_is_not_invariant():
    result = learn(*signs(), "sign_flip", budget=60)
    assert result["sign_flip"].status == "not_invariant"
    assert result["sign_flip"].strength == 0


def test_values_are_learned_too():
    draws = generator()
    y = torch.rand(200, generator=draws)
    x = torch.stack((y, *torch.rand(2, 200, generator=draws)), 1) + 2
    transforms = [
        {"name": "amplitude_scale", "limit": 2.0},
        {"name": "gaussian_noise", "limit": 0.01},
    ]
    result = learn(x, y, transforms, budget=150)
    assert result["gaussian_noise"].status == "reached_limit"
    assert result["amplitude_scale"].strength < 1.2
    assert result.net(x).shape == y.shape
    assert (result.net(x) - y).square().mean() < 0.1 * y.var()
    assert result.score > 0.9
    assert result.chance == 0
    assert "variance explained" in str(result)


def test_a_tolerance_of_the_user_is_used():
    strict, loose = (
        learn(*levels(), SPECS[:1], tolerance=each, budget=150) for each in (0.03, 0.3)
    )
    assert strict["amplitude_scale"].strength < loose["amplitude_scale"].strength
    assert strict["amplitude_scale"].cost < loose["amplitude_scale"].cost


def test_layers_report_what_they_selected():
    result = learn(*levels(), layers=[[*SPECS], [SPECS[0], "sign_flip"]], budget=150)
    assert len(result.invariances) == 2
    assert all(row.kept for row in result.invariances)
    assert all(0.5 < row.weight <= 1 for row in result.invariances)
    assert "weight" in str(result)
    assert [row["epoch"] for row in result.history] == list(range(1, len(result.history) + 1))
    assert result.history[-1]["phase"] == "layers"
    states = result.history[-1]["transforms"]
    assert [(state["layer"], state["name"]) for state in states] == [
        (layer, name) for layer in (1, 2) for name in ("amplitude_scale", "sign_flip")
    ]
    assert set(states[0]) == {"layer", "name", "weight", "magnitude", "strength", "unit"}


def test_layers_never_select_what_decides_the_class():
    noise = {"name": "gaussian_noise", "limit": 0.2}
    (row,) = learn(*signs(), layers=[["sign_flip", noise]], budget=100).invariances
    assert (row.transform.name, row.status) == ("gaussian_noise", "reached_limit")


def test_layers_of_what_is_unclear_select_nothing_that_is_kept():
    x = torch.rand(64, 3, generator=generator())
    y = torch.randint(2, (64,), generator=generator(1))
    result = learn(x, y, layers=[["sign_flip", "gaussian_noise"]], budget=3)
    assert [row.status for row in result.invariances] == ["unclear"]


# Repeatable, silent, without side effects


def test_one_seed_one_result_and_the_global_state_does_not_change():
    state = torch.get_rng_state()
    first, second = (learn(*levels(), SPECS, seed=3, budget=40) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert first.history == second.history
    assert first.invariances == second.invariances
    x, _ = levels()
    assert torch.equal(first.net(x, generator()), second.net(x, generator()))
    assert learn(*levels(), SPECS, seed=4, budget=40).history != first.history


def test_progress_is_reported_on_request(capsys):
    learn(*few(), "sign_flip", budget=2)
    assert capsys.readouterr() == ("", "")
    learn(*few(), "sign_flip", budget=2, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert " reference: loss" in lines[0]
    assert lines[-1].startswith("100% net: loss")
    reported = []
    result = learn(*few(), "sign_flip", budget=2, progress=reported.append)
    assert reported == result.history


def test_arrays_are_accepted():
    x, y = levels()
    result = learn(x.double().numpy(), y.numpy().astype(np.int32), SPECS, budget=2)
    assert result.net(x.double()).dtype == torch.float64


def test_a_trunk_is_a_name_or_a_module_or_builds_one():
    x, y = levels()
    mine = nn.Linear(4, 2)
    before = mine.weight.clone()
    result = learn(x, y, SPECS, trunk=mine, budget=2)
    assert torch.equal(mine.weight, before)
    assert isinstance(result.net.trunk, nn.Linear)
    learn(x, y, SPECS, trunk="mlp", budget=2)
    learn(x, y, SPECS, trunk=lambda: nn.Linear(4, 2), budget=2)
    learn(x, y, SPECS, trunk=lambda shape, outputs: nn.Linear(*shape, outputs), budget=2)


def test_more_transforms_than_samples_are_measured():
    x, y = torch.rand(16, 3, 8, 8, generator=generator()), torch.arange(16) % 2
    x[:, 0] += y[:, None, None]
    result = learn(x, y, budget=3)
    assert len(result.invariances) > len(x)


def test_a_rare_class_raises_nothing():
    y = (torch.arange(1000) < 4).long()
    x = 2.0 * y[:, None] - 1 + torch.randn(1000, 2, generator=generator())
    assert len(learn(x, y, "sign_flip", budget=2).invariances) == 1


# Refusals


@pytest.mark.parametrize(
    ("x", "y", "options", "message"),
    [
        (torch.rand(32), torch.arange(32) % 2, {}, r"x as \(N, ...\)"),
        (torch.ones(32, 4).long(), torch.arange(32) % 2, {}, "x.float()"),
        (torch.rand(8, 4), torch.arange(8) % 2, {}, "at least 16 samples; got 8"),
        (torch.full((32, 4), torch.nan), torch.arange(32) % 2, {}, "NaN"),
        (torch.rand(32, 4), torch.arange(31) % 2, {}, "32 samples and y of shape"),
        (torch.rand(32, 4), torch.zeros(32).long(), {}, "at least 2 classes"),
        (torch.rand(32, 4), torch.arange(32) % 2 - 1, {}, "classes from 0; got -1"),
        (torch.rand(32, 4), 1000 * (torch.arange(32) % 2), {}, "return_inverse"),
        (torch.rand(32, 4), (torch.arange(32) > 30).long(), {}, "too few of"),
        (torch.rand(32, 4), torch.eye(2)[torch.arange(32) % 2].long(), {}, "argmax"),
        (torch.rand(32, 4), torch.full((32,), torch.nan), {}, "finite y"),
        (torch.rand(32, 4), torch.ones(32), {}, "targets that vary"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"transforms": "rotate"}, "rotate takes images"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"transforms": []}, "at least one transform"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"transforms": "sing-flip"}, "did you mean"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"budget": 0}, "budget takes"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"budget": "soon"}, "such as '90s'"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"trunk": nn.Linear(4, 3)}, "2 numbers per"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"trunk": 3}, "a function that builds one"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"layers": []}, "at least one layer"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"trunk": "smal"}, "did you mean 'small'"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"trunk": "resnet18"}, "takes images"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"bugdet": 3}, "did you mean 'budget'"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"sfrq": 3}, "did you mean 'sfreq'"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"growth": 2.0}, "config=LearnConfig.growth="),
        (torch.rand(32, 4), torch.arange(32) % 2, {"seeds": 0}, "seeds takes a whole number"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"jobs": 0}, "jobs takes a whole number"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"tolerance": 0}, "tolerance takes a positive"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"seed": 0.5}, "seed takes a whole number"),
    ],
)
def test_refusals_name_what_came_and_what_helps(x, y, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learn(x, y, **{"transforms": "sign_flip"} | options)


# Parts that are seen


@pytest.mark.parametrize(
    "shape", [(1, 28, 28), (3, 8, 9), (2, 400), (1, 32), (5,), (2, 3), (1, 4, 4)]
)
def test_the_default_trunk_takes_any_shape(shape):
    assert small_trunk(shape, 3)(torch.rand(2, *shape)).shape == (2, 3)


def test_invariances_print():
    row = Invariance(Rotate(180), "bounded", 44.72, (42.9, 46.34))
    assert str(row) == "rotate: bounded, ±44.7 degrees (42.9 to 46.3)"
    assert (
        str(Invariance(SignFlip(), "not_invariant", 0.0, (0.0, 0.0))) == "sign_flip: not invariant"
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_paper_s_own_tasks(seed):
    from augnet.paper.datasets import mario, sinusoids

    result = learn(*sinusoids.load(seed).train, [
        {"name": "frequency_shift", "limit": 2.0}, "ft_surrogate",
        {"name": "gaussian_noise", "limit": 0.5}], seed=seed, sfreq=100)  # fmt: skip
    assert [row.status for row in result.invariances] == [
        "bounded",
        "reached_limit",
        "reached_limit",
    ]
    assert abs(result["frequency_shift"].strength / 0.5 - 1) < 0.15
    data = mario.load(seed, sizes=(2000, 4, 4)).train
    result = learn(*data, [{"name": "rotate", "limit": 180}, "translate_x", "shear_y"], seed=seed)
    assert [row.status for row in result.invariances] == [
        "bounded",
        "reached_limit",
        "reached_limit",
    ]
    assert abs(result["rotate"].strength / 45 - 1) < 0.15
