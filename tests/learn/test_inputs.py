"""What learn takes as samples, labels and groups, and what it takes for a mistake."""

import numpy as np
import pytest
import torch
from torch import Generator

from augnet import learn
from augnet.learn import LearnConfig, Learner
from augnet.learn.inputs import prepare_data, prepare_transforms


def generator(seed=0):
    return Generator().manual_seed(seed)


def noise(*shape):
    return torch.rand(*shape, generator=generator())


LABELS = torch.arange(48) % 2


# Groups


def test_no_group_is_both_fitted_and_held_out():
    groups = [f"s{number % 8}" for number in range(48)]
    labels = torch.arange(48) // 8 % 2
    data = prepare_data(noise(48, 3), labels, generator(), groups=groups)
    assert data.groups.tolist() == [number % 8 for number in range(48)]
    fitted, held_out = (set(data.groups[rows].tolist()) for rows in (data.fitted, data.held_out))
    assert not fitted & held_out
    assert fitted | held_out == set(range(8))
    assert data.group_counts == (4, 4)
    assert sorted([*data.fitted.tolist(), *data.held_out.tolist()]) == list(range(48))
    assert labels[data.fitted].bincount().tolist() == [12, 12]
    assert data.fitted.tolist() != sorted(data.fitted.tolist())


def test_without_groups_there_are_none():
    data = prepare_data(noise(48, 3), LABELS, generator())
    assert data.groups is None
    assert data.group_counts is None


def test_seeds_keep_groups_whole_in_other_halves():
    groups = torch.arange(60) // 5
    labels = torch.arange(60) % 2
    config = LearnConfig(transforms="sign_flip", budget=1, seeds=2)
    learner = Learner(noise(60, 3), labels, groups=groups, config=config)
    other = learner._with_seed(1)
    for each in (learner, other):
        fitted, held_out = (
            set(groups[rows].tolist()) for rows in (each.data.fitted, each.data.held_out)
        )
        assert not fitted & held_out
    assert set(learner.data.fitted.tolist()) != set(other.data.fitted.tolist())


