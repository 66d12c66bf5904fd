"""An augmentation draws kept transforms per sample, at the ranges that were found."""

import pytest
import torch
from learn_tasks import generator, kept, levels

from augnet import AugNet, identity
from augnet.learn import LearnConfig, Learner
from augnet.learn.inputs import prepare_data
from augnet.learn.net import BATCHES_AT_ONCE, NetTraining, build_augment
from augnet.training.loop import TIMED_STEPS


def images():
    x = torch.rand(40, 3, 8, 8, generator=generator())
    return prepare_data(x, torch.arange(40) % 2, generator())


def names(augment):
    return [[each.name for each in layer.transforms] for layer in augment]


def test_each_layer_holds_all_at_the_ranges_that_were_found():
    rows = kept("rotate", "gray", "scale", fraction=0.5)
    augment = build_augment(images(), rows, 2)
    assert names(augment) == 2 * [["rotate", "gray", "scale"]]
    assert augment[1].magnitudes.tolist() == pytest.approx([0.5, 1.0, 0.5])
    assert all(layer.mixing == "drawn" for layer in augment)
    assert not any(each.requires_grad for each in augment.parameters())


def test_one_transform_per_layer_and_sample():
    data = images()
    x = torch.full((60, 3, 8, 8), 0.5)
    augment = build_augment(data, kept("brightness", "gaussian_noise"), 1).train()
    spread = augment(x, generator()).std((1, 2, 3))
    assert 15 < (spread < 1e-6).sum() < 45  # brightness alone leaves a flat image flat
    twice = build_augment(data, kept("brightness", "gaussian_noise"), 2).train()
    assert (twice(x, generator()).std((1, 2, 3)) < 1e-6).sum() < (spread < 1e-6).sum()


def test_no_draws_or_nothing_kept_is_the_identity():
    assert build_augment(images(), kept("rotate"), 0) is identity
    assert build_augment(images(), [], 2) is identity


@pytest.mark.parametrize("layers", [None, [["sign_flip"]]])
def test_the_net_is_trained_for_as_long_as_was_planned(layers):
    learner = Learner(*levels(), "sign_flip", layers=layers, budget=30)
    rows = list(learner)
    training = learner.training if layers else learner.training.training
    assert training.loop.done == training.loop.steps == round(learner.config.net_steps * 30)
    rate = training.optimizer.param_groups[0]["lr"]
    assert rate < 0.1 * learner.config.lr  # and not on its way up again
    assert rows[-1]["done"] == 1


@pytest.mark.parametrize(("side", "at_once"), [(2, 5), (80, 5), (128, 2), (512, 1)])
def test_several_batches_are_transformed_at_once_if_they_are_small(side, at_once):
    x = torch.zeros(40, 1, side, side)
    data = prepare_data(x, torch.arange(40) % 2, generator())
    net = AugNet(identity, torch.nn.Flatten())
    net.trunk.extra = torch.nn.Linear(1, 1)  # an optimizer needs a weight
    training = NetTraining(data, net, generator(), LearnConfig(), 1)
    assert training.at_once == at_once


def test_batches_hold_each_sample_once_and_its_own_view():
    data, config = images(), LearnConfig(batch_size=13)
    net = AugNet(lambda x, generator: x + 1, torch.nn.Linear(1, 1))
    batches = list(NetTraining(data, net, generator(), config, 1)._batches())
    assert [len(rows) for rows, _ in batches] == [13, 13, 13]  # the last sample is left out
    every = torch.cat([rows for rows, _ in batches])
    assert len(every.unique()) == 39
    assert torch.cat([views for _, views in batches]).equal(data.x[every] + 1)


class Scaling(torch.nn.Module):
    """Change samples in place, by a weight."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))
        self.seen = []

    def forward(self, x):
        """Predict two classes."""
        self.seen.append((len(x), x.requires_grad))
        x *= self.scale
        return x.flatten(1)[:, :2]


def test_a_trunk_may_change_its_input_and_gets_no_gradient_to_it():
    data, trunk = images(), Scaling()
    net = AugNet(build_augment(data, kept("brightness"), 1), trunk)
    before = data.x.clone()
    list(NetTraining(data, net, generator(), LearnConfig(batch_size=13), 5).fit(1))
    assert trunk.scale != 1
    assert data.x.equal(before)
    assert not any(gradient for _, gradient in trunk.seen)


def test_views_have_no_graph():
    factor = torch.nn.Parameter(torch.ones(()))
    net = AugNet(lambda x, generator: factor * x, torch.nn.Linear(1, 1))
    training = NetTraining(images(), net, generator(), LearnConfig(), 1)
    assert not training._views(torch.arange(3)).requires_grad


def test_only_what_is_used_is_transformed():
    data, calls = images(), []

    def augment(x, generator):
        calls.append(len(x))
        return x

    net = AugNet(augment, Scaling())
    list(NetTraining(data, net, generator(), LearnConfig(batch_size=4), 2).fit(1))
    assert calls == [8]
    calls.clear()
    config = LearnConfig(batch_size=len(data.x) - 1)
    training = NetTraining(data, net, generator(), config, 9)
    training.at_once = 1
    list(training._batches())
    assert calls == [len(data.x) - 1]  # one sample is no batch


def test_several_copies_in_training_are_refused():
    net = AugNet(identity, torch.nn.Linear(1, 1), train_copies=2)
    with pytest.raises(ValueError, match="takes one copy in training; got 2"):
        NetTraining(images(), net, generator(), LearnConfig(), 1)


def test_the_time_of_a_step_includes_its_own_views_only():
    assert all(TIMED_STEPS % count == 0 for count in BATCHES_AT_ONCE)
