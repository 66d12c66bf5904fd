"""learn measures which transforms preserve the label, and refuses what it cannot use."""

import inspect
import math
import sys
from dataclasses import fields

import numpy as np
import pytest
import torch
from augnet.learn.borders import is_border
from augnet.learn.curve import ResponseCurve, fit_ramp
from augnet.learn.measure import Evaluator, Samples
from augnet.learn.ranges import RangeSearch
from torch import Generator, nn

from augnet import AugNet, learn
from augnet.learn import OPTIONS, LearnConfig, Learner, inputs
from augnet.learn.compose import Composition
from augnet.learn.config import parse_budget
from augnet.learn.result import Invariance
from augnet.learn.strengths import apply_at_strength, stratified_strengths
from augnet.transforms import (
    TRANSFORMS,
    AmplitudeScale,
    HorizontalFlip,
    Rotate,
    SignFlip,
    build_transforms,
)
from augnet.trunks.small import default_trunk


def generator(seed=0):
    return Generator().manual_seed(seed)


def steps(size=160, seed=0):
    """Two levels, 1 and 4 give or take 5 %: a factor of 2 either way, less the spread, is safe."""
    draws = generator(seed)
    y = torch.randperm(size, generator=draws) % 2
    level = 4.0**y * 1.05 ** (2 * torch.rand(size, generator=draws) - 1)
    return level[:, None] * (1 + 0.02 * torch.randn(size, 4, generator=draws)), y


TRANSFORM_SPECS = ({"name": "amplitude_scale", "limit": 8.0}, "sign_flip")


@pytest.fixture(scope="module")
def result():
    return learn(*steps(), TRANSFORM_SPECS, seed=0)


# Results


def test_a_bounded_range_is_measured(result):
    row = result["amplitude_scale"]
    assert row.status == "bounded"
    assert abs(math.log(row.strength) / math.log(2 / 1.05) - 1) < 0.2
    assert row.interval[0] < row.strength < row.interval[1]
    assert row.unit == "times"


def test_a_bernoulli_transform_that_preserves_the_label_is_kept(result):
    row = result["sign_flip"]
    assert (row.status, row.strength) == ("reached_limit", 0.5)


def test_rows_come_in_the_order_given_and_print(result):
    assert [row.transform.name for row in result.invariances] == ["amplitude_scale", "sign_flip"]
    first, second = str(result).splitlines()
    assert first.startswith("amplitude_scale: bounded, up or down 1.")
    assert second == "sign_flip: reached limit, with probability 0.50"
    assert result["sign-flip"] is result["sign_flip"]


def test_an_unknown_transform_is_named(result):
    with pytest.raises(KeyError, match="transforms are amplitude_scale, sign_flip"):
        result["rotate"]


def test_the_net_is_trained_and_in_eval(result):
    x, y = steps(seed=1)
    assert isinstance(result.net, AugNet)
    assert not result.net.training
    assert (result.net(x, generator()).argmax(1) == y).float().mean() > 0.95


def test_the_history_has_one_row_per_epoch(result):
    assert [row["epoch"] for row in result.history] == list(range(1, len(result.history) + 1))
    assert {row["phase"] for row in result.history} == {"ranges", "net"}
    first, last = result.history[0], result.history[-1]
    assert set(first) == {"phase", "epoch", "loss", "done", "transforms"}
    assert [each["name"] for each in first["transforms"]] == ["amplitude_scale", "sign_flip"]
    assert set(first["transforms"][0]) == {"name", "strength"}
    assert set(last["transforms"][0]) == {"name", "factor"}


def test_a_bernoulli_transform_that_decides_the_class_is_not_invariant():
    draws = generator()
    y = torch.arange(80) % 2
    x = (2.0 * y[:, None] - 1) + 0.2 * torch.randn(80, 3, generator=draws)
    result = learn(x, y, "sign_flip", budget=60)
    assert result["sign_flip"].status == "not_invariant"
    assert result["sign_flip"].strength == 0


