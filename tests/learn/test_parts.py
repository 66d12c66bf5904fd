"""Classes and directions have ranges of their own, which are saved and joined."""

from dataclasses import replace

import pytest
import torch
from learn_tasks import Shift, generator

from augnet.learn import Invariance, LearnConfig, Learner, learn, measure_parts
from augnet.learn.decide import NO_TIME
from augnet.learn.held import TOO_LOW
from augnet.learn.measure_parts import CONTRADICTS, apart, without_contradiction
from augnet.learn.parts import CurvePoint, PartRange
from augnet.learn.result import name_classes
from augnet.learn.search import from_plain, to_plain
from augnet.learn.seeds import join_seeds
from augnet.learn.sweep import Sweep
from augnet.model.header import InvarianceRecord
from augnet.transforms import Rotate, SignFlip

PARTS = (
    PartRange("a", "bounded", 0.5, (0.4, 0.6), 40),
    PartRange("b", "unclear", 0.0, (0.0, 0.0), 5, "too few"),
)
ROW = Invariance(
    Rotate(30.0), "bounded", 12.0, (10.0, 14.0), cost=0.01, by_class=PARTS,
    by_direction=PARTS, curve=(CurvePoint(-3.0, -0.1, 0.2, (0.1, 0.3), 0.4),),
)  # fmt: skip


def levels(centers, size=360, noise=0.1):
    """Return vectors of levels, one for each class."""
    y = torch.arange(size) % len(centers)
    x = torch.tensor(centers)[y][:, None] + noise * torch.randn(size, 1, generator=generator())
    return x.expand(-1, 3).contiguous(), y


def test_a_class_that_is_far_from_others_has_a_larger_range():
    x, y = levels([-6.0, 0.0, 1.0])
    row = learn(x, y, [Shift(4.0)], by_class=True, budget=60)["shift"]
    far, middle, near = row.by_class
    assert [part.name for part in row.by_class] == ["0", "1", "2"]
    assert far.status in ("bounded", "reached_limit")
    assert 2.0 < far.strength < 3.0  # half of the gap, less the noise
    assert middle.strength == pytest.approx(0.4, rel=0.3)
    assert near.strength == pytest.approx(middle.strength, rel=0.2)  # they become each other
    assert far.interval[0] <= far.strength <= far.interval[1]
    assert far.samples == 60
    assert row.curve


NO = Invariance(Rotate(30.0), "not_invariant", 0.0, (0.0, 2.0), cost=0.1)
LOST = PartRange("c", "not_invariant", 0.0, (0.0, 1.0), 40)


def test_classes_that_contradict_all_samples_are_unclear():
    found, few = without_contradiction(NO, PARTS)
    assert (found.name, found.status, found.strength, found.samples) == ("a", "unclear", 0.0, 40)
    assert found.reason == CONTRADICTS
    assert few == PARTS[1]  # it keeps its own reason


@pytest.mark.parametrize("lost", [LOST, replace(PARTS[1], reason=TOO_LOW)])
def test_a_class_that_is_lost_explains_what_all_samples_lose(lost):
    assert without_contradiction(NO, [*PARTS, lost]) == (*PARTS, lost)
    assert without_contradiction(ROW, PARTS) == PARTS  # all samples have a range


def test_directions_that_differ_have_ranges_of_their_own():
    """Levels below 1, beside a constant: upwards they are clipped soon, downwards late."""
    x, y = levels([0.6, 0.8], 480, noise=0.02)
    x[:, 1:] = 0.95

    class Clipped(Shift):
        """Add a number, and clip."""

        name = "clipped"

        def transform(self, x, strength):
            return super().transform(x, strength).clamp(0, 1)

    row = learn(x, y, [Clipped(1.0)], config=LearnConfig(curves=True))["clipped"]
    low, high = row.by_direction
    assert (low.name, high.name) == ("−", "+")
    assert high.strength < 0.3 < 0.4 < low.strength
    assert high.interval[1] <= low.interval[0]
    assert row.strength < low.strength


