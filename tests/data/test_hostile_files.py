"""Files that are not what they seem: pipes, links, strange names, damaged headers."""

import os
import sys
import zipfile

import numpy as np
import pytest
import torch
from edf import write_edf
from PIL import Image
from safetensors.torch import save_file

from augnet.data import DataError, InputSpec, read
from augnet.data.folders import OUTSIDE

linux = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such files")


def images(root, classes=("cat", "dog"), count=3):
    for label in classes:
        (root / label).mkdir(parents=True)
        for number in range(count):
            Image.new("L", (8, 8), 40 * number).save(root / label / f"{number}.png")
    return root


@linux
def test_pipes_are_skipped_and_do_not_hang(tmp_path):
    images(tmp_path)
    os.mkfifo(tmp_path / "cat" / "9.png")
    found = read(tmp_path)
    assert len(found) == 6
    assert found.log.counts == {"pipes, devices and sockets": 1}
    for name in ("d.npz", "d.csv", "d.edf"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DataError, match="is a pipe or a device"):
            read(tmp_path / name)
    (tmp_path / "t.csv").write_text("path,label\ncat/9.png,a\ncat/1.png,b\n")
    assert read(tmp_path / "t.csv").names == ("cat/1.png",)


@linux
def test_links_out_of_the_folder_are_followed_only_if_told(tmp_path):
    images(tmp_path / "data")
    Image.new("L", (8, 8)).save(tmp_path / "secret.png")
    images(tmp_path / "other", ("bird",))
    (tmp_path / "data" / "cat" / "link.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "data" / "cat" / "near.png").symlink_to(tmp_path / "data" / "cat" / "1.png")
    (tmp_path / "data" / "bird").symlink_to(tmp_path / "other" / "bird")
    found = read(tmp_path / "data")
    assert found.classes == ("cat", "dog")
    assert len(found) == 7
    assert found.log.counts == {OUTSIDE: 2}
    found = read(tmp_path / "data", follow_links=True)
    assert found.classes == ("bird", "cat", "dog")
    assert len(found) == 11
    (tmp_path / "all").symlink_to(tmp_path / "data")  # DATA itself may be a link
    assert len(read(tmp_path / "all")) == 7


def test_names_are_escaped_where_they_are_read(tmp_path):
    images(tmp_path, ("a\x1b[31m", "b"))
    found = read(tmp_path)
    assert found.classes == (r"a\x1b[31m", "b")
    assert found.names[0] == r"a\x1b[31m/0.png"


@pytest.mark.skipif(sys.platform != "linux", reason="names are UTF-8 elsewhere")
def test_names_that_are_not_utf8_are_escaped(tmp_path):
    images(tmp_path, ("a\udcff", "b"))
    found = read(tmp_path)
    assert found.classes == (r"a\xff", "b")
    "".join((*found.classes, *found.names, *found.log)).encode()
    images(tmp_path, (r"a\xff",))
    with pytest.raises(DataError, match="differ in characters only that cannot be printed"):
        read(tmp_path)


def test_a_folder_of_both_kinds_asks_which_is_meant(tmp_path):
    images(tmp_path)
    (tmp_path / "cat" / "stray.edf").touch()
    with pytest.raises(DataError, match=r"has 6 images \(.*\) and 1 recordings \(such as stray"):
        read(tmp_path)
    assert len(read(tmp_path, kind="images")) == 6
    with pytest.raises(DataError, match="no windows"):
        read(tmp_path, kind="recordings")
    with pytest.raises(DataError, match="--kind is one of"):
        read(tmp_path, kind="pictures")


@pytest.mark.parametrize("word", ["NA", "nan", " n/a", "", "NULL", "#N/A"])
def test_missing_labels_of_values_are_dropped_and_counted(tmp_path, word):
    images(tmp_path)
    lines = [f"cat/{n}.png,{n / 4}" for n in range(3)] + [f"dog/{n}.png,{word}" for n in range(2)]
    (tmp_path / "t.csv").write_text("\n".join(["path,label", *lines]))
    found = read(tmp_path / "t.csv")
    assert found.classes == ()
    assert found.y.tolist() == [0.0, 0.25, 0.5]
    assert found.log.counts == {"rows without a label": 2}


@pytest.mark.parametrize("word", ["unknown", "inf", "1e999", "0,5"])
def test_values_among_other_labels_are_neither_values_nor_classes_until_said(tmp_path, word):
    labels = np.array(["0.5", "0.25", "1", "0.5", word])
    np.savez(tmp_path / "d.npz", x=np.zeros((5, 2)), y=labels)
    for task in ("auto", "regression"):
        with pytest.raises(DataError, match=f"4 of 5 are, 1 are not, such as '{word}'"):
            read(tmp_path / "d.npz", task=task)
    assert len(read(tmp_path / "d.npz", task="classification").classes) == 4


def test_na_may_be_the_name_of_a_class(tmp_path):
    images(tmp_path)
    lines = [f"cat/{n}.png,NA" for n in range(3)] + [f"dog/{n}.png,EU" for n in range(3)]
    (tmp_path / "t.csv").write_text("\n".join(["path,label", *lines]))
    assert read(tmp_path / "t.csv").classes == ("EU", "NA")


def test_a_label_that_is_a_document_is_refused(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 2)), y=np.array(["a" * 2000, "b"] * 2))
    with pytest.raises(DataError, match="more than 1024 characters"):
        read(tmp_path / "d.npz")


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((4, 2)), np.array(1), "y must have one label per sample"),
        (np.zeros((4, 0)), np.arange(4), "x must be an array of numbers"),
        (np.zeros((4, 2)), np.zeros(4, dtype="M8[s]"), "labels are numbers or strings"),
        (np.zeros((4, 2)), np.zeros(4, dtype=complex), "labels are numbers or strings"),
        (np.zeros((4, 2)), np.zeros(4, dtype=[("a", int)]), "labels are numbers or strings"),
        (np.zeros((4, 2)), np.arange(4) * 1e30, "some labels are as large as 3e\\+30: use --task"),
        (np.full((4, 2), 1e39), np.arange(4), "all 4 samples have NaN or infinite values"),
    ],
)
def test_arrays_that_cannot_be_used_are_refused(tmp_path, x, y, message):
    np.savez(tmp_path / "d.npz", x=x, y=y)
    with pytest.raises(DataError, match=message):
        read(tmp_path / "d.npz")


