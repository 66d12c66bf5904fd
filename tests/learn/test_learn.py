"""learn finds what leaves the label alone, says so, and refuses what it cannot use."""

import math
import sys

import numpy as np
import pytest
import torch
from torch import Generator, nn

from augnet import AugNet, learn
from augnet.learn import Learning, inputs
from augnet.learn.compose import Composition
from augnet.learn.curve import Readings, fit_ramp
from augnet.learn.measure import Meter
from augnet.learn.ranges import Profile
from augnet.learn.result import Invariance
from augnet.learn.strengths import dose, ladders
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
    dice = generator(seed)
    y = torch.randperm(size, generator=dice) % 2
    level = 4.0**y * 1.05 ** (2 * torch.rand(size, generator=dice) - 1)
    return level[:, None] * (1 + 0.02 * torch.randn(size, 4, generator=dice)), y


WORDS = ({"name": "amplitude_scale", "limit": 8.0}, "sign_flip")


@pytest.fixture(scope="module")
def found():
    return learn(*steps(), WORDS, seed=0)


# What is found


def test_a_bounded_range_is_found(found):
    row = found["amplitude_scale"]
    assert row.verdict == "within"
    assert abs(math.log(row.strength) / math.log(2 / 1.05) - 1) < 0.2
    assert row.interval[0] < row.strength < row.interval[1]
    assert row.unit == "times"


def test_a_harmless_coin_is_found(found):
    row = found["sign_flip"]
    assert (row.verdict, row.strength) == ("at least", 0.5)


def test_rows_come_in_the_order_given_and_print(found):
    assert [row.transform.name for row in found.invariances] == ["amplitude_scale", "sign_flip"]
    first, second = str(found).splitlines()
    assert first.startswith("amplitude_scale: within up or down 1.")
    assert second == "sign_flip: at least with probability 0.50"


def test_an_unknown_transform_is_asked_for(found):
    with pytest.raises(KeyError, match="transforms are amplitude_scale, sign_flip"):
        found["rotate"]


def test_the_net_is_trained_and_in_eval(found):
    x, y = steps(seed=1)
    assert isinstance(found.net, AugNet)
    assert not found.net.training
    assert (found.net(x, generator()).argmax(1) == y).float().mean() > 0.95


def test_the_history_has_one_row_per_epoch(found):
    assert [row["epoch"] for row in found.history] == list(range(1, len(found.history) + 1))
    assert {row["phase"] for row in found.history} == {"profile", "net"}
    assert "amplitude_scale" in found.history[0]


def test_a_coin_that_decides_the_class_is_none():
    dice = generator()
    y = torch.arange(80) % 2
    x = (2.0 * y[:, None] - 1) + 0.2 * torch.randn(80, 3, generator=dice)
    found = learn(x, y, "sign_flip", budget=60)
    assert found["sign_flip"].verdict == "none"
    assert found["sign_flip"].strength == 0


def test_values_are_learned_too():
    dice = generator()
    y = torch.rand(200, generator=dice)
    x = torch.stack((y, -y, torch.rand(200, generator=dice)), 1) + 2
    transforms = [
        {"name": "amplitude_scale", "limit": 2.0},
        {"name": "gaussian_noise", "limit": 0.01},
    ]
    found = learn(x, y, transforms, budget=150)
    assert found["gaussian_noise"].verdict == "at least"
    assert found["amplitude_scale"].strength < 1.2
    assert found.net(x).shape == y.shape
    assert (found.net(x) - y).square().mean() < 0.1 * y.var()


def test_layers_say_what_they_selected():
    found = learn(*steps(), layers=[[*WORDS], [WORDS[0], "sign_flip"]], budget=150)
    assert len(found.invariances) == 2
    assert all(row.verdict != "none" for row in found.invariances)
    assert all(0.5 < row.weight <= 1 for row in found.invariances)
    assert "weight" in str(found)
    assert [row["epoch"] for row in found.history] == list(range(1, len(found.history) + 1))
    assert found.history[-1]["phase"] == "layers"


def test_layers_never_select_what_decides_the_class():
    y = torch.arange(80) % 2
    x = (2.0 * y[:, None] - 1) + 0.2 * torch.randn(80, 3, generator=generator())
    noise = {"name": "gaussian_noise", "limit": 0.2}
    (row,) = learn(x, y, layers=[["sign_flip", noise]], budget=100).invariances
    assert (row.transform.name, row.verdict) == ("gaussian_noise", "at least")