def test_values_are_learned_too():
    draws = generator()
    y = torch.rand(200, generator=draws)
    x = torch.stack((y, -y, torch.rand(200, generator=draws)), 1) + 2
    transforms = [
        {"name": "amplitude_scale", "limit": 2.0},
        {"name": "gaussian_noise", "limit": 0.01},
    ]
    result = learn(x, y, transforms, budget=150)
    assert result["gaussian_noise"].status == "reached_limit"
    assert result["amplitude_scale"].strength < 1.2
    assert result.net(x).shape == y.shape
    assert (result.net(x) - y).square().mean() < 0.1 * y.var()


def test_layers_report_what_they_selected():
    result = learn(
        *steps(), layers=[[*TRANSFORM_SPECS], [TRANSFORM_SPECS[0], "sign_flip"]], budget=150
    )
    assert len(result.invariances) == 2
    assert all(row.status != "not_invariant" for row in result.invariances)
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
    y = torch.arange(80) % 2
    x = (2.0 * y[:, None] - 1) + 0.2 * torch.randn(80, 3, generator=generator())
    noise = {"name": "gaussian_noise", "limit": 0.2}
    (row,) = learn(x, y, layers=[["sign_flip", noise]], budget=100).invariances
    assert (row.transform.name, row.status) == ("gaussian_noise", "reached_limit")


# Repeatable, silent, without side effects


