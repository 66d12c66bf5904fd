"""A flip that exchanges two of many classes is found, and what a network has never seen is not."""

import torch
from learn_tasks import generator
from torch import nn

from augnet.learn import LearnConfig, inputs
from augnet.learn.branch import Branch
from augnet.learn.exchange import exchanges_classes
from augnet.learn.reference import Reference
from augnet.transforms import SignFlip

CLASSES = 10


class Classes(nn.Module):
    """Read the class from the first value, and map it under a sign flip; outputs have a spread."""

    def __init__(self, flipped, scale=1.0):
        super().__init__()
        self.flipped, self.scale = torch.tensor(flipped), scale
        self.unused = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        """Predict."""
        own = x[:, 0].abs().round().long() - 1
        flipped = x[:, 0] < 0
        output = 8 * torch.eye(CLASSES)[torch.where(flipped, self.flipped[own], own)]
        output = output + x[:, 1:].abs()
        return torch.where(flipped[:, None], self.scale * output, output)


def reference(network):
    y = torch.arange(400) % CLASSES
    x = torch.cat((y[:, None] + 1.0, torch.rand(400, CLASSES, generator=generator())), 1)
    data = inputs.prepare_data(x, y, generator())
    some = Reference(data, network, generator(), LearnConfig())
    some._finish()
    return some


def exchanged(flipped, scale=1.0):
    return exchanges_classes(reference(Classes(flipped, scale)), SignFlip(), LearnConfig())


SAME = list(range(CLASSES))


def test_two_classes_that_become_each_other():
    assert not exchanged(SAME)
    assert exchanged([1, 0, *SAME[2:]])


def test_a_class_that_becomes_another_one_is_no_exchange():
    assert not exchanged([1, 1, *SAME[2:]])
    assert not exchanged([1, 2, 0, *SAME[3:]])


def test_outputs_that_no_sample_has_are_no_exchange():
    assert not exchanged([1, 0, *SAME[2:]], scale=4.0)


def test_values_have_no_classes():
    y = torch.rand(160, generator=generator())
    data = inputs.prepare_data(torch.rand(160, 2, generator=generator()), y, generator())
    some = Reference(data, nn.Linear(2, 1), generator(), LearnConfig())
    assert not exchanges_classes(some, SignFlip(), LearnConfig())


def test_an_exchange_is_decided_without_training():
    some = reference(Classes([1, 0, *SAME[2:]]))
    branch = Branch(some, SignFlip(), LearnConfig())
    row = branch.measure()
    assert (row.status, branch.loop.done) == ("not_invariant", 0)
    assert 0.1 < row.cost < 0.3