def test_large_whole_numbers_in_text_stay_different_classes(tmp_path):
    names = ("9007199254740992", "9007199254740993")  # the same as floats
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 2)), y=np.array(names * 2))
    assert read(tmp_path / "d.npz").classes == names


def test_members_that_are_no_arrays_and_sizes_beyond_the_memory_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as file:
        file.writestr("x", "hello")
        file.writestr("y", "hello")
    with pytest.raises(DataError, match="x is no array"):
        read(tmp_path / "text.npz")
    np.save(tmp_path / "one.npy", np.zeros(9))
    header = (tmp_path / "one.npy").read_bytes()
    huge = header.replace(b"(9,), }" + b" " * 14, b"(1099511627776,), }  ")
    assert len(huge) == len(header)
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as file:
        file.writestr("x.npy", huge)
        file.writestr("y.npy", header)
    with pytest.raises(DataError, match=r"larger than the memory|damaged|truncated"):
        read(tmp_path / "huge.npz")


def test_suffixes_in_capitals_are_read(tmp_path):
    with (tmp_path / "D.NPZ").open("wb") as file:
        np.savez(file, x=np.zeros((4, 2)), y=np.arange(4) % 2)
    assert len(read(tmp_path / "D.NPZ")) == 4


@pytest.mark.parametrize("error", [AssertionError(), Exception("bad\nheader"), MemoryError()])
def test_whatever_mne_raises_is_counted(tmp_path, monkeypatch, error):
    mne = pytest.importorskip("mne")

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(mne.io, "read_raw", fail)
    (tmp_path / "a.edf").touch()
    with pytest.raises(DataError, match=f"a.edf: ({type(error).__name__}|bad header)"):
        read(tmp_path / "a.edf")


@pytest.mark.parametrize("option", [{"sfreq": float("nan")}, {"window": -1.0}, {"sfreq": 0.0}])
def test_rates_that_are_no_rates_are_refused(tmp_path, option):
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 2, 9)), y=np.arange(4))
    with pytest.raises(DataError, match="takes a positive number"):
        read(tmp_path / "d.npz", **option)


def test_an_empty_table_is_refused(tmp_path):
    (tmp_path / "t.csv").touch()
    with pytest.raises(DataError, match="has no rows"):
        read(tmp_path / "t.csv")


