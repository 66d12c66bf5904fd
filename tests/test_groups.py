"""Groups are never on both sides of a split, and both sides have their share of all classes."""

import numpy as np
import pytest
import torch
from torch import Generator

from augnet.groups import draw_sides, halve, in_fewer_groups, number_groups, refusal


def generator(seed=0):
    return Generator().manual_seed(seed)


def subjects(count=20, per_subject=15, classes=3, seed=0):
    """Return groups of different sizes with different parts of classes, and labels."""
    draws = generator(seed)
    sizes = torch.randint(per_subject // 3, 2 * per_subject, (count,), generator=draws)
    groups = torch.arange(count).repeat_interleave(sizes)
    parts = torch.rand(count, classes, generator=draws)
    labels = parts[groups].multinomial(1, generator=draws)[:, 0]
    order = torch.randperm(len(groups), generator=draws)
    return groups[order], labels[order]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("count", [4, 20, 200])
def test_halves_share_no_group_and_have_half_of_each_class(count, seed):
    groups, labels = subjects(count, seed=seed)
    fitted = halve(groups, labels, generator(seed))
    assert not set(groups[fitted].tolist()) & set(groups[~fitted].tolist())
    parts = labels[fitted].bincount() / labels.bincount()
    assert ((parts - 0.5).abs() < (0.35 if count == 4 else 0.12)).all()


def test_halves_depend_on_the_seed_alone():
    groups, labels = subjects()
    first, again, other = (halve(groups, labels, generator(seed)) for seed in (0, 0, 1))
    assert first.equal(again)
    assert not first.equal(other)


@pytest.mark.parametrize("fraction", [0.2, 0.5])
def test_a_side_has_about_the_fraction_and_is_never_empty(fraction):
    groups, labels = subjects(50)
    sides = draw_sides(groups, labels, fraction, generator())
    assert abs(float(sides[0].double().mean()) - fraction) < 0.08
    two = draw_sides(torch.arange(40) % 2, torch.arange(40) // 20, fraction, generator())
    assert two.sum(1).tolist() == [20] * len(two)


def test_groups_of_one_class_each_are_split_within_classes():
    labels = torch.arange(120) % 2
    groups = torch.arange(120) // 20 * 2 + labels  # six subjects of each class
    fitted = halve(groups, labels, generator())
    assert labels[fitted].bincount().tolist() == [30, 30]


def test_the_largest_side_is_fitted():
    groups = torch.tensor([0] * 90 + [1] * 5 + [2] * 5)
    for seed in range(5):
        fitted = halve(groups, torch.arange(100) % 2, generator(seed))
        assert fitted[:90].all()


@pytest.mark.parametrize("shape", [(200,), (200, 1), (200, 2)])
def test_values_are_split_too(shape):
    values = torch.randn(shape, generator=generator())
    groups = torch.arange(200) % 20
    fitted = halve(groups, values, generator())
    assert not set(groups[fitted].tolist()) & set(groups[~fitted].tolist())
    assert fitted.sum() == 100


def test_a_class_of_one_group_is_named():
    labels = torch.tensor([0, 1, 2]).repeat_interleave(20)
    groups = torch.arange(60) % 4
    groups[labels == 2] = 7
    assert halve(groups, labels, generator()) is None
    assert in_fewer_groups(groups, labels, 2).tolist() == [2]
    message = refusal(groups, labels, 2, ("cat", "dog", "owl"))
    assert "in fewer: owl. Leave these classes out" in message
    assert "in fewer: 2. " in refusal(groups, labels, 2)


def test_groups_that_cannot_be_halved_are_refused():
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    groups = torch.tensor([0, 1, 1, 2, 2, 0])  # each two of three groups share a class
    assert halve(groups, labels, generator()) is None
    assert "no split of the 3 groups has all classes" in refusal(groups, labels, 2)


@pytest.mark.parametrize(
    "groups",
    [
        torch.tensor([5, 5, 9, 5]),
        np.array(["b", "b", "c", "b"]),
        ["b", "b", "c", "b"],
        np.array([["b"], ["b"], ["c"], ["b"]]),
        np.array(["b", "b", "c", "b"], dtype=object),
        np.array([1, 1, "s2", 1], dtype=object),
        [1.0, 1.0, 2.0, 1.0],
        np.array([b"b", b"b", b"c", b"b"]),
    ],
)
def test_groups_are_numbers_or_strings(groups):
    assert number_groups(groups, 4).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2, 3], r"one group per sample, shape \(4,\); got shape \(3,\)"),
        (np.eye(4), r"got shape \(4, 4\)"),
        ([1, 1, 1, 1], "all samples are of group 1: leave groups out"),
        ([1.0, 2.0, float("nan"), 1.0], "has NaN: leave out samples without a group"),
        (["a", None, "b", "a"], "some are NoneType: leave out"),
        (["a", float("nan"), "b", "a"], "some are float: leave out"),
        (np.array(["a", float("nan"), "b", 1], dtype=object), "some are float: leave out"),
        ("subject", "one value per sample; got 'subject'"),
        ([[1], [1, 2], [3], [4]], "an array of numbers or strings"),
    ],
)
def test_what_are_no_groups_is_refused(groups, message):
    with pytest.raises((ValueError, TypeError), match=message):
        number_groups(groups, 4)
