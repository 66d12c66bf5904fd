"""Classes that a transform may exchange are found on fitted samples, by the reference."""

import torch
from learn_tasks import generator
from torch import nn

from augnet.learn import LearnConfig, inputs
from augnet.learn.confusion import confused_rows
from augnet.learn.reference import Reference
from augnet.transforms import SignFlip


def confused(rule, y, x=None):
    """Return the classes of the held-out samples that may become others under a sign flip."""
    x = torch.stack((y + 1.0, torch.rand(len(y), generator=generator())), 1) if x is None else x
    data = inputs.prepare_data(x, y, generator())
    reference = Reference(data, nn.Linear(2, 4), generator(), LearnConfig())
    reference.network = rule
    rows = confused_rows(reference, SignFlip(), generator(), LearnConfig())
    return set(data.y[reference.held_out][rows].tolist())


class Classes(nn.Module):
    """Read the class from the first value, and map it under a sign flip."""

    def __init__(self, flipped):
        super().__init__()
        self.flipped = torch.tensor(flipped)

    def forward(self, x):
        """Predict."""
        own = x[:, 0].abs().long() - 1
        return torch.eye(4)[torch.where(x[:, 0] < 0, self.flipped[own], own)]


Y = torch.arange(160) % 4


def test_classes_that_are_taken_for_one_other():
    assert confused(Classes([0, 1, 3, 2]), Y) == {2, 3}
    assert confused(Classes([0, 1, 2, 3]), Y) == set()
    assert confused(Classes([1, 1, 1, 1]), Y) == {0, 2, 3}


def test_values_have_no_classes():
    y = torch.rand(160, generator=generator())
    data = inputs.prepare_data(torch.rand(160, 2, generator=generator()), y, generator())
    reference = Reference(data, nn.Linear(2, 1), generator(), LearnConfig())
    rows = confused_rows(reference, SignFlip(), generator(), LearnConfig())
    assert not rows.any()
    assert rows.shape == reference.held_out.shape