def rows_of(root):
    return [f"{label}/{number}.png,{label},{number}" for label in "ab" for number in range(4)]


@pytest.mark.parametrize(
    "names", ["path,label,label", "path,Label,label ", "path,y,Y", "path,path,y"]
)
def test_columns_of_the_same_name_are_refused(tmp_path, names):
    images(tmp_path, "ab", 4)
    (tmp_path / "t.csv").write_text("\n".join([names, *rows_of(tmp_path)]))
    with pytest.raises(DataError, match=r"has 2 columns (label|y|path): rename all but one"):
        read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("\n".join([f"{names},other,Other", *rows_of(tmp_path)]))
    with pytest.raises(DataError, match="rename all but one"):
        read(tmp_path / "t.csv")


def test_columns_that_are_not_used_may_have_the_same_name(tmp_path):
    images(tmp_path, "ab", 4)
    rows = [f"{row},1" for row in rows_of(tmp_path)]
    (tmp_path / "t.csv").write_text("\n".join(["path,label,other,other", *rows]))
    assert len(read(tmp_path / "t.csv")) == 8


def test_columns_of_the_same_name_are_refused_in_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    images(tmp_path, "ab", 4)
    paths = [f"{label}/{number}.png" for label in "ab" for number in range(4)]
    table = arrow.table([paths, ["a", "b"] * 4, ["b", "a"] * 4], ["path", "label", "Label"])
    parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError, match="has 2 columns label"):
        read(tmp_path / "t.parquet")


def test_a_quote_that_is_not_closed_swallows_no_rows(tmp_path):
    images(tmp_path, "ab", 4)
    rows = rows_of(tmp_path)
    rows[4] = '"' + rows[4]
    (tmp_path / "t.csv").write_text("\n".join(["path,label,x", *rows]))
    with pytest.raises(DataError, match="is not a CSV file in UTF-8: unexpected end of data"):
        read(tmp_path / "t.csv")


def test_rows_that_are_too_short_have_no_label(tmp_path):
    images(tmp_path, "ab", 4)
    rows = [*rows_of(tmp_path), "a/0.png", ""]
    (tmp_path / "t.csv").write_text("\n".join(["path,label,x", *rows]))
    assert read(tmp_path / "t.csv").log.counts == {"rows without a label": 1}


def test_a_file_that_is_named_again_is_counted_once(tmp_path):
    images(tmp_path, "ab", 4)
    rows = [*rows_of(tmp_path), "a/0.png,a,7"]
    (tmp_path / "t.csv").write_text("\n".join(["path,label,x", *rows]))
    found = read(tmp_path / "t.csv")
    assert len(found) == 8
    assert found.log.counts == {"rows that name a file again": 1}
    assert len(read(tmp_path / "t.csv", labeled=False)) == 9  # each row is predicted
    (tmp_path / "t.csv").write_text("\n".join(["path,label,x", *rows, "a/0.png,b,7"]))
    with pytest.raises(DataError, match=r"gives a/0.png two labels, a and b: keep one row"):
        read(tmp_path / "t.csv")


@pytest.mark.parametrize("word", ["NA", " ", "", "nan", "?"])
def test_rows_without_a_group_are_dropped_and_counted(tmp_path, word):
    images(tmp_path, "ab", 4)
    rows = [row if row[2] != "3" else f"{row[:-1]}{word}" for row in rows_of(tmp_path)]
    (tmp_path / "t.csv").write_text("\n".join(["path,label,groups", *rows]))
    found = read(tmp_path / "t.csv")
    assert found.groups.tolist() == [0, 1, 2] * 2
    assert found.log.counts == {"rows without a group": 2}


def test_a_group_that_is_nan_in_parquet_is_missing(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    images(tmp_path, "ab", 4)
    paths = [f"{label}/{number}.png" for label in "ab" for number in range(4)]
    groups = [0.0, 1.0, 2.0, float("nan")] * 2
    table = arrow.table({"path": paths, "label": ["a"] * 4 + ["b"] * 4, "groups": groups})
    parquet.write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").log.counts == {"rows without a group": 2}


@pytest.mark.parametrize("name", ["", "  "])
def test_groups_without_a_name_are_refused(tmp_path, name):
    groups = np.array([name, "a", "b", "c"])
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 2)), y=np.arange(4) % 2, groups=groups)
    with pytest.raises(DataError, match="groups has empty names"):
        read(tmp_path / "d.npz")