def test_learn_takes_groups():
    result = learn(noise(48, 3), LABELS, "sign_flip", groups=torch.arange(48) // 6, budget=1)
    assert [row.transform.name for row in result.invariances] == ["sign_flip"]


@pytest.mark.parametrize(
    ("y", "groups", "message"),
    [
        (LABELS, torch.arange(40) // 4, r"shape \(48,\); got shape \(40,\)"),
        (LABELS, torch.zeros(48), "at least 2 groups"),
        (LABELS, LABELS, "in fewer: 0, 1. Leave"),
        (
            np.array(["a", "b"])[LABELS],
            LABELS,
            "by groups: each class must be in 2 groups .* in fewer: a, b",
        ),
    ],
)
def test_groups_that_do_not_fit_are_refused(y, groups, message):
    with pytest.raises(ValueError, match=message):
        learn(noise(48, 3), y, "sign_flip", groups=groups)


# Labels


@pytest.mark.parametrize(
    "y",
    [
        np.array(["cat", "dog"])[LABELS],
        [["cat", "dog"][each] for each in LABELS],
        np.array(["cat", "dog"], dtype=object)[LABELS],
        np.array(["cat", "dog"])[LABELS][:, None],
        np.array([b"cat", b"dog"])[LABELS],
    ],
)
def test_strings_are_classes_in_sorted_order(y):
    data = prepare_data(noise(48, 3), y, generator())
    assert data.class_names == ("cat", "dog")
    assert data.classes == 2
    assert data.y.equal(LABELS)


@pytest.mark.parametrize(
    "y",
    [
        LABELS.bool(),
        LABELS.bool().numpy(),
        LABELS.bool().tolist(),
        LABELS.numpy().astype(np.uint32),
        LABELS.numpy().astype(">i4"),
        LABELS.numpy().astype(object),
        LABELS[:, None],
        LABELS[:, None].numpy(),
    ],
)
def test_whole_numbers_and_booleans_are_classes(y):
    data = prepare_data(noise(48, 3), y, generator())
    assert data.y.equal(LABELS)
    assert data.class_names == ()


def test_columns_of_pandas_are_taken():
    pandas = pytest.importorskip("pandas")
    names = ["cat", "dog"]
    frame = pandas.DataFrame(noise(48, 3).numpy(), columns=list("abc"))
    labels = [names[each] for each in LABELS]
    for y in (
        pandas.Series(labels),
        pandas.Series(labels, dtype="category"),
        pandas.Series(labels, dtype="string"),
        pandas.DataFrame({"y": labels}),
    ):
        data = prepare_data(frame, y, generator(), groups=pandas.Series(range(48)) // 6)
        assert data.class_names == ("cat", "dog")
        assert data.y.equal(LABELS)
        assert data.group_counts == (4, 4)
    data = prepare_data(frame, pandas.Series(LABELS.tolist(), dtype="Int64"), generator())
    assert data.y.equal(LABELS)
    missing = pandas.Series([None, *labels[1:]])
    with pytest.raises(TypeError, match="y takes numbers or strings; some are"):
        prepare_data(frame, missing, generator())
    values = pandas.Series(noise(48).numpy())
    assert prepare_data(frame, values, generator()).classes == 0


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([["a", "b"]] * 48), r"y of shape \(48, 2\)"),
        (["a"] * 48, r"at least 2 classes; all labels are \['a'\]"),
        (["a"] * 46 + ["b", "c"], "too few of b, c: leave these classes out"),
        ([*"ab" * 23, None, "a"], "some are NoneType: leave out samples without a value"),
        (None, "one value per sample; got None"),
    ],
)
def test_strings_that_are_no_labels_are_refused(y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        prepare_data(noise(48, 3), y, generator())


# Transforms and halves


def test_auto_takes_all_transforms_that_fit():
    images = {each.name for each in prepare_transforms("auto", noise(4, 3, 16, 16))}
    assert {"rotate", "hue", "horizontal_flip", "gaussian_noise", "sign_flip"} <= images
    assert not images & {"frequency_shift", "time_reverse", "time_mask"}
    signals = {each.name for each in prepare_transforms("auto", noise(4, 2, 300), sfreq=100)}
    assert {"frequency_shift", "time_reverse", "time_shift", "speed", "time_mask"} <= signals
    assert "rotate" not in signals


def test_the_first_of_either_half_are_of_all_classes():
    data = prepare_data(noise(400, 3), torch.arange(400) % 4, generator())
    for half in (data.fitted, data.held_out):
        assert data.y[half].bincount().tolist() == [50] * 4
        assert len(data.y[half[:50]].unique()) == 4
    assert not set(data.fitted.tolist()) & set(data.held_out.tolist())


# Mistakes


def test_whole_numbers_with_many_values_are_no_classes():
    ages = torch.randint(300, (1000,), generator=generator())
    with pytest.raises(
        ValueError, match=r"different ones, most of them on 3 samples or fewer: y.fl"
    ):
        prepare_data(noise(1000, 3), ages, generator())
    with pytest.raises(ValueError, match=r"y\.float\(\)"):
        prepare_data(noise(1000, 3), ages - 150, generator())
    assert prepare_data(noise(1000, 3), ages.float(), generator()).classes == 0
    rare = torch.cat((torch.arange(960) % 30, torch.tensor([31] * 2 + [32] * 38)))
    with pytest.raises(ValueError, match=r"too few of 31: leave .* or y\.float\(\) for values"):
        prepare_data(noise(1000, 3), rare, generator())


def test_many_classes_with_enough_samples_are_classes():
    data = prepare_data(noise(400, 3), torch.arange(400) % 100, generator())
    assert data.classes == 100


@pytest.mark.parametrize("shape", [(28, 28, 1), (32, 32, 3), (8, 12, 4)])
def test_channels_last_are_refused(shape):
    with pytest.raises(ValueError, match=r"channels last: x\.movedim\(-1, 1\)"):
        prepare_data(noise(48, *shape), LABELS, generator())
    data = prepare_data(noise(48, *shape).movedim(-1, 1), LABELS, generator())
    assert tuple(data.x.shape[1:]) == (shape[2], *shape[:2])


@pytest.mark.parametrize(
    "shape", [(3, 28, 3), (1, 32, 1), (22, 500, 1), (64, 4, 4), (16, 16, 16), (4, 4, 3), (8, 8)]
)
def test_other_shapes_are_taken(shape):
    assert prepare_data(noise(48, *shape), LABELS, generator()).x.shape[1:] == shape


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ((255 * noise(48, 3, 8, 8)).round(), r"whole numbers from 0 to 255: x / 255"),
        ((16 * noise(48, 1, 8, 8)).round(), r"whole numbers from 0 to 16: x / 16"),
        ((16 * noise(48, 1, 8, 8)).round().numpy(), "x / 16"),
    ],
)
def test_images_of_bytes_are_refused(x, message):
    with pytest.raises(ValueError, match=message):
        prepare_data(x, LABELS, generator())


