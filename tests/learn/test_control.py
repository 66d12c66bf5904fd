"""A control is trained as branches are, without a transform, and branches are compared with it."""

import pytest
import torch
from learn_tasks import SPECS, Clock, Shift, few, generator, levels, trained_reference

from augnet.learn import LearnConfig, Learner
from augnet.learn.branch import Branch
from augnet.learn.control import train_control
from augnet.learn.reference import Control
from augnet.transforms import AmplitudeScale, SignFlip

CONFIG = LearnConfig(trunk="mlp", budget=60)


def trained(x, y, config=CONFIG):
    return trained_reference(x, y, config)


def values():
    x = torch.rand(200, 3, generator=generator())
    return x, x[:, 0]


def test_noise_costs_a_control_as_much_as_branches():
    reference = trained(*values())
    few_errors, _ = train_control(reference, LearnConfig(trunk="mlp", trace_noise=1e-6))
    many, _ = train_control(reference, LearnConfig(trunk="mlp", trace_noise=2.0))
    assert few_errors.errors.mean() < 0.5 * many.errors.mean()


def test_one_seed_gives_one_control_and_leaves_the_random_state():
    reference = trained(*few())
    state = torch.get_rng_state()
    first, steps = train_control(reference, CONFIG)
    assert torch.get_rng_state().equal(state)
    torch.rand(5)
    again = train_control(reference, CONFIG)[0]
    assert again.errors.equal(first.errors)
    assert again.changed == first.changed
    assert steps == round(CONFIG.control_steps * reference.planned) * (1 + reference.errs)
    assert again.distances.equal(first.distances)
    assert first.errors.shape == reference.errors.shape


def test_without_time_the_errors_are_those_of_the_reference(monkeypatch):
    reference = trained(*values())
    Clock(monkeypatch)
    control, steps = train_control(reference, CONFIG, seconds=3.0)
    assert control.errors is reference.errors
    assert control.changed == 0
    assert steps < round(CONFIG.control_steps * reference.planned)


def test_transforms_that_leave_traces_are_compared_with_the_control():
    reference = trained(*levels())
    reference.control = Control(torch.ones_like(reference.errors))
    assert Branch(reference, Shift(1.0), CONFIG).before is reference.control.errors
    assert Branch(reference, AmplitudeScale(8.0), CONFIG).before is reference.errors
    assert Branch(reference, SignFlip(), CONFIG).before is reference.errors


@pytest.mark.parametrize(("transforms", "controls"), [([Shift(1.0)], 1), (SPECS, 0)])
def test_there_is_a_control_if_a_transform_that_leaves_traces_is_offered(transforms, controls):
    learner = Learner(*levels(), transforms, trunk="mlp", budget=60)
    for _ in learner:
        if learner.search.finished:
            break
    search = learner.search
    assert (search.control is not None) == bool(controls)
    assert bool(search.control_steps) == bool(controls)
    done = search.reference.loop.done + search.control_steps + search.branch_steps
    assert search.steps == done
    other = Learner(*levels(), transforms, trunk="mlp", budget=60)
    other.load_state_dict(learner.state_dict())
    assert other.search.steps == done
    if controls:
        assert other.search.control.errors.equal(search.control.errors)
        assert other.search.control.changed == search.control.changed


def blurred():
    x, y = levels(600)
    return x + 3 * x.std() * torch.randn(x.shape, generator=generator()), y


def test_noisy_inputs_make_predictions_unstable_and_wrong_labels_do_not():
    x, y = levels(600)
    wrong = torch.where(torch.rand(len(y), generator=generator()) < 0.25, 1 - y, y)
    references = [trained(*each) for each in ((x, y), (x, wrong), blurred())]
    for each in references:
        each.control, _ = train_control(each, CONFIG)
    clear, mislabeled, noisy = references
    most = CONFIG.max_instability
    assert mislabeled.error > 0.15
    assert max(clear.instability, mislabeled.instability) < most
    assert noisy.instability > most
    assert noisy.tolerance == pytest.approx(CONFIG.unstable_tolerance * noisy.instability)
    assert mislabeled.tolerance == mislabeled.stable_tolerance
    assert not noisy.doubt
    noisy.control = Control(noisy.errors, changed=1.0)  # a large tolerance is no doubt
    assert noisy.tolerance > noisy.evaluator.chance - noisy.error
    assert not noisy.doubt


def test_predictions_that_change_are_counted():
    reference = trained(*blurred())
    reference.predicted = 1 - reference.predicted
    control, _ = train_control(reference, CONFIG)
    reference.predicted = 1 - reference.predicted
    assert control.changed == pytest.approx(1 - train_control(reference, CONFIG)[0].changed)


def test_there_is_a_control_if_the_reference_errs():
    learner = Learner(*blurred(), ["sign_flip"], trunk="mlp", budget=60)
    for _ in learner:
        if learner.search.finished:
            break
    assert learner.search.control is not None
    assert learner.search.reference.instability > 0
    [warning] = learner.search.warnings
    assert warning.startswith("predictions are unstable: ")
    learner.search.reference.control = Control(learner.search.reference.errors)
    assert not learner.search.warnings


def test_few_errors_are_no_instability():
    """Else the tolerance would depend on whether a transform is offered that needs a control."""
    reference = trained(*levels())
    reference.control = Control(reference.errors, changed=0.5)
    assert reference.instability == 0


def test_a_control_that_is_there_for_others_changes_nothing_if_the_reference_hardly_errs():
    reference = trained(*levels())
    distances = torch.zeros_like(reference.errors)
    reference.control = Control(reference.errors, distances=distances)
    for error, usual in ((0.0, reference.distances), (0.3, distances)):
        reference.error = error
        assert reference.usual_distances is usual
