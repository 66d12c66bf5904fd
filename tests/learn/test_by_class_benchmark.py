"""The benchmark of ranges of classes judges them, and checks them by other networks."""

import by_class
import by_class_check
import pytest
import torch
from by_class_tasks import TASKS, build

from augnet.learn.parts import PartRange


def part(status, strength=0.0, name="0"):
    return PartRange(name, status, strength, (0.0, strength), 40)


@pytest.mark.parametrize(
    ("found", "truth", "right"),
    [
        (part("bounded", 25.0), 28.0, True),
        (part("bounded", 20.0), 28.0, False),
        (part("unclear"), 28.0, False),
        (part("reached_limit", 180.0), "limit", True),
        (part("bounded", 170.0), "limit", False),
        (part("not_invariant"), 0.0, True),
        (part("unclear"), 0.0, True),
        (part("bounded", 3.0), 0.0, False),
    ],
)
def test_a_range_is_judged(found, truth, right):
    assert by_class.is_right(found, truth) is right


def test_all_directions_have_to_be_found():
    task = TASKS["margin"]
    both = part("reached_limit", 0.4, "−"), part("bounded", 0.22, "+")
    assert by_class.judge(task, both)["all_right"]
    assert not by_class.judge(task, ())["all_right"]
    assert by_class.judge(TASKS["facing"], ())["all_right"]
    assert not by_class.judge(TASKS["facing"], both)["all_right"]


def test_a_class_pays_for_what_it_loses_and_for_what_is_taken_for_it():
    """A network that calls half of the zeros a one, and is right about the rest."""
    y = torch.arange(40) % 10
    x = torch.zeros(40, 1, 4, 4)
    x[:, 0, 1:3, 1:3] = torch.where((y == 0) & (torch.arange(40) < 20), 1, y)[:, None, None] + 1.0

    def network(view):
        return torch.nn.functional.one_hot(view[:, 0, 1, 1].round().long() - 1, 10)

    costs = by_class_check.errors(network, x, y, build("rotate", limit=180.0), 0.0)
    assert costs.tolist() == [0.25, 0.25] + [0.0] * 8
