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
    assert found.chance == pytest.approx(1, abs=0.05)  # of the best constant of the held-out half
    assert found.chance_score == 0
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


@pytest.mark.parametrize("counts", [(1000, 10), (4000, 20), (60, 20, 4)])
def test_a_constant_prediction_is_not_better_than_chance(counts):
    y = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    found = Evaluator(prepare_data(torch.rand(len(y), 3), y, generator()), 20.0, 500)
    for constant in range(len(counts)):
        errors = (y[found.rows] != constant).float()
        assert found.mean(errors, found.rows).item() >= found.chance - 1e-6


def test_a_constant_is_not_better_than_chance_if_groups_have_other_classes():
    y = torch.tensor([0] * 90 + [1] * 10 + [0] * 10 + [1] * 90)
    groups = torch.arange(200) // 100
    found = Evaluator(prepare_data(torch.rand(200, 3), y, generator(), groups=groups), 20.0)
    constant = int(y[found.rows].bincount().argmax())
    errors = (y[found.rows] != constant).float()
    assert found.mean(errors, found.rows).item() == pytest.approx(found.chance)
    assert found.chance == pytest.approx(0.5)


def test_rare_classes_are_measured_too():
    y = (torch.arange(4000) < 30).long()
    data = prepare_data(torch.rand(4000, 3), y, generator())
    assert int(y[data.measured(100)].sum()) == 15
    assert torch.equal(data.measured(5000), data.held_out)
    even = prepare_data(torch.rand(4000, 3), torch.arange(4000) % 2, generator())
    assert torch.equal(even.measured(500), even.held_out[:500])


def test_one_group_is_not_taken_for_certainty():
    y, groups = torch.arange(400) % 2, torch.arange(400) // 200
    some = prepare_data(torch.rand(400, 3), y, generator(), groups=groups)
    found, alone = Evaluator(some, 20.0), evaluator(torch.rand(400, 3), y)
    values = (torch.rand(200, generator=generator()) < 0.2).float()
    deviation = found.deviation(values, found.rows)
    assert deviation == pytest.approx(alone.deviation(values, alone.rows), rel=0.01)
    weights = found.resample(found.rows, 500, torch.Generator().manual_seed(5))
    means = (weights @ values) / weights.sum(1)
    assert means.std().item() == pytest.approx(deviation, rel=0.4)


def test_the_deviation_of_few_groups_is_that_of_their_means():
    groups = torch.arange(400) // 20
    data = prepare_data(torch.rand(400, 3), torch.arange(400) % 2, generator(), groups=groups)
    found = Evaluator(data, 20.0)
    values = torch.zeros(len(found.rows))
    names = groups[found.rows].unique()
    for group in names[::2]:
        values[groups[found.rows] == group] = 1.0
    means = torch.stack([values[groups[found.rows] == group].mean() for group in names])
    expected = means.std().item() / len(names) ** 0.5
    assert found.deviation(values, found.rows) == pytest.approx(expected, rel=1e-3)