def test_directions_differ_if_their_intervals_do_not_overlap():
    wide, limit, full = (
        PartRange("x", status, 30.0, (low, 30.0), 40)
        for status, low in (("bounded", 12.0), ("reached_limit", 12.0), ("reached_limit", 30.0))
    )
    assert apart(wide, full)  # stages are the ends of intervals, so that they may touch
    assert not apart(wide, limit)
    assert not apart(limit, full)  # both may go to the limit
    assert not apart(full, PARTS[1])
    assert not apart(LOST, LOST)
    assert apart(LOST, full)


def test_classes_that_a_flip_exchanges_are_lost(monkeypatch):
    """Even if a network tells flipped samples from others; here they are the same."""
    monkeypatch.setattr(measure_parts, "exchanged_classes", lambda *_: [(0, 2)])
    x, y = levels([-1.0, 0.0, 1.0], 240)
    x = x[:, :1, None].expand(-1, -1, 16).contiguous()
    row = learn(x, y, ["time_reverse"], by_class=True, budget=20)["time_reverse"]
    statuses = [part.status for part in row.by_class]
    assert statuses == ["not_invariant", "reached_limit", "not_invariant"]


def test_nothing_more_is_measured_unless_it_is_asked_for():
    x, y = levels([0.0, 1.0], 80)
    row = learn(x, y, [Shift(1.0)], budget=20)["shift"]
    assert (row.by_class, row.by_direction, row.curve) == ((), (), ())
    more = learn(x, y, [Shift(1.0)], budget=20, by_class=True)["shift"]
    assert replace(more, by_class=(), by_direction=(), curve=()) == row


def test_parts_survive_states_files_and_seeds():
    (back,) = from_plain(to_plain([ROW]), [ROW.transform])
    assert back == ROW
    record = InvarianceRecord.of(ROW)
    assert InvarianceRecord.model_validate_json(record.model_dump_json()).build() == ROW
    (joined,) = join_seeds([[ROW], [replace(ROW, strength=14.0)]])
    assert joined.by_class == PARTS


def test_numbers_of_classes_get_their_names():
    numbered = replace(ROW, by_class=tuple(replace(p, name=str(k)) for k, p in enumerate(PARTS)))
    (named,) = name_classes([numbered], ("a", "b"))
    assert named == ROW
    assert name_classes([ROW], ("a", "b")) == [ROW]
    digits = tuple(replace(part, name=name) for part, name in zip(PARTS, "19", strict=True))
    assert name_classes([numbered], ("1", "9"))[0].by_class == digits
    named = replace(ROW, by_class=digits)
    assert name_classes([named], ("1", "9")) == [named]


def test_a_search_with_parts_is_resumed():
    x, y = levels([-2.0, 0.0, 1.0], 120)
    config = LearnConfig(by_class=True, curves=True, budget=6)
    whole = Learner(x, y, [Shift(2.0), SignFlip()], config=config)
    rows = list(whole)
    first = Learner(x, y, [Shift(2.0), SignFlip()], config=config)
    for row in first:
        if row["phase"] == "transforms":
            break
    second = Learner(x, y, [Shift(2.0), SignFlip()], config=config)
    second.load_state_dict(first.state_dict())
    list(second)
    assert second.history == rows
    assert second.result.invariances == whole.result.invariances
    assert len(whole.result.invariances[0].by_class) == 3


def test_classes_are_unclear_if_nothing_can_be_predicted():
    x, y = levels([0.0, 1.0], 80)
    row = learn(torch.randn_like(x), y, [Shift(1.0)], by_class=True, budget=4)["shift"]
    assert row.status == "unclear"
    assert [(part.status, part.samples) for part in row.by_class] == [("unclear", 20)] * 2
    assert {part.reason for part in row.by_class} == {"the network is not better than chance"}


def test_classes_are_unclear_if_no_time_is_left(monkeypatch):
    monkeypatch.setattr(Sweep, "train", lambda self, ends, end, times: None)
    x, y = levels([0.0, 1.0], 80)
    row = learn(x, y, [Shift(1.0)], by_class=True, budget=4)["shift"]
    assert [(part.status, part.reason) for part in row.by_class] == [("unclear", NO_TIME)] * 2
