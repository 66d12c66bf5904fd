"""The reference stops before it memorizes, corrects wrong labels, and knows when it is useless."""

import pytest
import torch
from learn_tasks import few, generator, levels, signs
from torch import nn

from augnet.learn import LearnConfig
from augnet.learn.inputs import prepare_data, prepare_trunk
from augnet.learn.reference import Reference


def reference(x, y, trunk="mlp", seed=0, **changes):
    torch.manual_seed(seed)
    config = LearnConfig(seed=seed, trunk=trunk, **changes)
    data = prepare_data(x, y, generator(seed), config)
    return Reference(data, prepare_trunk(config.search_trunk, data), generator(seed), config)


def trained(*given, **more):
    found = reference(*given, **more)
    list(found.fit())
    return found


def test_it_learns_and_stops_when_nothing_is_left_to_learn():
    found = trained(*levels())
    assert found.error == 0
    assert found.score == 1
    assert found.loop.done < found.planned
    assert not found.cut
    assert not found.doubt


def test_one_that_stops_early_had_time():
    """Few steps are enough for a simple task, and no reason to doubt it."""
    found = trained(*signs(), perfect_loss=0.5)
    assert found.loop.done < found.config.min_steps
    assert not found.doubt


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_most_wrong_labels_are_corrected(seed):
    x, y = levels(600, seed)
    wrong = torch.rand(len(y), generator=generator(seed)) < 0.2
    found = trained(x, torch.where(wrong, 1 - y, y), seed=seed)
    fitted = found.data.fitted
    assert 0.12 < wrong[fitted].double().mean() < 0.28
    assert found.targets[fitted].sum(1).allclose(torch.ones(len(fitted)))
    left = (found.targets[fitted].argmax(1) != y[fitted]).double().mean()
    assert left < 0.02
    assert not found.targets[found.data.held_out].any()
    assert not found.doubt
    assert 0.12 < found.error < 0.28


def test_probabilities_that_are_too_sure_do_not_end_the_training():
    """The loss of a network that becomes too sure rises, though it predicts better."""
    found = reference(*levels())
    evaluator, rows = found.evaluator, found.held_out
    truth = torch.nn.functional.one_hot(found.data.y[rows], 2).double()
    wrong = torch.arange(len(rows)) % 10 == 0
    surer = torch.where(wrong[:, None], 1 - truth, truth)
    states = {1: 0.3 * truth, 2: 20 * surer}
    losses = {}
    for step, output in states.items():
        found.evaluator.outputs = lambda *_, output=output: output
        losses[step] = evaluator.mean(evaluator.losses(output, found.data.y[rows]), rows)
        found._keep_best(step)
        assert found.best_step == step
    assert losses[2] > losses[1]


def test_targets_of_values_are_predictions():
    x = torch.rand(300, 3, generator=generator())
    y = x[:, 0] + 0.02 * torch.randn(300, generator=generator())
    found = trained(x, y)
    assert found.targets.shape == y.shape
    fitted = found.data.fitted
    assert (found.targets - y)[fitted].abs().mean() < 0.1
    assert found.score > 0.9
    assert not found.doubt


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(3,), (1, 8, 8)])
def test_random_labels_are_not_learned(shape, seed):
    x = torch.rand(200, *shape, generator=generator(seed))
    y = torch.randint(2, (200,), generator=generator(seed + 100))
    found = trained(x, y, "small", seed, budget=40)
    assert "better than chance" in found.doubt
    values = torch.randn(200, generator=generator(seed))
    assert "better than chance" in trained(x, values, "small", seed, budget=40).doubt


def test_a_network_that_cannot_learn_is_doubted():
    found = trained(*signs(), trunk=lambda: nn.Sequential(nn.Linear(3, 2), Zero()))
    assert found.doubt == "the network is not better than chance"


class Zero(nn.Module):
    """Forget everything."""

    def forward(self, x):
        """Predict nothing."""
        return 0 * x


def test_the_tolerance_is_that_of_the_user_or_relative_to_the_error():
    assert trained(*levels(), tolerance=0.2).tolerance == 0.2
    assert trained(*levels(), tolerance=1e-6).tolerance == 1e-6
    x, y = levels(400)
    y = torch.where(torch.arange(400) % 4 == 0, 1 - y, y)
    rough = trained(x, y, tolerance=1e-6)
    assert rough.tolerance == pytest.approx(rough.config.relative_tolerance * rough.error)
    assert rough.error > 0.1


def test_a_state_is_resumed_to_the_same_end():
    whole, first, second = (reference(*few(), budget=20) for _ in range(3))
    rows = list(whole.fit())
    for row in first.fit():
        if row["epoch"] == 7:
            break
    second.trunk.load_state_dict(first.trunk.state_dict())
    second.generator.set_state(first.generator.get_state())
    second.load_state_dict(first.state_dict())
    assert second.best_distance == first.best_distance < 1
    assert list(second.fit()) == rows[7:]
    assert second.best_loss == whole.best_loss
    assert second.targets.equal(whole.targets)
    third = reference(*few(), budget=20)
    third.load_state_dict(second.state_dict())
    assert third.errors.equal(whole.errors)


class Clock:
    """A clock that only steps of a reference move."""

    def __init__(self, monkeypatch, found, seconds):
        self.now = 100.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        step = found.loop.step

        def slow(rows):
            self.now += seconds
            return step(rows)

        found.loop.step = slow


def test_too_little_time_is_a_doubt(monkeypatch):
    found = reference(*levels())
    clock = Clock(monkeypatch, found, 1.0)
    list(found.fit(10.0))
    assert clock.now == 110.0
    assert found.doubt == "no time was left to train a network"


def test_what_was_learned_before_the_time_was_over_is_kept(monkeypatch):
    """The time may end between two evaluations, the first of which is far away."""
    found = reference(*levels(), budget=400, evaluations=1)
    clock = Clock(monkeypatch, found, 1.0)
    for row in found.fit(250.0):
        if row["epoch"] == 241:
            clock.now += 100.0  # the machine does something else
    assert found.loop.done == found.best_step == 242
    assert found.error == 0
    assert not found.doubt


def test_it_stops_early_though_there_is_time(monkeypatch):
    found = reference(*levels())
    Clock(monkeypatch, found, 1.0)
    list(found.fit(1e6))
    assert found.loop.done == trained(*levels()).loop.done < found.planned
