"""An audit finds where a model gives up earlier than its labels, and where it is blind."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from learn_tasks import Rule, Shift, Value, generator, signs
from torch import nn

from augnet import audit
from augnet.audit import AuditError, Auditor, ModelInput
from augnet.audit.compare import labels_curve
from augnet.audit.load import Loaded
from augnet.audit.pytest_file import _case
from augnet.audit.read import read_collection
from augnet.learn import Invariance
from augnet.learn.parts import CurvePoint, PartRange
from augnet.transforms import GaussianNoise, SignFlip

SHIFT = Shift(2.0)


def levels(size=400, seed=0):
    """Two levels, −1 and 1, give or take 0.1: a shift of up to 0.8 is safe."""
    y = torch.arange(size) % 2
    spread = 0.2 * torch.rand(size, 1, generator=generator(seed)) - 0.1
    return (2.0 * y[:, None] - 1 + spread).expand(-1, 3).contiguous(), y


def allowed(strength, status="bounded", transform=SHIFT, cost=None):
    interval = (0.9 * strength, min(transform.limit, 1.1 * strength))
    return Invariance(transform, status, strength, interval, cost=cost)


def above(threshold):
    return Rule(lambda x: x[:, 0] > threshold)


def finding(model, labels, **given):
    return audit(model, *levels(), learned=[labels], **given).rows[0]


def test_a_model_that_gives_up_before_its_labels_is_fragile():
    row = finding(above(-0.6), allowed(0.8))
    assert row.finding == "fragile"
    assert row.strength == pytest.approx(0.4, abs=0.1)  # −1.0 ± 0.1 passes −0.6 there
    assert row.interval[0] <= row.strength <= row.interval[1] <= 0.72
    assert row.cost == pytest.approx(0.25, abs=0.06)  # half of the classes, in one direction
    assert "labels allow ±0.8, the model holds to" in str(row)


def test_a_model_that_holds_as_far_as_its_labels_matches():
    row = finding(above(0.0), allowed(0.9))
    assert row.finding == "matches"
    assert row.interval[0] <= 0.9 <= row.interval[1]  # 1.0 ± 0.1 passes 0 there


def test_a_model_that_does_not_react_is_blind():
    """Labels change beyond 0.8, and the model only looks at the sign of a difference."""
    x, y = levels()
    x = torch.cat((x, 2.0 * y[:, None] - 1, torch.zeros(len(y), 1)), 1)
    model = Rule(lambda x: x[:, 3] > x[:, 4])
    row = audit(model, x, y, learned=[allowed(0.8)]).rows[0]
    assert row.finding == "blind"
    assert row.strength == 2.0
    assert row.cost == pytest.approx(0.05)  # 0.1 of chance, if the labels have no curve
    assert audit(above(0.0), x, y, learned=[allowed(0.8)]).rows[0].finding == "matches"


def test_what_labels_lose_is_read_from_their_response():
    """Where labels lose little beyond their range, a model need not react much."""
    x, y = levels()
    x = torch.cat((x, 2.0 * y[:, None] - 1, torch.zeros(len(y), 1)), 1)
    ignores = Rule(lambda x: x[:, 3] > x[:, 4])
    costs = {}
    for lost in (0.02, 0.4):
        labels = replace(allowed(0.8), response=((0.0, 0.0), (0.8, 0.01), (2.0, lost)))
        row = audit(ignores, x, y, learned=[labels]).rows[0]
        costs[row.finding] = row.cost
        points = labels_curve(labels)
        assert [point.fraction for point in points] == [-1.0, -0.4, 0.0, 0.4, 1.0]
    assert costs == {"matches": 0.0, "blind": pytest.approx(0.4)}


def test_a_flip_is_allowed_or_not():
    x, y = signs(200)
    flips = {
        "kept": Invariance(SignFlip(), "reached_limit", 0.5, (0.5, 0.5)),
        "changes": Invariance(SignFlip(), "not_invariant", 0.0, (0.0, 0.0), cost=0.9),
    }
    reacts, ignores = Rule(lambda x: x.sum(1) > 0), Rule(lambda x: x[:, 3] > 0)
    marked = torch.cat((x, y[:, None] + 0.5), 1)
    marked[:, 3] = torch.where(y > 0, 1.0, -1.0)

    class Size(nn.Module):
        def forward(self, x):  # the sign of the mark times the sign of x does not change
            agree = (x[:, 3] * x[:, 0] > 0).float()
            noise = (x[:, 1].abs() * 100 % 2 > 1).float()
            return torch.stack((noise, agree), 1)

    of = {
        (model, labels): audit(f, marked, y, learned=[flips[labels]]).rows[0].finding
        for model, f in (("reacts", reacts), ("ignores", ignores), ("blind", Size()))
        for labels in flips
    }
    assert of["reacts", "kept"] == of["ignores", "kept"] == "fragile"
    assert of["reacts", "changes"] == of["ignores", "changes"] == "matches"
    assert (of["blind", "kept"], of["blind", "changes"]) == ("unclear", "blind")
    size = Rule(lambda x: x[:, 0].abs() > 1)
    held = audit(size, 1.5 * x.sign() * (0.5 + y[:, None]), y, learned=[flips["kept"]]).rows[0]
    assert (held.finding, held.reached, held.cost) == ("matches", True, 0)


def test_values_are_audited_in_units_of_their_spread():
    x = torch.randn(300, 3, generator=generator())
    y = x[:, 0] - x[:, 1]  # a shift of all numbers changes nothing
    right, wrong = Value(lambda x: x[:, 0] - x[:, 1]), Value(lambda x: x[:, 0] - 0.8 * x[:, 1])
    labels = Invariance(SHIFT, "reached_limit", 2.0, (1.9, 2.0))
    assert audit(right, x, y, learned=[labels]).rows[0].finding == "matches"
    row = audit(wrong, x, y, learned=[labels]).rows[0]
    assert row.finding == "fragile"
    assert row.worst[0].before != row.worst[0].after


def test_what_is_unclear_says_why():
    labels = Invariance(SHIFT, "unclear", 0.0, (0.0, 0.0), reason="no time was left")
    assert finding(above(0), labels).reason == "labels: no time was left"
    guesses = Rule(lambda x: (1e4 * x[:, 0]) % 2 > 1)
    row = finding(guesses, allowed(0.8))
    assert (row.finding, row.reason) == ("unclear", "the model is not better than chance")
    constant = Rule(lambda x: x[:, 0] > 9)
    assert finding(constant, allowed(0.8)).finding == "unclear"


def test_rows_are_sorted_by_what_they_cost():
    noise = GaussianNoise(0.01)
    learned = [
        Invariance(noise, "reached_limit", 0.01, (0.01, 0.01)),
        allowed(0.8),
        Invariance(Shift(0.5), "reached_limit", 0.5, (0.5, 0.5)),
    ]
    found = audit(above(-0.4), *levels(), learned=learned)
    assert [row.finding for row in found] == ["fragile", "matches", "matches"]
    assert found.found("fragile") == [found["shift"]]


def test_forward_passes_are_few():
    noise = Invariance(GaussianNoise(0.5), "bounded", 0.2, (0.1, 0.3))
    found = audit(above(-0.6), *levels(), learned=[allowed(0.8), noise])
    assert found.planned == (14 + 12) * 400  # two more steps, where the range of labels may end
    assert 2 * 14 * 400 + 12 * 400 < found.predicted <= 3 * found.planned


def test_classes_and_directions_have_their_own_findings():
    parts = (
        PartRange("0", "reached_limit", 2.0, (2.0, 2.0), 200),
        PartRange("1", "bounded", 0.2, (0.15, 0.25), 200),
    )
    labels = Invariance(SHIFT, "bounded", 0.8, (0.7, 0.9), by_class=parts)
    row = finding(above(-0.6), labels, by_class=True)
    first, second = row.by_class
    assert (first.name, first.finding, first.labels) == ("0", "fragile", parts[0])
    assert first.strength == pytest.approx(0.4, abs=0.1)
    assert second.finding == "matches"
    minus, plus = row.by_direction
    assert minus.strength > 1.4  # the second class has 1.6 to go
    assert plus.strength == pytest.approx(0.4, abs=0.1)
    assert (minus.finding, plus.finding) == ("matches", "fragile")


def test_classes_that_were_learned_by_number_have_names():
    x, y = levels(160)
    found = audit(above(0), x, y, [SHIFT], budget=20, by_class=True, classes=["low", "high"])
    row = found["shift"]
    assert [part.name for part in row.by_class] == ["low", "high"]
    assert [part.labels.name for part in row.by_class] == ["low", "high"]


def test_a_class_with_few_samples_is_unclear():
    x, y = levels()
    keep = torch.cat(((y == 0).nonzero()[:, 0], (y == 1).nonzero()[:8, 0]))
    row = audit(above(0), x[keep], y[keep], learned=[allowed(0.8)], by_class=True).rows[0]
    assert [part.finding for part in row.by_class] == ["matches", "unclear"]


def test_the_worst_samples_are_those_that_are_lost():
    row = finding(above(-0.6), allowed(0.8))
    (worst,) = row.worst  # only the first class is lost
    assert (worst.label, worst.before, worst.after) == ("0", "0", "1")
    assert worst.views[0].max() < -0.6 < worst.views[1].min()


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda x: x[:, :1].log(), r"shape \(128, 1\) for 128 samples; expected \(128, 2\)"),
        (lambda x: torch.full((len(x), 2), torch.nan), "NaN or infinite values for 128 of 128"),
        (lambda x: 1 / 0, "fails on a batch of shape .*: ZeroDivisionError"),
        (lambda x: sys.exit(), "fails on a batch of shape .*: SystemExit"),
        (lambda x: object(), "gives object, not a tensor"),
        (lambda x: x[:, :2] * 1j, "gives complex numbers"),
        (lambda x: torch.full((len(x),), 2), "predicts classes from 2 to 2; expected .* 0 to 1"),
        (lambda x: torch.full((len(x),), -1), "predicts classes from -1 to -1"),
        ("sys:exit", "sys:exit fails to build a model: it ends the program"),
        (":x", "model ':x' cannot be imported"),
        (lambda x: x[0], "gives shape"),
        ("model.pt", "is a pickle, which can run anything"),
        ("model.pt2", "does not exist"),
        ("nowhere:model", "cannot be imported"),
        (3, "a model is a function of a batch"),
    ],
)
def test_a_model_that_fails_is_named_in_one_line(model, message):
    with pytest.raises(AuditError, match=message) as caught:
        finding(model, allowed(0.8))
    assert "\n" not in str(caught.value)


def test_models_may_take_arrays_or_give_classes():
    class Estimator:
        def predict_proba(self, x):
            assert isinstance(x, np.ndarray)
            second = (x[:, 0] > -0.6).astype(float)
            return np.stack((1 - second, second), 1)

    for model in (Estimator(), lambda x: (x[:, 0] > -0.6).long(), lambda x: (x[:, 0] > -0.6).int()):
        assert finding(model, allowed(0.8)) == finding(above(-0.6), allowed(0.8))


def test_a_model_that_changes_its_input_does_not_change_the_data():
    def changes(x):
        scores = above(-0.6)(x.clone())
        x += 5
        return scores

    x, y = levels()
    before = x.clone() if isinstance(x, torch.Tensor) else x.copy()
    assert (
        audit(changes, x, y, learned=[allowed(0.8)]).values["transforms"]
        == (audit(above(-0.6), before, y, learned=[allowed(0.8)]).values["transforms"])
    )
    assert (x == before).all()


def test_outputs_of_the_same_name_are_refused():
    from augnet.audit.load import Loaded

    x, y = levels()
    twice = Loaded(lambda x: above(-0.6)(x), "twice", ("up", "down", "up"))
    with pytest.raises(AuditError, match="two outputs of twice have the same name: up, down, up"):
        audit(twice, x, np.array(["down", "up"])[y], learned=[allowed(0.8)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean": (0.5,), "std": (float("inf"),)}, "mean and std are finite"),
        ({"mean": (float("nan"),), "std": (1.0,)}, "mean and std are finite"),
        ({"size": (100_000, 100_000)}, "at most 64000000 together"),
        ({"size": (10**30, 1)}, "at most 64000000 together"),
    ],
)
def test_inputs_that_no_model_takes_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ModelInput(**options)


def test_a_module_keeps_its_mode():
    model = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    model[1].eval()
    finding(model, allowed(0.8))
    assert [each.training for each in model.modules()] == [True, True, False]


def test_names_of_classes_put_outputs_in_order():
    x, y = levels()
    from augnet.audit.load import Loaded

    swapped = Loaded(lambda x: above(-0.6)(x).flip(1), "swapped", ("up", "down"))
    names = np.array(["down", "up"])[y]
    found = audit(swapped, x, names, learned=[allowed(0.8)])
    assert found.score == 1
    assert found.classes == ("down", "up")
    with pytest.raises(AuditError, match="does not know left: its classes are up, down"):
        audit(swapped, x, np.array(["down", "left"])[y], learned=[allowed(0.8)])


def test_the_result_is_json_and_can_be_resumed():
    arguments = (
        (above(-0.6), *levels()),
        {"learned": [allowed(0.8), allowed(0.3)], "by_class": True},
    )
    whole = Auditor(*arguments[0], **arguments[1])
    rows = list(whole)
    assert [row["done"] for row in rows] == [0.5, 1.0]
    first = Auditor(*arguments[0], **arguments[1])
    next(iter(first))
    with pytest.raises(RuntimeError, match="after all rows"):
        _ = first.result
    second = Auditor(*arguments[0], **arguments[1])
    second.load_state_dict(first.state_dict())
    assert len(list(second)) == 1
    values = json.dumps(second.result.values, allow_nan=False)
    assert json.loads(values)["transforms"][0]["finding"] == "fragile"
    expected = whole.result.values
    assert json.loads(values) == json.loads(json.dumps(expected))


def test_labels_are_learned_if_they_are_not_given():
    x, y = levels(160)
    found = audit(above(-0.6), x, y, [SHIFT], budget=60)
    row = found["shift"]
    assert row.labels.status == "bounded"
    assert 0.6 < row.labels.strength < 1.1
    assert row.labels.curve
    assert row.finding == "fragile"


def test_progress_is_a_line_now_and_then_or_a_function(capsys):
    rows = []
    learned = [allowed(0.8), allowed(0.3)]
    audit(above(0), *levels(), learned=learned, progress=rows.append)
    assert [row["done"] for row in rows] == [0.5, 1.0]
    assert not capsys.readouterr().err
    audit(above(0), *levels(), learned=learned, progress=True)
    assert capsys.readouterr().err == " 50% model: shift\n100% model: shift\n"


def test_learned_must_know_the_transforms():
    with pytest.raises(ValueError, match="nothing was learned about sign_flip"):
        finding(above(0), allowed(0.8), transforms="sign_flip")
    with pytest.raises(ValueError, match="learned has no transforms"):
        audit(above(0), *levels(), learned=[])


def test_samples_are_converted_to_what_a_model_takes():
    x = torch.rand(2, 3, 4, 6)
    assert ModelInput("0-255")(x).equal(255 * x)
    assert ModelInput.of("standardised").values == "standardized"
    given = ModelInput("standardized", mean=(0.5, 0.4, 0.3), std=(0.2, 0.2, 0.1))(x)
    assert given[:, 2].allclose((x[:, 2] - 0.3) / 0.1)
    assert ModelInput(order="BGR", layout="channels_last")(x)[..., 0].equal(x[:, 2])
    assert ModelInput(size=(8, 8))(x).shape == (2, 3, 8, 8)
    for wrong, message in (
        ({"values": "0-2"}, "the values of a model's input"),
        ({"mean": (1.0,)}, "both mean and std"),
        ({"values": "0-1", "mean": (1.0,), "std": (1.0,)}, "not for 0-1"),
        ({"std": (0.0,), "mean": (1.0,)}, "above 0"),
        ({"size": (0, 4)}, "height and width"),
    ):
        with pytest.raises(ValueError, match=message):
            ModelInput(**wrong)
    with pytest.raises(ValueError, match="mean has 2 numbers; samples have 3 channels"):
        ModelInput(mean=(0.0, 0.0), std=(1.0, 1.0))(x)
    with pytest.raises(ValueError, match="size is for images"):
        ModelInput(size=(8, 8))(x[:, 0])


def test_labels_that_are_lost_in_one_direction_do_not_make_a_model_blind():
    """What changes is the mean over directions, and so is what labels lose."""
    y = torch.arange(400) % 2
    x = torch.stack((2.0 * y - 1, torch.linspace(-1, 1, 400).roll(1)), 1)
    model = Rule(lambda x: (x[:, 0] > 0) ^ (x[:, 1] > 1.2))  # 0.4 change upwards, 0 downwards
    curve = tuple(
        CurvePoint(2 * place, place, added, (added, added), 0.0)
        for place, added in ((-1.0, 0.0), (-0.4, 0.0), (0.0, 0.0), (0.4, 0.0), (1.0, 0.5))
    )
    row = audit(model, x, y, learned=[replace(allowed(0.8), curve=curve)]).rows[0]
    assert row.finding != "blind"


def test_a_test_file_has_the_error_at_the_allowed_strength_also_of_blind_models():
    x, y = levels()
    x = torch.cat((x, 2.0 * y[:, None] - 1, torch.zeros(len(y), 1)), 1)
    found = audit(Rule(lambda x: x[:, 3] > x[:, 4]), x, y, learned=[allowed(0.8)])
    (row,) = found.values["transforms"]
    assert row["finding"] == "blind"
    assert row["cost"] > 0
    assert _case(row, 0.01)["most"] < 0.03


def test_the_data_of_training_is_known_by_another_path(tmp_path, monkeypatch):
    x, y = levels(100)
    np.savez(tmp_path / "levels.npz", x=x.numpy(), y=y.numpy())
    monkeypatch.chdir(tmp_path)
    settings = {"data": "levels.npz", "seed": 3, "max_samples": 90, "channels": []}
    loaded = Loaded(above(0), "the model", settings=settings)
    known = read_collection("levels.npz", loaded, 3, max_samples=90, channels=())
    for path in ("./levels.npz", str(tmp_path / "levels.npz")):
        samples = read_collection(path, loaded, 8, max_samples=50, channels=())
        assert samples.names == known.names
        assert 0 < len(samples) < 30  # the test samples of training
    few = read_collection("levels.npz", loaded, 3, max_samples=7, channels=())
    assert len(few) == 7
    assert set(few.names) < set(known.names)
    (tmp_path / "other").mkdir()
    np.savez(tmp_path / "other" / "levels.npz", x=x.numpy(), y=y.numpy())
    other = read_collection("other/levels.npz", loaded, 3, max_samples=90, channels=())
    assert len(other) == 90
    assert any("if these are the same samples" in str(note) for note in other.log)