@pytest.mark.parametrize(
    "x",
    [
        noise(48, 3, 8, 8),
        noise(48, 3, 8, 8).round(),  # masks
        4 * noise(48, 3, 8, 8) - 2,  # z-scores
        200 * noise(48, 1, 8, 8),  # physical units
        (4 * noise(48, 3, 8, 8) - 2).round(),
        (9 * noise(48, 5, 8, 8)).round(),  # no colors
        (255 * noise(48, 3, 64)).round(),  # signals
    ],
)
def test_other_values_are_taken(x):
    assert prepare_data(x, LABELS, generator()).x.equal(x)


# Threads


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", True])
def test_threads_are_a_whole_number(wrong):
    with pytest.raises(ValueError, match="threads takes a whole number from 1"):
        LearnConfig(threads=wrong)


def test_threads_are_used_between_rows_and_restored():
    before, other = torch.get_num_threads(), torch.get_num_threads() + 1
    seen = []

    class Trunk(torch.nn.Linear):
        def forward(self, x):
            seen.append(torch.get_num_threads())
            return super().forward(x)

    learner = Learner(noise(48, 3), LABELS, "sign_flip", trunk=Trunk(3, 2), budget=2, threads=other)
    seen.clear()
    for _ in learner:
        assert torch.get_num_threads() == before
    assert set(seen) == {other}


@pytest.mark.parametrize("name", ["x", "y"])
def test_values_that_would_underflow_are_refused(name):
    x, y = torch.randn(32, 3), torch.randn(32)
    x, y = (1e-30 * x, y) if name == "x" else (x, 1e-30 * y)
    with pytest.raises(ValueError, match=f"{name} that differ by 1e-15 or more; they differ by"):
        prepare_data(x, y)


@pytest.mark.parametrize("name", ["x", "y"])
def test_values_that_would_overflow_are_refused(name):
    x, y = torch.randn(32, 3), torch.randn(32)
    (x if name == "x" else y).view(-1)[5] = -1e30
    with pytest.raises(ValueError, match=f"{name} up to 1e.15; the largest value is 1e.30"):
        prepare_data(x, y)


def test_targets_have_to_vary_on_both_sides():
    y = torch.rand(64, 3)
    y[:, 1] = (torch.arange(64) == 5).float()
    with pytest.raises(ValueError, match="column 1 is nearly the same for all"):
        prepare_data(torch.rand(64, 2), y, torch.Generator().manual_seed(0))
    ages = (torch.arange(64) // 32).float()
    with pytest.raises(ValueError, match=r"vary on both sides.*more samples or groups"):
        prepare_data(torch.rand(64, 2), ages, groups=torch.arange(64) // 32)
