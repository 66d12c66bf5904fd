"""The net keeps what adds no error in combination, and keeps to its time."""

import pytest
import torch
from learn_tasks import generator, levels
from torch import nn

from augnet import AugNet, identity
from augnet.learn import LearnConfig, Learner
from augnet.learn.compose import Composition
from augnet.learn.inputs import prepare_data
from augnet.learn.result import Invariance
from augnet.transforms import build_transforms

CONFIG = LearnConfig()


def kept(*names):
    """Return rows of transforms that reach their limits."""
    return [
        Invariance(each, "reached_limit", each.limit, (each.limit, each.limit))
        for each in build_transforms(names)
    ]


def flip_and_turn(steps=10):
    x = torch.rand(200, 1, 8, 8, generator=generator())
    data = prepare_data(x, torch.arange(200) % 2, generator())
    trunk = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    rows = kept("horizontal_flip", "rotate")
    return Composition(data, rows, trunk, generator(), CONFIG, steps)


def magnitudes(composition):
    return [layer.magnitudes.item() for layer in composition.net.augment]


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
    composition = flip_and_turn()
    monkeypatch.setattr(
        composition, "_error", lambda f: 0.1 + flip * (f[0] >= 0.5) + 0.2 * (f[1] > beyond)
    )
    assert composition._largest() == expected
    composition._set(expected)
    assert magnitudes(composition) == pytest.approx(expected)


def test_rows_that_are_not_kept_are_not_in_the_net():
    flip, turn = build_transforms(["horizontal_flip", "rotate"])
    rows = [
        Invariance(flip, "unclear", 0.0, (0.0, 0.0), reason="no time was left"),
        Invariance(turn, "not_invariant", 0.0, (0.0, 3.0)),
    ]
    data = prepare_data(torch.rand(40, 1, 8, 8), torch.arange(40) % 2)
    trunk = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    composition = Composition(data, rows, trunk, generator(), CONFIG, 4)
    assert composition.net.augment is identity
    assert composition.net.copies == 1
    assert list(composition.fit(1))[-1]["done"] == 1


@pytest.mark.parametrize("layers", [None, [["sign_flip"]]])
def test_the_net_is_trained_for_as_long_as_was_planned(layers):
    learner = Learner(*levels(), "sign_flip", layers=layers, budget=30)
    rows = list(learner)
    loop = learner.training.loop
    assert loop.done == loop.steps == round(learner.config.net_steps * 30)
    rate = learner.training.optimizer.param_groups[0]["lr"]
    assert rate < 0.1 * learner.config.net_lr  # and not on its way up again
    assert rows[-1]["done"] == 1


def test_the_net_is_trained_on_all_samples_once_its_ranges_are_chosen(monkeypatch):
    x, y = levels(640)
    data = prepare_data(x, y, generator())
    others, trained = data.x[data.held_out], []
    built = Composition(data, kept("sign_flip"), nn.Linear(4, 2), generator(), CONFIG, steps=6)
    forward = AugNet.forward

    def watched(self, given, generator):
        if self.training:
            trained.append(bool((given[:, None] == others).all(-1).any()))
        return forward(self, given, generator)

    monkeypatch.setattr(AugNet, "forward", watched)
    list(built.fit(1))
    assert trained == [False] * 3 + [True] * 3


class Clock:
    """A clock that steps and evaluations of a composition move."""

    def __init__(self, monkeypatch, composition, step, error=0.0):
        self.now, self.tried = 100.0, []
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        run, composition.loop.step = composition.loop.step, self.taking(step)
        self.run = run

        def evaluate(factors):
            self.now += error
            self.tried.append(list(factors))
            return 0.0

        monkeypatch.setattr(composition, "_error", evaluate)

    def taking(self, seconds):
        """Return a step that takes some time."""

        def step(rows):
            self.now += seconds
            return self.run(rows)

        return step


def test_steps_fit_into_the_seconds_and_factors_are_chosen_halfway(monkeypatch):
    composition = flip_and_turn(steps=200)
    clock = Clock(monkeypatch, composition, 2.0)
    rows = list(composition.fit(1, 80.0))
    assert (composition.loop.done, clock.now, rows[-1]["done"]) == (40, 180.0, 1.0)
    assert composition.chosen
    assert composition.factors == [1.0, 1.0]
    assert not composition.net.training


def test_factors_stay_when_a_resumed_training_has_more_time(monkeypatch):
    """More steps move the middle of the training, after it was passed."""
    first, second = flip_and_turn(steps=200), flip_and_turn(steps=200)
    clock = Clock(monkeypatch, first, 8.0)
    list(first.fit(1, 160.0))
    assert (first.loop.done, first.chosen) == (20, True)
    Clock(monkeypatch, second, 1.0)
    second.load_state_dict(first.state_dict() | {"loop": first.loop.state_dict() | {"steps": 200}})
    list(second.fit(1, 400.0))
    assert second.loop.done == 200
    assert magnitudes(second) == pytest.approx([1.0, 1.0])
    assert clock.tried


def test_factors_are_chosen_though_no_time_is_left(monkeypatch):
    composition = flip_and_turn(steps=200)
    clock = Clock(monkeypatch, composition, 50.0)
    list(composition.fit(1, 60.0))
    assert composition.loop.done == 2
    assert composition.chosen
    assert clock.tried == [[0.0, 0.0]]
    assert magnitudes(composition) == [0.0, 0.0]


def test_the_choice_takes_half_of_the_time_that_is_left(monkeypatch):
    composition = flip_and_turn(steps=20)
    clock = Clock(monkeypatch, composition, 1.0, error=4.0)
    list(composition.fit(1, 50.0))
    assert len(clock.tried) == 5  # after 10 of 50 seconds: 20 of 40
    assert clock.now <= 151.0


def test_what_is_chosen_is_resumed():
    whole, first, second = (flip_and_turn(steps=12) for _ in range(3))
    second.net.load_state_dict(first.net.state_dict())
    whole.net.load_state_dict(first.net.state_dict())
    rows = list(whole.fit(1))
    left = next(row["epoch"] for row in first.fit(1) if first.chosen)
    second.load_state_dict(first.state_dict())
    second.generator.set_state(first.generator.get_state())
    assert second.chosen
    assert list(second.fit(left + 1)) == rows[left:]
    assert magnitudes(second) == magnitudes(whole)