# Repeatable, silent, polite


def test_one_seed_one_result_and_the_global_state_is_left_alone():
    state = torch.get_rng_state()
    first, second = (learn(*steps(), WORDS, seed=3, budget=4) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    assert first.history == second.history
    assert first.invariances == second.invariances
    x, _ = steps()
    assert torch.equal(first.net(x, generator()), second.net(x, generator()))
    assert learn(*steps(), WORDS, seed=4, budget=4).history != first.history


def test_progress_is_told_if_asked_for(capsys):
    learn(*steps(), WORDS, budget=2)
    assert capsys.readouterr() == ("", "")
    learn(*steps(), WORDS, budget=2, progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert " profile epoch 1: loss" in lines[0]
    assert lines[-1].startswith("100% net epoch")
    told = []
    found = learn(*steps(), WORDS, budget=2, progress=told.append)
    assert told == found.history


def test_budgets_are_read_as_on_the_command_line():
    read = {None: None, "12": 12, 12: 12, np.int64(7): 7, "90s": 90.0, "1.5m": 90.0, "2h": 7200.0,
            30.0: 30.0}  # fmt: skip
    for given, meant in read.items():
        assert inputs.budget(given) == meant
        assert type(inputs.budget(given)) is type(meant)
    for bad in ("0", "0s", "ten", "5 days", "²", 0, -1.0, float("nan"), True, [3]):
        with pytest.raises(ValueError, match="budget takes"):
            inputs.budget(bad)
    assert Learning(*steps(), WORDS, budget="10m").seconds == 600


def test_seconds_are_a_budget():
    found = learn(*steps(), WORDS, budget="0.1s")  # the default takes more than 900 epochs here
    assert len(found.history) < 200


def test_arrays_are_welcome():
    x, y = steps()
    found = learn(x.double().numpy(), y.numpy().astype(np.int32), WORDS, budget=2)
    assert found.net(x.double()).dtype == torch.float64


def test_a_trunk_is_a_module_or_makes_one():
    x, y = steps()
    mine = nn.Linear(4, 2)
    before = mine.weight.clone()
    found = learn(x, y, WORDS, trunk=mine, budget=2)
    assert torch.equal(mine.weight, before)
    assert isinstance(found.net.trunk, nn.Linear)
    learn(x, y, WORDS, trunk=lambda: nn.Linear(4, 2), budget=2)
    learn(x, y, WORDS, trunk=lambda shape, outputs: nn.Linear(*shape, outputs), budget=2)


def test_auto_takes_all_transforms_that_fit():
    names = {transform.name for transform in inputs.candidates("auto", torch.rand(4, 3, 16, 16))}
    assert {"rotate", "hue", "horizontal_flip", "gaussian_noise", "sign_flip"} <= names
    assert not names & {"frequency_shift", "time_reverse", "time_mask"}
    names = {
        transform.name for transform in inputs.candidates("auto", torch.rand(4, 2, 300), sfreq=100)
    }
    assert {"frequency_shift", "time_reverse", "time_mask"} <= names
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
        (torch.rand(32, 4), torch.arange(32) % 2, {"trunk": 3}, "a function that makes one"),
        (torch.rand(32, 4), torch.arange(32) % 2, {"layers": []}, "at least one layer"),
    ],
)
def test_refusals_say_what_came_and_what_helps(x, y, options, message):
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


def readings(border, spread=0.1, size=200, signed=True):
    """Two classes at ±0.4, give or take `spread`, told apart by a border."""
    dice = generator()
    labels = torch.arange(size) % 2
    place = 0.8 * labels - 0.4 + spread * (2 * torch.rand(size, generator=dice) - 1)
    parts = ladders(place, size, 40, dice)
    signs = torch.where(torch.rand(parts.shape, generator=dice) < 0.5, -1.0, 1.0)
    moved = place[:, None] + parts * signs - border
    scores = torch.stack((-moved, moved), -1)
    before = torch.stack((border - place, place - border), -1)
    errors = (scores.argmax(-1) != labels[:, None]).float()
    return Readings(parts, signs, errors, errors[:, 0] * 0, 1.0, signed, labels, scores, before)


