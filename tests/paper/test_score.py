"""Scores: which views a net is shown, over how many copies, and what they cost."""

import time

import pytest
import torch
from torch import Generator, nn

from augnet import (
    AugmentationLayer,
    AugmentationModule,
    AugNet,
    build_transforms,
    identity,
    invariance,
)
from augnet.layers.published import crop_flip
from augnet.paper.datasets import Samples
from augnet.paper.score import (
    accuracy,
    accuracy_by_copies,
    authors_invariance,
    time_by_copies,
    with_views,
)


class Brightest(nn.Module):
    """Says which half of an image is the brighter, and remembers what it was shown."""

    def forward(self, x):
        """Give the mean of either half."""
        self.seen = x
        return x.mean((1, 2)).unflatten(-1, (2, -1)).mean(-1)


def generator():
    return Generator().manual_seed(0)


def net(augment=None, copies=2):
    layer = AugmentationLayer(*build_transforms(["horizontal_flip"]), magnitude=1.0)
    return AugNet(augment or AugmentationModule(layer), Brightest(), copies=copies).eval()


def samples():
    x = torch.rand(40, 3, 8, 8, generator=generator())
    return Samples(x, Brightest()(x).argmax(1))


def test_views_are_the_nets_plain_or_its_own():
    x = samples().x
    policy = net(crop_flip(padding=1, side=8))
    for views, as_it_is in (("plain", True), ("net", True), ("own", False)):
        with_views(policy, views)(x, generator())
        assert torch.equal(policy.trunk.seen[: len(x)], x) == as_it_is
    learned = net()
    with_views(learned, "net")(x, generator())
    assert not torch.equal(learned.trunk.seen[: len(x)], x)


@pytest.mark.parametrize("views", ["plain", "own"])
def test_other_views_keep_how_the_net_draws_and_chunks_its_copies(views):
    mine = net(copies=4)
    policy = net(crop_flip(padding=1, side=8), copies=4)
    for each in (mine, policy):
        each.sampling, each.max_batch = "stratified", 40
        other = with_views(each, views).eval()
        assert (other.sampling, other.max_batch) == ("stratified", 40)
        other(samples().x, generator())
        assert len(each.trunk.seen) == 40
    own = with_views(mine, "own").eval()
    assert torch.equal(own(samples().x, generator()), mine(samples().x, generator()))


def test_plain_samples_are_told_and_flipped_ones_are_not():
    data = samples()
    assert accuracy(with_views(net(), "plain"), data, generator())["accuracy"] == 1
    by_copies = accuracy_by_copies(net(), data, (1, 4), generator())
    assert by_copies[1] == pytest.approx(0.5, abs=0.2)


def test_equal_outputs_have_the_invariance_that_each_definition_gives_them():
    constant = AugNet(identity, nn.Flatten(), copies=1)
    (flip,) = build_transforms(["horizontal_flip"])
    x = torch.ones(6, 3, 4, 4)  # all outputs are equal, whatever the transform
    assert invariance(constant, flip, x, generator()).tolist() == [1.0] * 6
    assert authors_invariance(constant, flip, x, generator()).tolist() == [0.0] * 6
    other = torch.rand(6, 3, 4, 4, generator=generator())
    scores = authors_invariance(constant, lambda y, generator: y, other, generator())
    assert set(scores.tolist()) <= {0.0, 1.0}  # 0 where a sample is paired with itself


def test_accuracy_by_copies_leaves_the_net_alone():
    mine = net(copies=2)
    accuracy_by_copies(mine, samples(), (1, 4), generator())
    time_by_copies(mine, samples().x, (1, 4), generator())
    assert mine.copies == 2


def test_time_is_that_of_the_trunk_for_every_copy(monkeypatch):
    now = [0.0]
    mine = net()
    mine.trunk.register_forward_hook(lambda trunk, x, y: now.__setitem__(0, now[0] + len(x[0])))
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    assert time_by_copies(mine, samples().x, (1, 2, 10), generator()) == {1: 1.0, 2: 2.0, 10: 10.0}
