"""Errors of samples, weighted so that every class counts the same."""

import pytest
import torch
from learn_tasks import Rule, Value, generator, levels

from augnet.learn.evaluate import Evaluator
from augnet.learn.inputs import prepare_data
from augnet.transforms import AmplitudeScale, SignFlip


def evaluator(x, y, largest=20.0):
    return Evaluator(prepare_data(x, y, generator()), largest)


def test_every_class_has_the_same_weight():
    y = torch.tensor([0] * 60 + [1] * 20 + [2] * 4)
    found = evaluator(torch.rand(84, 3), y)
    totals = torch.zeros(3).index_add(0, y, found.weights)
    torch.testing.assert_close(totals, torch.full((3,), 60.0))
    assert found.chance == pytest.approx(2 / 3)
    errors = (y == 2).float()
    assert found.mean(errors, torch.arange(84)).item() == pytest.approx(1 / 3)


def test_no_weight_exceeds_the_largest():
    y = (torch.arange(400) < 4).long()
    assert evaluator(torch.rand(400, 3), y).weights.unique().tolist() == [1, 20]


def test_errors_are_wrong_classes():
    x, y = levels()
    found, rows = evaluator(x, y), torch.arange(len(x))
    right, wrong = (Rule(lambda x, way=way: (x.mean(1) > 2) ^ way) for way in (False, True))
    for network, error in ((right, 0.0), (wrong, 1.0)):
        output = found.outputs(network, x)
        assert found.errors(output, rows).eq(error).all()
        assert found.score(output, rows) == pytest.approx(1 - error)


def test_errors_of_values_are_relative_to_those_of_a_constant():
    y = torch.rand(400, generator=generator())
    x = y[:, None].repeat(1, 3)
    found, rows = evaluator(x, y), torch.arange(400)
    exact, constant = Value(lambda x: x[:, 0]), Value(lambda x: torch.full((len(x),), 0.5))
    assert found.errors(found.outputs(exact, x), rows).max() == 0
    output = found.outputs(constant, x)
    assert found.mean(found.errors(output, rows), rows).item() == pytest.approx(1, abs=0.1)
    assert found.score(output, rows) == pytest.approx(0, abs=0.02)
    assert found.chance == 1
    assert found.weights.eq(1).all()


def test_several_values_have_one_error():
    y = torch.rand(60, 2, generator=generator())
    found = evaluator(torch.rand(60, 3), y)
    rows = torch.arange(60)
    assert found.errors(y, rows).shape == found.losses(y, y).shape == (60,)
    assert found.score(y, rows) == 1


def test_samples_are_transformed_at_a_fraction_of_the_limit():
    x, y = levels()
    found, rows = evaluator(x, y), torch.arange(len(x))
    network = Rule(lambda x: x.mean(1) > 2)

    def error(transform, fraction):
        errors = found.errors_at(network, transform, rows, fraction, generator())
        return found.mean(errors, rows).item()

    assert error(AmplitudeScale(8.0), 0.0) == 0
    assert error(AmplitudeScale(8.0), 0.2) == 0
    assert error(AmplitudeScale(8.0), 0.5) == pytest.approx(0.5, abs=0.1)
    assert error(SignFlip(), 1.0) == pytest.approx(0.5)


def test_chunks_and_modes_do_not_matter():
    network = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Dropout(0.5)).train()
    x = torch.rand(1100, 3)
    found = evaluator(x, torch.arange(1100) % 2)
    torch.testing.assert_close(found.outputs(network, x), network[0](x))
    assert network.training


def test_standard_errors_are_those_of_weighted_means_and_never_zero():
    found, rows = evaluator(torch.rand(1000, 3), torch.arange(1000) % 2), torch.arange(1000)
    assert found.deviation(torch.zeros(1000), rows) == 0.5 / 1000
    errors = (torch.arange(1000) % 5 == 0).float()
    assert found.deviation(errors, rows) == pytest.approx((0.2 * 0.8 / 1000) ** 0.5)
