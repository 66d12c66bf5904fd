"""Groups of a user's data: where they are read from, and that no split divides them."""

import csv

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import save_file

from augnet.data import DataError, read, split


def arrays(path, **more):
    """Write 60 samples of two classes from six subjects."""
    x = np.random.default_rng(0).normal(size=(60, 3))
    np.savez(path, x=x, y=np.arange(60) % 2, **more)
    return path


SUBJECTS = np.array([f"s{number // 10}" for number in range(60)])


def files_of(parts, rows):
    return [{SUBJECTS[int(name)] for name in part.names} for part in parts][rows]


def test_an_array_called_groups_is_used(tmp_path):
    found = read(arrays(tmp_path / "d.npz", groups=SUBJECTS))
    assert found.groups.tolist() == [number // 10 for number in range(60)]
    assert found.group_kind == "groups (groups)"
    for seed in range(5):
        parts = split(found, seed)
        assert not files_of(parts, 0) & files_of(parts, 1)
        assert parts.train.y.bincount().tolist() == [25, 25]
    note = "training and test samples come from different groups (groups): 5 and 1"
    assert note in found.log


def test_an_array_is_used_by_its_name(tmp_path):
    path = arrays(tmp_path / "d.npz", Subject=SUBJECTS)
    assert read(path).groups is None
    assert read(path, groups="Subject").grouped_by == "Subject"
    assert read(path, groups="subject").groups.max() == 5
    with pytest.raises(DataError, match="has no array speaker for --groups"):
        read(path, groups="speaker")
    numbers = np.arange(60) // 10
    x, y = np.zeros((60, 3), dtype=np.float32), np.arange(60) % 2
    save_file({"x": x, "y": y, "groups": numbers}, tmp_path / "d.safetensors")
    assert read(tmp_path / "d.safetensors").groups.tolist() == numbers.tolist()
    for name, array in (("x", x), ("y", y), ("groups", SUBJECTS), ("slide", numbers)):
        np.save(tmp_path / f"train_{name}.npy", array)
    assert read(tmp_path / "train_x.npy").groups.tolist() == numbers.tolist()
    assert read(tmp_path / "train_x.npy", groups="slide").grouped_by == "slide"
    unlabeled = read(tmp_path / "train_x.npy", labeled=False)
    assert unlabeled.groups is None


def test_groups_follow_the_samples_that_are_kept(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[::7] = np.nan
    np.savez(tmp_path / "d.npz", x=x, y=np.arange(60) % 2, groups=SUBJECTS)
    found = read(tmp_path / "d.npz", max_samples=40)
    assert len(found) < 40
    assert [f"s{each}" for each in found.groups.tolist()] == [
        SUBJECTS[int(name)] for name in found.names
    ]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (SUBJECTS[:50], "d.npz, groups: groups takes one group per sample"),
        (np.zeros(60), "at least 2 groups"),
        (np.where(np.arange(60) < 9, np.nan, np.arange(60) // 10), "NaN"),
    ],
)
def test_groups_that_do_not_fit_are_refused(tmp_path, groups, message):
    with pytest.raises(DataError, match=message):
        read(arrays(tmp_path / "d.npz", groups=groups))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(60) // 30, r"2 groups \(groups\) are too few: learning needs 3 or more"),
        (np.arange(60) % 4, "each class must be in 3 groups or more, .* in fewer: 0, 1. "),
        (np.where(np.arange(60) % 2, 9, np.arange(60) % 8), "in fewer: 1. "),
    ],
)
def test_too_few_groups_are_refused_and_not_split(tmp_path, groups, message):
    found = read(arrays(tmp_path / "d.npz", groups=groups))
    with pytest.raises(DataError, match=message):
        split(found)


def test_a_class_of_two_groups_is_learned_and_not_tested(tmp_path):
    groups = np.where(np.arange(60) % 2, 20 + np.arange(60) % 4, np.arange(60) % 20)
    found = read(arrays(tmp_path / "d.npz", groups=groups))
    train, test = split(found)
    assert train.y.bincount()[1] == 30
    assert not set(train.groups.tolist()) & set(test.groups.tolist())
    assert "no test samples of 1: their groups are too few" in found.log


def table(root, header, subjects):
    for number in range(len(subjects)):
        Image.new("L", (8, 8), 4 * number).save(root / f"{number}.png")
    with (root / "t.csv").open("w", newline="") as file:
        lines = [(f"{n}.png", "ab"[n % 2], subject) for n, subject in enumerate(subjects)]
        csv.writer(file).writerows([header, *lines])
    return root / "t.csv"


def test_a_column_of_a_table_has_groups(tmp_path):
    subjects = [*(f"s{number // 5}" for number in range(40)), ""]
    path = table(tmp_path, ("path", "label", "Patient"), subjects)
    assert read(path).groups is None
    found = read(path, groups="patient")
    assert found.groups.tolist() == [number // 5 for number in range(40)]
    assert found.grouped_by == "patient"
    assert found.log.counts == {"rows without a group": 1}
    train, test = split(found)
    assert not set(train.groups.tolist()) & set(test.groups.tolist())
    with pytest.raises(DataError, match="columns path, label, Patient; expected speaker"):
        read(path, groups="speaker")
    path = table(tmp_path, ("path", "label", "groups"), subjects)
    assert read(path).grouped_by == "groups"


def test_folders_say_what_to_do_instead(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        Image.new("L", (8, 8)).save(tmp_path / name / "1.png")
    with pytest.raises(DataError, match=r"--groups is not for .*: list the images in a table"):
        read(tmp_path, groups="subject")
    (tmp_path / "a" / "1.edf").touch()
    with pytest.raises(DataError, match="each recording is a group already"):
        read(tmp_path, kind="recordings", groups="subject")


def test_whole_numbers_with_many_values_are_no_classes(tmp_path):
    ages = np.random.default_rng(0).integers(0, 300, 1000)
    x = np.zeros((1000, 3))
    np.savez(tmp_path / "d.npz", x=x, y=ages)
    with pytest.raises(DataError, match="use --task regression if these are values"):
        read(tmp_path / "d.npz")
    assert read(tmp_path / "d.npz", task="regression").y.dtype == torch.float32
    assert len(read(tmp_path / "d.npz", task="classification").classes) > 200
    np.savez(tmp_path / "d.npz", x=x, y=ages.astype(str))
    with pytest.raises(DataError, match="different whole numbers as labels, most of them 3 times"):
        read(tmp_path / "d.npz")
    np.savez(tmp_path / "d.npz", x=x, y=[f"person {age}" for age in ages])
    assert len(read(tmp_path / "d.npz").classes) > 200