@pytest.mark.parametrize("border", [-0.1, 0.0, 0.1])
def test_borders_off_the_middle_do_not_matter(border):
    some = readings(border)
    everyone = torch.ones(1, 200)
    (onset,) = some.borders(everyone)
    assert abs(onset.item() / 0.3 - 1) < 0.07
    assert abs(some.pooled(everyone).onset.item() - (0.3 - abs(border))) < 0.06


@pytest.mark.parametrize("name", ["horizontal_flip", "rotate", "posterize", "gaussian_noise"])
def test_no_dose_changes_nothing(name):
    x = torch.rand(6, 3, 8, 8)
    (transform,) = build_transforms([name])
    assert torch.equal(dose(transform, x, torch.zeros(6), generator()), x)


def test_doses_are_exact():
    x = torch.rand(2, 3, 8, 8)
    right, left = torch.tensor([1.0, -1.0])
    assert torch.equal(
        dose(HorizontalFlip(), x, torch.tensor([1.0, 0.0]), generator())[0], x[0].flip(-1)
    )
    turned = dose(
        Rotate(180), x, torch.tensor([0.5, 0.5]), generator(), torch.tensor([right, left])
    )
    torch.testing.assert_close(turned[0], x[0].rot90(1, (1, 2)), atol=1e-4, rtol=0)
    torch.testing.assert_close(turned[1], x[1].rot90(-1, (1, 2)), atol=1e-4, rtol=0)
    louder = dose(AmplitudeScale(4.0), x, torch.full((2,), 0.5), generator(), torch.ones(2))
    torch.testing.assert_close(louder, 2 * x)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_every_transform_takes_doses(name):
    shared = {"sfreq": 100, "channels": ["C3", "C4", "Fz", "Pz"]}
    (transform,) = build_transforms([name], **shared)
    x = torch.rand(4, 3, 16, 16) if transform.domain.fits((4, 3, 16, 16)) else torch.rand(4, 4, 256)
    assert dose(transform, x, torch.rand(4), generator()).shape == x.shape


@pytest.mark.parametrize(
    "shape", [(1, 28, 28), (3, 8, 9), (2, 400), (1, 32), (5,), (2, 3), (1, 4, 4)]
)
def test_the_default_trunk_takes_any_shape(shape):
    assert default_trunk(shape, 3)(torch.rand(2, *shape)).shape == (2, 3)


def test_invariances_speak():
    row = Invariance(Rotate(180), "within", 44.72, (42.9, 46.34))
    assert str(row) == "rotate: within ±44.7 degrees (42.9 to 46.3)"
    assert str(Invariance(SignFlip(), "none", 0.0, (0.0, 0.0))) == "sign_flip: none"


def test_what_is_known_by_heart_is_not_measured():
    data = inputs.data(*steps(), generator())
    meter = Meter(data, nn.Linear(4, 2), generator())
    weights, half = torch.ones(3, 160), torch.arange(160) < 80
    alike = torch.rand(160, generator=generator())
    assert torch.equal(meter._counted(alike, weights), weights)
    by_heart = meter._counted(torch.where(half, alike, 0.1 * alike), weights)
    assert torch.equal(by_heart[:, half], weights[:, half])
    assert by_heart[:, ~half].max() < 1e-3


def test_the_first_of_either_half_are_of_all_classes():
    data = inputs.data(torch.rand(400, 3), torch.arange(400) % 4, generator())
    for half in (data.fitted, data.held_out):
        assert data.y[half].bincount().tolist() == [50] * 4
        assert len(data.y[half[:50]].unique()) == 4
    assert not set(data.fitted.tolist()) & set(data.held_out.tolist())


