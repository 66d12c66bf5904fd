"""An ambiguity costs both classes, whichever of them a network prefers."""

from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from learn_tasks import generator

from augnet.learn import LearnConfig
from augnet.learn.accounts import Accounts
from augnet.learn.evaluate import Evaluator
from augnet.learn.inputs import prepare_data
from augnet.learn.sweep import Stage

CONFIG = LearnConfig()


def accounts(by_class=True, size=600):
    """Three classes, and a reference that makes no errors."""
    y = torch.arange(size) % 3
    x = F.one_hot(y, 3).float()
    data = prepare_data(x, y, generator())
    reference = SimpleNamespace(
        data=data,
        evaluator=Evaluator(data, 20.0),
        held_out=data.held_out,
        network=torch.nn.Identity(),
        tolerance=0.01,
    )
    return Accounts(reference, CONFIG, by_class), data.y[data.held_out]


def stage(labels, edge, within=None, rest=None):
    """Return a stage in which classes are predicted, at two places in one direction."""
    within, rest = (labels if each is None else each for each in (within, rest))
    outputs = torch.stack([F.one_hot(each, 3).float() for each in (within, edge)])[None]
    return Stage((1.0, 1.0), F.one_hot(rest, 3).float(), outputs, (False, True))


@pytest.mark.parametrize("preferred", [1, 2])
def test_two_classes_that_become_each_other_pay_the_same(preferred):
    """A tenth of each looks like a tenth of the other; the network may call them either."""
    books, labels = accounts()
    taken = labels.clone()
    some = (torch.arange(len(labels)) % 10 == 0) & (labels > 0)
    taken[some] = preferred
    added = books.costs(stage(labels, taken)).added[0, 0]
    assert added[0] == 0
    assert added[1] == added[2] > 0.02
    assert added.mean().item() == pytest.approx((taken != labels).float().mean().item(), abs=1e-6)


def test_what_is_lost_within_the_range_counts_too():
    books, labels = accounts()
    wrong = torch.where(labels == 0, 1, labels)
    for given in (stage(labels, wrong), stage(labels, labels, wrong)):
        costs = books.costs(given)
        assert (costs.excess[0] > 0).tolist() == [True, True, False]
    assert books.costs(stage(labels, labels)).excess[0].amax() < 0


def test_costs_are_compared_with_the_network_that_makes_fewer_errors():
    books, labels = accounts()
    wrong = torch.where(torch.arange(len(labels)) % 5 == 0, (labels + 1) % 3, labels)
    books.before = books.errors(F.one_hot(wrong, 3).float())
    assert books.costs(stage(labels, wrong, wrong, wrong)).added.abs().amax() == 0
    assert books.costs(stage(labels, wrong, wrong)).added[0, 0].amin() > 0.1


def test_a_part_may_cost_more_than_all_samples():
    assert accounts()[0].tolerance == pytest.approx(0.015)
    assert accounts(by_class=False)[0].tolerance == pytest.approx(0.02)


def test_all_samples_have_the_error_as_cost():
    books, labels = accounts(by_class=False)
    wrong = torch.where(labels == 0, 1, labels)
    assert books.costs(stage(labels, wrong)).added[0, 0].item() == pytest.approx(1 / 3)
    assert books.samples == [len(labels)]


def test_pairs_pay_for_being_taken_for_each_other():
    books, labels = accounts()
    wrong = torch.where(labels == 0, 1, labels)
    confused = books.confused(stage(labels, wrong))
    assert confused[0, 1] == confused[1, 0] == 0.5
    assert confused.sum() == 1


def test_a_class_that_has_met_another_is_lost():
    books, labels = accounts()
    costs = books.costs(stage(labels, labels))
    met = torch.tensor([True, False, False])
    lost = type(costs)(costs.added, costs.allowed, met)
    assert (lost.excess > 0).all(0).tolist() == [True, False, False]