def test_one_seed_one_result_and_the_global_state_does_not_change():
    state = torch.get_rng_state()
    first, second = (learn(*steps(), TRANSFORM_SPECS, seed=3, budget=4) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert first.history == second.history
    assert first.invariances == second.invariances
    x, _ = steps()
    assert torch.equal(first.net(x, generator()), second.net(x, generator()))
    assert learn(*steps(), TRANSFORM_SPECS, seed=4, budget=4).history != first.history


def test_progress_is_reported_on_request(capsys):
    learn(*steps(), TRANSFORM_SPECS, budget=2)
    assert capsys.readouterr() == ("", "")
    learn(*steps(), TRANSFORM_SPECS, budget=2, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert " ranges epoch 1: loss" in lines[0]
    assert lines[-1].startswith("100% net epoch")
    reported = []
    result = learn(*steps(), TRANSFORM_SPECS, budget=2, progress=reported.append)
    assert reported == result.history


def test_budgets_are_read_as_on_the_command_line():
    read = {None: None, "12": 12, 12: 12, np.int64(7): 7, "90s": 90.0, "1.5m": 90.0, "2h": 7200.0,
            30.0: 30.0}  # fmt: skip
    for given, meant in read.items():
        assert parse_budget(given) == meant
        assert type(parse_budget(given)) is type(meant)
    for bad in ("0", "0s", "ten", "5 days", "²", 0, -1.0, float("nan"), True, [3]):
        with pytest.raises(ValueError, match="budget takes"):
            parse_budget(bad)
    assert Learner(*steps(), TRANSFORM_SPECS, budget="10m").config.seconds == 600


def test_seconds_are_a_budget():
    result = learn(
        *steps(), TRANSFORM_SPECS, budget="0.1s"
    )  # the default takes more than 900 epochs here
    assert len(result.history) < 200


def test_arrays_are_accepted():
    x, y = steps()
    result = learn(x.double().numpy(), y.numpy().astype(np.int32), TRANSFORM_SPECS, budget=2)
    assert result.net(x.double()).dtype == torch.float64


def test_a_trunk_is_a_name_or_a_module_or_builds_one():
    x, y = steps()
    mine = nn.Linear(4, 2)
    before = mine.weight.clone()
    result = learn(x, y, TRANSFORM_SPECS, trunk=mine, budget=2)
    assert torch.equal(mine.weight, before)
    assert isinstance(result.net.trunk, nn.Linear)
    learn(x, y, TRANSFORM_SPECS, trunk="mlp", budget=2)
    learn(x, y, TRANSFORM_SPECS, trunk=lambda: nn.Linear(4, 2), budget=2)
    learn(x, y, TRANSFORM_SPECS, trunk=lambda shape, outputs: nn.Linear(*shape, outputs), budget=2)


def test_auto_takes_all_transforms_that_fit():
    names = {
        transform.name for transform in inputs.prepare_transforms("auto", torch.rand(4, 3, 16, 16))
    }
    assert {"rotate", "hue", "horizontal_flip", "gaussian_noise", "sign_flip"} <= names
    assert not names & {"frequency_shift", "time_reverse", "time_mask"}
    names = {
        transform.name
        for transform in inputs.prepare_transforms("auto", torch.rand(4, 2, 300), sfreq=100)
    }
    assert {"frequency_shift", "time_reverse", "time_shift", "speed", "time_mask"} <= names
    assert "rotate" not in names


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
        (torch.rand(32, 4), torch.arange(32) % 2, {"seed": 0.5}, "seed takes a whole number"),
    ],
)
def test_refusals_name_what_came_and_what_helps(x, y, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learn(x, y, **{"transforms": "sign_flip"} | options)


# The parts


def test_a_ramp_is_fitted():
    places = torch.linspace(0, 1, 40)[None]
    values = 0.1 + 0.6 * ((places - 0.33) / 0.2).clamp(0, 1)
    ramp = fit_ramp(places, values, torch.ones_like(places), 1.0)
    torch.testing.assert_close(ramp.onset, torch.tensor([0.33]), atol=0.01, rtol=0)
    torch.testing.assert_close(ramp.height, torch.tensor([0.6]), atol=0.03, rtol=0)
    torch.testing.assert_close(ramp.reaches(0.3), torch.tensor([0.43]), atol=0.01, rtol=0)
    assert ramp.reaches(0.7) == 1


def response(border, spread=0.1, size=200, signed=True):
    """Two classes at ±0.4, give or take `spread`, separated by a border."""
    draws = generator()
    labels = torch.arange(size) % 2
    place = 0.8 * labels - 0.4 + spread * (2 * torch.rand(size, generator=draws) - 1)
    fractions = stratified_strengths(place, size, 40, draws)
    signs = torch.where(torch.rand(fractions.shape, generator=draws) < 0.5, -1.0, 1.0)
    moved = place[:, None] + fractions * signs - border
    scores = torch.stack((-moved, moved), -1)
    before = torch.stack((border - place, place - border), -1)
    errors = (scores.argmax(-1) != labels[:, None]).float()
    return ResponseCurve(
        fractions, signs, errors, errors[:, 0] * 0, 1.0, signed, labels, scores, before
    )


@pytest.mark.parametrize("border", [-0.1, 0.0, 0.1])
def test_borders_off_the_middle_do_not_matter(border):
    curve = response(border)
    everyone = torch.ones(1, 200)
    (onset,) = curve.borders(everyone)
    assert abs(onset.item() / 0.3 - 1) < 0.07
    assert abs(curve.fit(everyone).onset.item() - (0.3 - abs(border))) < 0.06


@pytest.mark.parametrize("name", ["horizontal_flip", "rotate", "posterize", "gaussian_noise"])
def test_strength_zero_changes_nothing(name):
    x = torch.rand(6, 3, 8, 8)
    (transform,) = build_transforms([name])
    assert torch.equal(apply_at_strength(transform, x, torch.zeros(6), generator()), x)


def test_strengths_are_exact():
    x = torch.rand(2, 3, 8, 8)
    right, left = torch.tensor([1.0, -1.0])
    assert torch.equal(
        apply_at_strength(HorizontalFlip(), x, torch.tensor([1.0, 0.0]), generator())[0],
        x[0].flip(-1),
    )
    turned = apply_at_strength(
        Rotate(180), x, torch.tensor([0.5, 0.5]), generator(), torch.tensor([right, left])
    )
    torch.testing.assert_close(turned[0], x[0].rot90(1, (1, 2)), atol=1e-4, rtol=0)
    torch.testing.assert_close(turned[1], x[1].rot90(-1, (1, 2)), atol=1e-4, rtol=0)
    louder = apply_at_strength(
        AmplitudeScale(4.0), x, torch.full((2,), 0.5), generator(), torch.ones(2)
    )
    torch.testing.assert_close(louder, 2 * x)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_has_strengths(name):
    shared = {"sfreq": 100, "channels": ["C3", "C4", "Fz", "Pz"]}
    (transform,) = build_transforms([name], **shared)
    x = torch.rand(4, 3, 16, 16) if transform.domain.fits((4, 3, 16, 16)) else torch.rand(4, 4, 256)
    assert apply_at_strength(transform, x, torch.rand(4), generator()).shape == x.shape


@pytest.mark.parametrize(
    "shape", [(1, 28, 28), (3, 8, 9), (2, 400), (1, 32), (5,), (2, 3), (1, 4, 4)]
)
def test_the_default_trunk_takes_any_shape(shape):
    assert default_trunk(shape, 3)(torch.rand(2, *shape)).shape == (2, 3)


def test_invariances_print():
    row = Invariance(Rotate(180), "bounded", 44.72, (42.9, 46.34))
    assert str(row) == "rotate: bounded, ±44.7 degrees (42.9 to 46.3)"
    assert (
        str(Invariance(SignFlip(), "not_invariant", 0.0, (0.0, 0.0))) == "sign_flip: not invariant"
    )


def test_memorized_samples_are_not_measured():
    data = inputs.prepare_data(*steps(), generator())
    evaluator = Evaluator(data, nn.Linear(4, 2), generator())
    weights, half = torch.ones(3, 160), torch.arange(160) < 80
    alike = torch.rand(160, generator=generator())
    assert torch.equal(evaluator._discount_memorized(alike, weights), weights)
    memorized = evaluator._discount_memorized(torch.where(half, alike, 0.1 * alike), weights)
    assert torch.equal(memorized[:, half], weights[:, half])
    assert memorized[:, ~half].max() < 1e-3


def test_the_first_of_either_half_are_of_all_classes():
    data = inputs.prepare_data(torch.rand(400, 3), torch.arange(400) % 4, generator())
    for half in (data.fitted, data.held_out):
        assert data.y[half].bincount().tolist() == [50] * 4
        assert len(data.y[half[:50]].unique()) == 4
    assert not set(data.fitted.tolist()) & set(data.held_out.tolist())


class Rule(nn.Module):
    """Predict the second class by a function of the samples."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, x):
        """Predict."""
        second = self.rule(x).float()
        return torch.stack((1 - second, second), 1)


def crossing(x, y, rule, crossings=((1, 0, -1), (0, 1, 1))):
    """Return whether classes cross a border under scaling, for a trunk that follows a rule."""
    transform = AmplitudeScale(8.0)
    evaluator = Evaluator(inputs.prepare_data(x, y, generator()), Rule(rule), generator())
    samples = Samples(x, y, *evaluator.errors(x, y))
    assert samples.errors.sum() == 0
    curve = evaluator.measure(transform, samples, 0.9, 8)
    assert curve.crossings() == list(crossings)
    return is_border(evaluator, transform, 0.2, samples, curve)


def test_classes_that_become_each_other_have_a_border():
    x, y = steps()
    assert crossing(x, y, lambda x: x.mean(1) > 2)


def test_one_class_that_becomes_another_is_enough():
    x, y = steps()
    x[:, 3] = 1  # a trace of the transform, by which the trunk detects what was enlarged

    def rule(x):
        level = x[:, :3].mean(1)
        return (level > 2) & (level > 2 * x[:, 3])

    assert crossing(x, y, rule, [(1, 0, -1)])


def test_what_only_the_trunk_takes_for_another_class_has_no_border():
    y = torch.arange(160) % 2
    x = torch.eye(2)[y] + 0.02 * torch.randn(160, 2, generator=generator())

    def rule(x):  # one axis or the other; confused by what is large or small
        return torch.where(x[:, 1] > x[:, 0], x.norm(dim=1) > 0.5, x.norm(dim=1) > 2)

    assert not crossing(x, y, rule)


@pytest.mark.parametrize("fraction", [0.01, 0.02, 0.03, 0.05])
def test_a_window_too_small_to_show_the_rise_is_widened(fraction):
    y = torch.rand(200, generator=generator())
    x = y[:, None, None, None].expand(-1, 1, 8, 8).clone()

    class Light(nn.Module):
        def forward(self, x):
            return x.mean((1, 2, 3))

    evaluator = Evaluator(inputs.prepare_data(x, y, generator()), Light(), generator())
    brightness = build_transforms([{"name": "brightness", "limit": 0.9}])
    (row,) = evaluator.evaluate(brightness, [fraction])
    assert row.status == "not_invariant"
    assert row.interval[1] < 0.1


def test_less_may_be_added_where_much_is_lost_already():
    x, y = steps()
    x[:, 0] = torch.arange(160).float()
    evaluator = Evaluator(
        inputs.prepare_data(x, y, generator()),
        Rule(lambda x: (x[:, 1] > 2) ^ (x[:, 0] % 4 == 0)),
        generator(),
    )
    full = evaluator.tolerance
    evaluator.evaluate(build_transforms(["sign_flip"]), [1.0])
    assert evaluator.tolerance == pytest.approx(full / 2)  # a quarter wrong, where half is chance


def test_a_bernoulli_transform_that_keeps_adding_errors_is_applied_no_more():
    y = torch.arange(160) % 2
    x = (2.0 * y[:, None, None] - 1) + 0.3 * torch.randn(160, 1, 64, generator=generator())
    data = inputs.prepare_data(x, y, generator())
    torch.manual_seed(0)
    both = build_transforms(["sign_flip", "time_reverse"])
    trunk, config = default_trunk((1, 64), 2), LearnConfig(budget=100)
    search = RangeSearch(data, both, trunk, generator(), config)
    strengths = [row["transforms"][0]["strength"] for row in search.fit()]
    assert strengths[0] == 0
    assert max(strengths) == 0.5
    assert search.ranges == [0.0, 1.0]


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


# Leaving and resuming


@pytest.mark.parametrize("layers", [None, [["amplitude_scale", "sign_flip"]]])
def test_what_is_left_is_resumed_exactly(layers, tmp_path):
    def begin():
        trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
        return Learner(*steps(48), TRANSFORM_SPECS, layers=layers, trunk=trunk, budget=40, seed=3)

    torch.manual_seed(0)
    whole = begin()
    rows = list(whole)
    for left_after in (3, len(rows) - 2):
        torch.manual_seed(0)
        first = begin()
        for row in first:
            if row["epoch"] == left_after:
                break
        torch.save(first.state_dict(), tmp_path / "state.pt")
        torch.manual_seed(0)
        second = begin()
        second.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
        assert len(list(second)) == len(rows) - left_after
        assert second.history == rows
        assert str(second.result) == str(whole.result)
        x = steps(8, seed=1)[0]
        assert second.result.net(x, generator()).equal(whole.result.net(x, generator()))


def test_there_is_no_result_before_the_end():
    learner = Learner(*steps(48), TRANSFORM_SPECS, budget=2)
    with pytest.raises(RuntimeError, match="available after all rows"):
        _ = learner.result


@pytest.mark.parametrize(
    ("flip", "beyond", "expected"),
    [
        (0.0, 1.0, [1.0, 1.0]),
        (0.2, 1.0, [0.0, 1.0]),
        (0.0, 0.4, [1.0, 0.4]),
        (0.2, 0.0, [0.0, 0.0]),
    ],
)
def test_the_net_keeps_only_what_adds_no_error(monkeypatch, flip, beyond, expected):
    """A flip that adds an error, or a range beyond which there is one, is done without."""
    flips, turns = build_transforms(["horizontal_flip", "rotate"])
    rows = [
        Invariance(flips, "reached_limit", flips.limit, (flips.limit, flips.limit)),
        Invariance(turns, "reached_limit", turns.limit, (turns.limit, turns.limit)),
    ]
    data = inputs.prepare_data(torch.rand(200, 1, 8, 8), torch.arange(200) % 2)
    composition = Composition(data, rows, nn.Linear(1, 2), generator(), LearnConfig(), steps=10)
    monkeypatch.setattr(
        composition, "_error", lambda f: 0.1 + flip * (f[0] >= 0.5) + 0.2 * (f[1] > beyond)
    )
    assert composition._largest() == expected
    composition._set(expected)
    assert [layer.magnitudes.item() for layer in composition.net.augment] == pytest.approx(expected)


@pytest.mark.parametrize("layers", [None, [["sign_flip"]]])
def test_the_net_is_trained_for_as_long_as_was_planned(layers):
    x, y = (torch.cat([part] * 8) for part in steps())
    learner = Learner(x, y, "sign_flip", layers=layers, budget=1)
    rows = list(learner)
    assert learner.training.loop.done == learner.training.loop.steps < len(x) // 2 // 64
    assert learner.training.optimizer.param_groups[0]["lr"] < 1e-3  # and not on its way up again
    assert rows[-1]["done"] == 1


def test_the_net_is_trained_on_all_samples_once_its_ranges_are_chosen(monkeypatch):
    learner = Learner(*steps(1280), "sign_flip", budget=1)
    others, trained = learner.data.x[learner.data.held_out], []
    list(learner.search.fit())
    learner.invariances = learner.search.evaluate()
    built = learner.training = learner._build()
    forward = AugNet.forward

    def watched(self, given, generator):
        if self.training:
            trained.append(bool((given[:, None] == others).all(-1).any()))
        return forward(self, given, generator)

    monkeypatch.setattr(AugNet, "forward", watched)
    built.loop.steps = 6
    list(built.fit(1))
    assert trained == [False] * 3 + [True] * 3


def test_every_transform_is_trained_on_though_there_are_more_transforms_than_samples(monkeypatch):
    x, y = torch.rand(16, 3, 8, 8, generator=generator()), torch.arange(16) % 2
    learner = Learner(x, y)
    applied = set()
    module = sys.modules["augnet.learn.ranges"]
    monkeypatch.setattr(
        module, "apply_at_strength", lambda transform, x, *_: applied.add(transform) or x
    )
    assert len(learner.transforms) > 2 * len(learner.data.fitted)
    for learner.search.loop.done in range(8):
        learner.search._loss(learner.data.fitted)
    assert applied == set(learner.transforms)


def test_a_class_of_which_nothing_is_measured_raises_nothing():
    y = (torch.arange(4000) < 4).long()
    x = 2.0 * y[:, None] - 1 + torch.randn(4000, 2, generator=generator())
    learner = Learner(x, y, "sign_flip")
    others = torch.tensor([row for row in learner.data.held_out.tolist() if row >= 4])
    learner.data.held_out.copy_(others[torch.arange(len(y) // 2) % len(others)])
    learner.data.fitted.copy_(learner.data.held_out)
    assert len(learner.search.evaluate()) == 1


def test_a_class_of_which_nothing_is_measured_has_no_border():
    fractions = torch.linspace(0, 0.99, 8).repeat(20, 1)
    labels = torch.zeros(20, dtype=torch.long)
    scores = torch.tensor([0.0, 1.0]).expand(20, 8, 2)  # all are taken for the other class
    curve = ResponseCurve(fractions, torch.ones(20, 8), torch.ones(20, 8), torch.zeros(20), 1.0,
                          False, labels, scores, torch.zeros(20, 2))  # fmt: skip
    assert curve.borders(torch.ones(1, 20)) is None


# Options and constants


def test_the_options_are_in_the_signature_and_in_the_help():
    signature = inspect.signature(learn)
    for each in OPTIONS:
        assert signature.parameters[each.name].default == each.default
        assert f"{each.name}: {each.metadata['help']}" in learn.__doc__
    assert list(inspect.signature(Learner).parameters) == [
        name for name in signature.parameters if name != "progress"
    ]


def test_every_field_of_the_config_has_a_meaning():
    for each in fields(LearnConfig):
        assert each.metadata["help"].endswith("."), each.name


def test_a_config_is_a_set_of_options_that_others_replace():
    config = LearnConfig(transforms="sign_flip", budget=2, seed=3)
    first = learn(*steps(), config=config)
    second = learn(*steps(), "sign_flip", budget=2, seed=3)
    assert first.history == second.history
    other = learn(*steps(), config=config, seed=4)
    assert other.history == learn(*steps(), "sign_flip", budget=2, seed=4).history


def test_constants_are_changed_by_a_config():
    config = LearnConfig(transforms=TRANSFORM_SPECS, budget=2, start=0.5, hold_out=False)
    learner = Learner(*steps(), config=config)
    assert learner.search.ranges == [0.5, 0.0]
    assert learner.data.held_out is learner.data.fitted
    assert list(learner)[-1]["done"] == 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rounds": 0}, "rounds takes a whole number from 1; got 0"),
        ({"growth": -1.0}, "growth takes a positive number; got -1.0"),
        ({"tolerance": "low"}, "tolerance takes a positive number; got 'low'"),
        ({"start": 1.5}, r"start takes a fraction in \(0, 1\]; got 1.5"),
        ({"factors": (0.5, 1.0)}, "factors takes falling numbers from 1.0"),
        ({"budget": "soon"}, "budget takes a whole number of epochs"),
    ],
)
def test_wrong_constants_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        LearnConfig(**wrong)