class Told(nn.Module):
    """Tell the second class by a function of the samples."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, x):
        """Predict."""
        second = self.rule(x).float()
        return torch.stack((1 - second, second), 1)


def crossing(x, y, rule, crossings=((1, 0, -1), (0, 1, 1))):
    """Ask whether classes meet under scaling, for a trunk that follows a rule."""
    transform = AmplitudeScale(8.0)
    meter = Meter(inputs.data(x, y, generator()), Told(rule), generator())
    before = meter.errors(x, y)
    assert before[0].sum() == 0
    readings = meter.read(transform, x, y, before, 0.9, 8)
    assert readings.crossings() == list(crossings)
    return meter.meet(transform, 0.2, x, y, readings)


def test_classes_that_become_each_other_meet():
    x, y = steps()
    assert crossing(x, y, lambda x: x.mean(1) > 2)


def test_one_class_that_becomes_another_is_enough():
    x, y = steps()
    x[:, 3] = 1  # a trace of the dose, by which the trunk knows what was enlarged

    def rule(x):
        level = x[:, :3].mean(1)
        return (level > 2) & (level > 2 * x[:, 3])

    assert crossing(x, y, rule, [(1, 0, -1)])


def test_what_only_the_trunk_takes_for_another_class_does_not_meet():
    y = torch.arange(160) % 2
    x = torch.eye(2)[y] + 0.02 * torch.randn(160, 2, generator=generator())

    def rule(x):  # one axis or the other; confused by what is large or small
        return torch.where(x[:, 1] > x[:, 0], x.norm(dim=1) > 0.5, x.norm(dim=1) > 2)

    assert not crossing(x, y, rule)


@pytest.mark.parametrize("reach", [0.01, 0.02, 0.03, 0.05])
def test_a_window_too_small_to_tell_is_widened(reach):
    y = torch.rand(200, generator=generator())
    x = y[:, None, None, None].expand(-1, 1, 8, 8).clone()

    class Light(nn.Module):
        def forward(self, x):
            return x.mean((1, 2, 3))

    meter = Meter(inputs.data(x, y, generator()), Light(), generator())
    (row,) = meter.verdicts(build_transforms([{"name": "brightness", "limit": 0.9}]), [reach])
    assert row.verdict == "none"
    assert row.interval[1] < 0.1


def test_less_may_be_added_where_much_is_lost_already():
    x, y = steps()
    x[:, 0] = torch.arange(160).float()
    meter = Meter(
        inputs.data(x, y, generator()),
        Told(lambda x: (x[:, 1] > 2) ^ (x[:, 0] % 4 == 0)),
        generator(),
    )
    full = meter.tolerance
    meter.verdicts(build_transforms(["sign_flip"]), [1.0])
    assert meter.tolerance == pytest.approx(full / 2)  # a quarter wrong, where half is chance


def test_a_coin_that_goes_on_doing_harm_is_tossed_no_more():
    y = torch.arange(160) % 2
    x = (2.0 * y[:, None, None] - 1) + 0.3 * torch.randn(160, 1, 64, generator=generator())
    data = inputs.data(x, y, generator())
    torch.manual_seed(0)
    coins = build_transforms(["sign_flip", "time_reverse"])
    profile = Profile(data, coins, default_trunk((1, 64), 2), generator())
    rows = list(profile.fit(100))
    assert rows[0]["sign_flip"] == 0
    assert max(row["sign_flip"] for row in rows) == 0.5
    assert profile.reach == [0.0, 1.0]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_paper_s_own_tasks(seed):
    from augnet.paper.datasets import mario, sinusoids

    found = learn(*sinusoids.load(seed).train, [
        {"name": "frequency_shift", "limit": 2.0}, "ft_surrogate",
        {"name": "gaussian_noise", "limit": 0.5}], seed=seed, sfreq=100)  # fmt: skip
    assert [row.verdict for row in found.invariances] == ["within", "at least", "at least"]
    assert abs(found["frequency_shift"].strength / 0.5 - 1) < 0.15
    data = mario.load(seed, sizes=(2000, 4, 4)).train
    found = learn(*data, [{"name": "rotate", "limit": 180}, "translate_x", "shear_y"], seed=seed)
    assert [row.verdict for row in found.invariances] == ["within", "at least", "at least"]
    assert abs(found["rotate"].strength / 45 - 1) < 0.15


# Leaving and going on


@pytest.mark.parametrize("layers", [None, [["amplitude_scale", "sign_flip"]]])
def test_what_is_left_is_taken_up_again_exactly(layers, tmp_path):
    def begin():
        trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 2))
        return Learning(*steps(48), WORDS, layers=layers, trunk=trunk, budget=40, seed=3)

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
        assert str(second.found) == str(whole.found)
        x = steps(8, seed=1)[0]
        assert second.found.net(x, generator()).equal(whole.found.net(x, generator()))


def test_nothing_is_found_before_the_end():
    learning = Learning(*steps(48), WORDS, budget=2)
    with pytest.raises(RuntimeError, match="before all rows are there"):
        _ = learning.found


@pytest.mark.parametrize(
    ("flip", "beyond", "expected"),
    [
        (0.0, 1.0, [1.0, 1.0]),
        (0.2, 1.0, [0.0, 1.0]),
        (0.0, 0.4, [1.0, 0.4]),
        (0.2, 0.0, [0.0, 0.0]),
    ],
)
def test_the_net_keeps_only_what_costs_it_nothing(monkeypatch, flip, beyond, expected):
    """A flip that adds an error, or a range beyond which there is one, is done without."""
    flips, turns = build_transforms(["horizontal_flip", "rotate"])
    rows = [
        Invariance(flips, "at least", flips.limit, (flips.limit, flips.limit)),
        Invariance(turns, "at least", turns.limit, (turns.limit, turns.limit)),
    ]
    data = inputs.data(torch.rand(200, 1, 8, 8), torch.arange(200) % 2)
    composition = Composition(data, rows, nn.Linear(1, 2), generator())
    monkeypatch.setattr(
        composition, "_error", lambda f: 0.1 + flip * (f[0] >= 0.5) + 0.2 * (f[1] > beyond)
    )
    assert composition._largest() == expected
    composition._set(expected)
    assert [layer.magnitudes.item() for layer in composition.net.augment] == pytest.approx(expected)


@pytest.mark.parametrize("layers", [None, [["sign_flip"]]])
def test_the_net_is_trained_for_as_long_as_was_planned(layers):
    x, y = (torch.cat([part] * 8) for part in steps())
    learning = Learning(x, y, "sign_flip", layers=layers, budget=1)
    rows = list(learning)
    assert learning.built.done == learning.built.steps < len(x) // 2 // 64
    assert learning.built.optimizer.param_groups[0]["lr"] < 1e-3  # and not on its way up again
    assert rows[-1]["done"] == 1


def test_the_net_is_trained_on_all_samples_once_its_ranges_are_chosen(monkeypatch):
    learning = Learning(*steps(1280), "sign_flip", budget=1)
    others, trained = learning.data.x[learning.data.held_out], []
    list(learning.profile.fit(1))
    learning.answers = learning.profile.verdicts()
    built = learning.built = learning._build()
    forward = AugNet.forward

    def watched(self, given, dice):
        if self.training:
            trained.append(bool((given[:, None] == others).all(-1).any()))
        return forward(self, given, dice)

    monkeypatch.setattr(AugNet, "forward", watched)
    list(built.fit(6, 1))
    assert trained == [False] * 3 + [True] * 3


def test_every_transform_is_trained_on_though_there_are_more_transforms_than_samples(monkeypatch):
    x, y = torch.rand(16, 3, 8, 8, generator=generator()), torch.arange(16) % 2
    learning = Learning(x, y)
    dosed = set()
    module = sys.modules["augnet.learn.ranges"]
    monkeypatch.setattr(module, "dose", lambda transform, x, *_: dosed.add(transform) or x)
    assert len(learning.transforms) > 2 * len(learning.data.fitted)
    for learning.profile.done in range(8):
        learning.profile._loss(learning.data.fitted)
    assert dosed == set(learning.transforms)


def test_a_class_of_which_nothing_is_measured_is_no_crash():
    y = (torch.arange(4000) < 4).long()
    x = 2.0 * y[:, None] - 1 + torch.randn(4000, 2, generator=generator())
    learning = Learning(x, y, "sign_flip")
    others = torch.tensor([row for row in learning.data.held_out.tolist() if row >= 4])
    learning.data.held_out.copy_(others[torch.arange(len(y) // 2) % len(others)])
    learning.data.fitted.copy_(learning.data.held_out)
    assert len(learning.profile.verdicts()) == 1


def test_a_class_of_which_nothing_is_measured_has_no_border():
    parts = torch.linspace(0, 0.99, 8).repeat(20, 1)
    labels = torch.zeros(20, dtype=torch.long)
    scores = torch.tensor([0.0, 1.0]).expand(20, 8, 2)  # all are taken for the other class
    readings = Readings(parts, torch.ones(20, 8), torch.ones(20, 8), torch.zeros(20), 1.0, False,
                        labels, scores, torch.zeros(20, 2))  # fmt: skip
    assert readings.borders(torch.ones(1, 20)) is None
