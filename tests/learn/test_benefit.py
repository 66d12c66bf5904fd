"""Training with a transform helps if it improves predictions for samples as they are."""

import pytest
import torch
from learn_tasks import Clock, Shift, generator, trained_reference

from augnet.learn import LearnConfig, Learner
from augnet.learn.benefit import measure_benefit
from augnet.learn.branch import Branch
from augnet.learn.control import train_control
from augnet.learn.reference import Control
from augnet.learn.result import Invariance
from augnet.transforms import GaussianNoise, SignFlip

CONFIG = LearnConfig(trunk="mlp", budget=60)


def signless(size=300):
    """Return few samples whose class depends on a size: a flip of the sign says so."""
    x = torch.randn(size, 6, generator=generator())
    return x, (x[:, 0].abs() > 0.67).long()


def reference_of(x, y):
    found = trained_reference(x, y, CONFIG)
    found.control, _ = train_control(found, CONFIG)
    return found


def kept(transform):
    limit = transform.limit
    return Invariance(transform, "reached_limit", limit, (limit, limit))


def test_a_transform_that_tells_something_helps_and_one_that_hides_everything_does_not():
    reference = reference_of(*signless())
    assert reference.errs
    flip, noise = SignFlip(1.0), GaussianNoise(10.0)
    helped, _ = measure_benefit(Branch(reference, flip, CONFIG), kept(flip))
    hidden, _ = measure_benefit(Branch(reference, noise, CONFIG), kept(noise))
    assert helped > 0.01
    assert hidden < 0 < helped


def test_a_branch_that_is_trained_is_not_trained_again():
    reference, flip = reference_of(*signless()), SignFlip(1.0)
    branch = Branch(reference, flip, CONFIG)
    assert list(branch.loop)
    weights = [each.clone() for each in branch.average.network.parameters()]
    _, steps = measure_benefit(branch, kept(flip))
    assert not steps
    assert all(map(torch.equal, weights, branch.average.network.parameters()))


def test_one_that_is_not_takes_the_steps_of_the_control():
    reference, flip = reference_of(*signless()), SignFlip(1.0)
    found, steps = measure_benefit(Branch(reference, flip, CONFIG), kept(flip))
    assert steps == round(CONFIG.control_steps * reference.planned)
    torch.rand(3)
    assert measure_benefit(Branch(reference, flip, CONFIG), kept(flip)) == (found, steps)


def test_it_is_the_fall_of_the_brier_score():
    reference, flip = reference_of(*signless()), SignFlip(1.0)
    reference.control = Control(reference.errors, distances=torch.full_like(reference.errors, 2.0))
    branch = Branch(reference, flip, CONFIG)
    found, _ = measure_benefit(branch, kept(flip))
    rows = reference.held_out
    with torch.no_grad():
        output = branch.average.network.eval()(reference.data.x[rows]).softmax(1)
    truth = torch.nn.functional.one_hot(reference.data.y[rows], 2)
    brier = reference.evaluator.mean((output - truth).square().sum(1), rows)
    assert found == pytest.approx(2.0 - brier.item(), abs=1e-6)


def test_nothing_is_measured_if_nothing_can_be_gained():
    reference, flip = reference_of(*signless()), SignFlip(1.0)
    none = Invariance(flip, "not_invariant", 0.0, (0.0, 0.0))
    assert measure_benefit(Branch(reference, flip, CONFIG), none) == (None, 0)
    reference.error = 0.0
    assert measure_benefit(Branch(reference, flip, CONFIG), kept(flip)) == (None, 0)


def test_without_time_it_is_unknown(monkeypatch):
    reference, flip = reference_of(*signless()), SignFlip(1.0)
    clock = Clock(monkeypatch)
    found, steps = measure_benefit(Branch(reference, flip, CONFIG), kept(flip), end=clock.now + 2)
    assert found is None
    assert steps < round(CONFIG.control_steps * reference.planned)


def test_it_is_part_of_the_answer_and_of_the_state():
    learner = Learner(*signless(), [SignFlip(1.0), Shift(1.0)], trunk="mlp", budget=60)
    for _ in learner:
        if learner.search.finished:
            break
    kept_rows = [row for row in learner.search.invariances if row.kept]
    assert kept_rows
    assert all(isinstance(row.benefit, float) for row in kept_rows)
    other = Learner(*signless(), [SignFlip(1.0), Shift(1.0)], trunk="mlp", budget=60)
    other.load_state_dict(learner.state_dict())
    assert other.search.invariances == learner.search.invariances
    assert other.search.control.distances.equal(learner.search.control.distances)


def test_the_control_is_the_best_training_without_a_transform():
    reference = reference_of(*signless())
    mean = reference.control.distances.mean()
    assert mean <= reference.distances.mean()