def test_arrays_of_the_same_name_are_refused(tmp_path):
    x, y = np.zeros((4, 2)), np.arange(4) % 2
    np.savez(tmp_path / "d.npz", x=x, X=x + 1, y=y)
    with pytest.raises(DataError, match="has 2 arrays x: keep one of them"):
        read(tmp_path / "d.npz")
    np.savez(tmp_path / "d.npz", x=x, y=y)
    with zipfile.ZipFile(tmp_path / "d.npz", "a") as file, pytest.warns(UserWarning, match="Dupl"):
        file.writestr("y.npy", file.read("y.npy"))
    with pytest.raises(DataError, match="has 2 arrays y"):
        read(tmp_path / "d.npz")


def test_labels_in_bytes_are_text(tmp_path):
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 2)), y=np.array([b"caf\xc3\xa9", b"b\xff"] * 2))
    assert read(tmp_path / "d.npz").classes == (r"b\xff", "café")
    np.savez(tmp_path / "d.npz", x=np.zeros((4, 2)), y=np.array([b"0.5", b"2"] * 2))
    assert read(tmp_path / "d.npz").y.tolist() == [0.5, 2.0, 0.5, 2.0]


def test_images_with_nan_are_skipped(tmp_path):
    images(tmp_path)
    for value in (np.nan, np.inf):
        pixels = np.full((8, 8), value, dtype=np.float32)
        Image.fromarray(pixels).save(tmp_path / "cat" / f"{value}.tif")
    assert read(tmp_path).log.counts == {"NaN or infinite values": 2}


def test_types_that_numpy_has_not_are_named(tmp_path):
    save_file({"x": torch.zeros(4, 2, dtype=torch.bfloat16)}, tmp_path / "d.safetensors")
    with pytest.raises(DataError, match="has arrays of type 'BF16': save them as float32"):
        read(tmp_path / "d.safetensors", labeled=False)


@pytest.mark.parametrize("option", [{"sfreq": 100.0}, {"channels": ("a", "b")}])
@pytest.mark.parametrize("shape", [(4, 2), (4, 1, 5, 5)])
def test_options_of_signals_are_refused_for_others(tmp_path, option, shape):
    np.savez(tmp_path / "d.npz", x=np.zeros(shape), y=np.arange(4) % 2)
    with pytest.raises(DataError, match=r"--(sfreq|channels) is for signals \(N, C, T\)"):
        read(tmp_path / "d.npz", **option)


def recording(path):
    pytest.importorskip("mne")
    marks = [(float(number), 1.0, "ab"[number % 2]) for number in range(6)]
    return write_edf(path, {"C3": np.arange(600.0), "C4": np.arange(600.0)}, annotations=marks)


@pytest.mark.parametrize("window", [1e-9, 0.009, 1e30])
def test_windows_of_no_or_too_many_samples_are_refused(tmp_path, window):
    with pytest.raises(DataError, match="choose another --window"):
        read(recording(tmp_path / "r.edf"), window=window)


def test_a_model_whose_window_is_damaged_reads_no_recordings(tmp_path):
    spec = InputSpec(kind="signals", shape=(1, 5), sfreq=100.0, channels=("C3",), window=1e-9)
    with pytest.raises(DataError, match="5 samples at 100 Hz are no window of 1e-09 s"):
        read(recording(tmp_path / "r.edf"), spec, labeled=False)


def test_annotations_that_never_end_are_cut_and_those_without_a_time_skipped(tmp_path, monkeypatch):
    path = recording(tmp_path / "r.edf")
    marks = [
        (0.0, 1e300, "a"),
        (1.0, float("inf"), "b"),
        (2.0, -1.0, "a"),
        (float("nan"), 1.0, "b"),
    ]
    marks.append((1e300, 1.0, "b"))
    monkeypatch.setattr(sys.modules["augnet.data.recordings"], "_marks", lambda raw: marks)
    found = read(path, window=1.0)
    assert found.y.tolist() == [0] * 6 + [1] * 5
    assert found.log.counts["annotations without a time"] == 3


def test_channels_that_are_named_twice_are_refused(tmp_path):
    with pytest.raises(DataError, match="--channels has a name twice; got C3, C3"):
        read(recording(tmp_path / "r.edf"), channels=("C3", "C3"))
