"""Data of one's own: what is read, how, and what becomes of all that can be wrong with it."""

import csv
import os
import sys
import time

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import save_file

from augnet.data import DataError, read, split
from augnet.data.collection import draw_rows, encode


def draw(path, color=(200, 30, 60), size=(20, 16), mode="RGB", **how):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, color).convert(mode).save(path, **how)
    return path


def pets(root, count=8, **how):
    for number in range(count):
        draw(root / "cat" / f"{number}.png", (200, 30, 10 * number), **how)
        draw(root / "dog" / "young" / f"{number}.jpg", (20, 130, 10 * number), **how)
    return root


# Images


def test_a_folder_of_images_has_classes_by_its_folders(tmp_path):
    found = read(pets(tmp_path))
    assert found.classes == ("cat", "dog")
    assert tuple(found.x.shape) == (16, 3, 16, 20)
    assert found.x.dtype == torch.uint8
    assert found.y.tolist() == [0] * 8 + [1] * 8
    assert found.names[0] == "cat/0.png"
    assert found.x[3, :, 0, 0].tolist() == [200, 30, 30]
    assert list(found.log) == []
    again = read(tmp_path / "dog", found.input_spec, labeled=False)
    assert again.y is None
    assert again.x.equal(found.x[8:])


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "gif", "tif", "webp", "ppm"])
def test_any_format_is_read(tmp_path, suffix):
    for name in ("a", "b"):
        draw(tmp_path / name / f"1.{suffix}", (250, 250, 250))
    found = read(tmp_path)
    assert found.x.float().mean() > 240


def test_mixed_sizes_are_resized_with_a_note(tmp_path):
    pets(tmp_path)
    draw(tmp_path / "cat" / "large.png", size=(400, 300))
    found = read(tmp_path)
    assert found.input_spec.shape == (3, 16, 20)
    assert any("mixed sizes were resized to 16 × 20" in note for note in found.log)
    assert read(tmp_path, size=10).input_spec.shape == (3, 8, 10)
    large = pets(tmp_path / "large", size=(640, 320))
    assert read(large).input_spec.shape == (3, 32, 64)


def test_gray_deep_and_transparent_images_are_read(tmp_path):
    draw(tmp_path / "a" / "1.png", (100, 100, 100), mode="L")
    deep = tmp_path / "b" / "1.png"
    deep.parent.mkdir()
    Image.fromarray(np.full((16, 20), 100 * 257, dtype=np.uint16)).save(deep)
    found = read(tmp_path)
    assert found.input_spec.mode == "L"
    assert (found.x.float() - 100).abs().max() <= 1
    draw(tmp_path / "c" / "1.png", mode="RGBA")
    draw(tmp_path / "c" / "2.gif", mode="P")
    assert read(tmp_path).input_spec.mode == "RGB"


def test_images_on_nothing_are_on_white(tmp_path):
    drawing = Image.new("RGBA", (20, 16), (0, 0, 0, 0))
    drawing.paste((0, 0, 0, 255), (0, 0, 10, 16))
    palette = Image.new("P", (20, 16), 1)
    palette.putpalette([0, 0, 0, 0, 0, 0])
    palette.paste(0, (0, 0, 10, 16))
    opaque = Image.new("RGBA", (20, 16), (0, 0, 0, 255))
    for name in ("rgba", "gray", "palette", "opaque"):
        (tmp_path / name).mkdir()
    drawing.save(tmp_path / "rgba" / "1.png")
    drawing.convert("LA").save(tmp_path / "gray" / "1.png")
    palette.save(tmp_path / "palette" / "1.png", transparency=1)
    opaque.save(tmp_path / "opaque" / "1.png")
    found = read(tmp_path)
    for image, name in zip(found.x, found.names, strict=True):
        left, right = image[..., :10], image[..., 10:]
        assert not left.any()
        assert right.eq(0 if name.startswith("opaque") else 255).all()
    assert list(found.log) == ["3 images have transparent parts: these are white"]


def save_deep(path, largest, dtype=np.uint16):
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((16, 20), dtype=dtype)
    pixels[:, 10:] = largest
    Image.fromarray(pixels).save(path)


@pytest.mark.parametrize(
    ("largest", "white"), [(1, 1), (200, 255), (256, 1023), (3000, 4095), (5000, 16383)]
)
def test_deep_images_have_one_white(tmp_path, largest, white):
    save_deep(tmp_path / "a" / "1.png", largest)
    save_deep(tmp_path / "b" / "1.png", largest // 4)
    draw(tmp_path / "b" / "2.png", (100, 100, 100), mode="L")
    found = read(tmp_path)
    expected = [round(255 * largest / white), round(255 * (largest // 4) / white), 100]
    assert found.x[:, 0, 0, 19].tolist() == expected
    assert found.input_spec.white == white
    note = f"values of images of more than 8 bits go from 0, black, to {white}, white"
    assert note in list(found.log)
    again = read(tmp_path / "b", found.input_spec, labeled=False)
    assert again.x[:, 0, 0, 19].tolist() == expected[1:]
    save_deep(tmp_path / "b" / "3.png", 65535)
    again = read(tmp_path / "b", found.input_spec, labeled=False)
    assert again.x[:, 0, 0, 19].tolist() == [*expected[1:], 255]
    assert f"{note} (larger ones, up to 65535, are white, too)" in again.log


def test_floats_beyond_16_bits_and_black_images_are_read(tmp_path):
    save_deep(tmp_path / "a" / "1.tif", 1e6, np.float32)
    save_deep(tmp_path / "b" / "1.tif", 0, np.float32)
    found = read(tmp_path)
    assert found.input_spec.white == 1e6
    assert found.input_spec.mode == "L"
    assert found.x.amax((1, 2, 3)).tolist() == [255, 0]


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif"])
def test_photographs_that_are_turned_keep_their_proportions(tmp_path, suffix):
    exif = Image.Exif()
    exif[0x0112] = 6
    for name in "ab":
        draw(tmp_path / name / f"1.{suffix}", size=(640, 320), exif=exif)
    found = read(tmp_path)
    assert found.input_spec.shape == (3, 64, 32)
    assert read(tmp_path, size=16).input_spec.shape == (3, 16, 8)
    assert "64 × 32" in str(found.log)


def test_photographs_are_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    for name in "ab":
        draw(tmp_path / name / "1.jpg", size=(20, 20), exif=exif)
        image = Image.new("L", (20, 20), 0)
        image.paste(255, (0, 0, 20, 10))  # the top, which the tag turns to the right
        image.save(tmp_path / name / "1.jpg", exif=exif)
    found = read(tmp_path).x[0, 0].float()
    assert found[:, 12:].mean() > 240
    assert found[:, :8].mean() < 15


def test_what_cannot_be_read_is_counted_with_the_reason(tmp_path):
    pets(tmp_path)
    (tmp_path / "cat" / "empty.png").touch()
    (tmp_path / "cat" / "text.png").write_text("not an image")
    whole = (tmp_path / "cat" / "0.png").read_bytes()
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "cat" / "half.png")
    half = (tmp_path / "cat" / "half.png").read_bytes()
    (tmp_path / "cat" / "half.png").write_bytes(half[: len(half) // 2])
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "stray.png").write_bytes(whole)
    (tmp_path / "cat" / ".hidden.png").write_bytes(whole)
    (tmp_path / "cat" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    found = read(tmp_path)
    assert len(found) == 16
    assert found.log.counts == {
        "not the name of an image": 1,
        "not in the folder of a class": 1,
        "hidden files": 1,
        "not an image, or empty": 2,
        "damaged": 1,
        "links that lead nowhere, or files that cannot be accessed": 1,
    }
    assert len(found.log) == 7
    assert "skipped 1: damaged (such as" in str(found.log)


def test_programs_of_other_makers_are_never_called(tmp_path):
    pets(tmp_path)
    text = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n"
    (tmp_path / "cat" / "script.eps").write_text(text)
    assert read(tmp_path).log.counts == {"not an image, or empty": 1}


def test_an_image_bomb_is_left_alone(tmp_path):
    pets(tmp_path)
    for name, size in (("bomb", (10_000, 9_500)), ("large", (8_200, 8_000))):
        Image.new("1", size).save(tmp_path / "cat" / f"{name}.png")
    begun = time.process_time()  # whatever else the machine does
    found = read(tmp_path)
    assert time.process_time() - begun < 20
    assert found.log.counts == {"too many pixels: an image bomb?": 2}


def test_links_in_a_circle_end(tmp_path):
    pets(tmp_path)
    (tmp_path / "cat" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "dog" / "self").symlink_to(tmp_path / "dog", target_is_directory=True)
    found = read(tmp_path)
    assert len(found) == 16
    assert found.log.counts == {"a folder that was read already: a link in a circle?": 2}


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_hundred_thousand_files_take_seconds_and_little_memory(tmp_path, count):
    for name in "ab":
        first = draw(tmp_path / name / "0.png", size=(4, 4))
        for number in range(1, count // 2):
            os.link(first, tmp_path / name / f"{number}.png")
    begun = time.process_time()
    found = read(tmp_path, max_samples=600)
    assert time.process_time() - begun < 20
    assert found.y.bincount().tolist() == [300, 300]
    assert any(f"600 of {count} images were drawn" in note for note in found.log)


def test_folders_that_mean_something_else_are_refused(tmp_path):
    with pytest.raises(DataError, match="no images"):
        read(tmp_path)
    pets(tmp_path / "train")
    pets(tmp_path / "test")
    with pytest.raises(DataError, match="split into test, train: use one of them"):
        read(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "nothing")
    (tmp_path / "data.xlsx").touch()
    with pytest.raises(DataError, match="cannot be read: expected"):
        read(tmp_path / "data.xlsx")
    with pytest.raises(DataError, match="--sfreq is not for"):
        read(tmp_path / "train", sfreq=100.0)


def test_images_without_pillow_are_refused(tmp_path, monkeypatch):
    pets(tmp_path)
    for name in ("images", "tables"):
        monkeypatch.delitem(sys.modules, f"augnet.data.{name}", raising=False)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(DataError, match="needs Pillow"):
        read(tmp_path)


# Tables


def rows(root, header, lines):
    path = root / "table.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([header, *lines])
    return path


def test_a_table_names_images_and_labels(tmp_path):
    pets(tmp_path)
    lines = [(f"cat/{n}.png", "meow") for n in range(8)]
    lines += [(f"dog/young/{n}.jpg", "woof") for n in range(8)]
    lines += [("cat/9.png", "meow"), ("", "meow"), ("cat/1.png", "")]
    found = read(rows(tmp_path, ("Path", "Label"), lines))
    assert found.classes == ("meow", "woof")
    assert len(found) == 16
    assert sorted(found.log.counts.values()) == [1, 1, 1]
    named = read(rows(tmp_path, ("image", "sound"), lines[:16]), column="sound")
    assert named.x.equal(found.x)
    numbers = [(f"cat/{n}.png", n / 2) for n in range(8)]
    values = read(rows(tmp_path, ("image", "y"), numbers))
    assert values.classes == ()
    assert values.y.tolist() == [n / 2 for n in range(8)]
    with pytest.raises(DataError, match="has the columns a, b; expected path or"):
        read(rows(tmp_path, ("a", "b"), lines))
    with pytest.raises(DataError, match="names no file that exists"):
        read(rows(tmp_path, ("path", "label"), [("x.png", "1")]))


def test_a_parquet_table_is_read(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    pets(tmp_path)
    paths = [f"cat/{n}.png" for n in range(8)]
    table = arrow.table({"path": paths, "label": [n % 2 for n in range(8)]})
    parquet.write_table(table, tmp_path / "t.parquet")
    found = read(tmp_path / "t.parquet")
    assert found.classes == ("0", "1")
    (tmp_path / "bad.parquet").write_bytes(b"nothing")
    with pytest.raises(DataError, match="not a Parquet"):
        read(tmp_path / "bad.parquet")


# Arrays


def test_arrays_of_all_kinds_are_read(tmp_path):
    generator = np.random.default_rng(0)
    y = np.arange(30) % 3
    for x, kind in (
        (generator.normal(size=(30, 5)), "vectors"),
        (generator.normal(size=(30, 2, 64)), "signals"),
        (generator.random((30, 3, 8, 8)), "images"),
    ):
        np.savez(tmp_path / "d.npz", x=x, y=y)
        found = read(tmp_path / "d.npz")
        assert found.input_spec.kind == kind
        assert np.allclose(found.x.numpy(), x)
        assert found.classes == ("0", "1", "2")
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "y.npy", y)
        assert read(tmp_path / "x.npy").x.equal(found.x)
        save_file({"x": x, "y": y}, tmp_path / "d.safetensors")
        assert read(tmp_path / "d.safetensors").x.equal(found.x)
    last = (generator.random((30, 8, 9, 3)) * 255).astype(np.uint8)
    np.savez(tmp_path / "d.npz", X=last, y=y.astype(float))
    found = read(tmp_path / "d.npz")
    assert found.input_spec.shape == (3, 8, 9)
    assert found.x.dtype == torch.uint8
    np.savez(tmp_path / "d.npz", x=last[..., 0], y=y + 0.5)
    found = read(tmp_path / "d.npz")
    assert found.input_spec.shape == (1, 8, 9)
    assert found.classes == ()
    assert read(tmp_path / "d.npz", found.input_spec, labeled=False).x.equal(found.x)


def test_nothing_is_ever_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "sprung"),))

    trap = np.array([Trap(), Trap()], dtype=object)
    np.savez(tmp_path / "d.npz", x=trap, y=np.arange(2))
    np.save(tmp_path / "x.npy", trap)
    np.save(tmp_path / "y.npy", np.arange(2))
    for name in ("d.npz", "x.npy"):
        with pytest.raises(DataError, match="could execute code"):
            read(tmp_path / name)
    assert not (tmp_path / "sprung").exists()


def test_arrays_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "d.npz"

    def refused(message, **given):
        np.savez(path, **given)
        with pytest.raises(DataError, match=message):
            read(path)

    refused("has the arrays x; expected x and y", x=np.zeros((4, 2)))
    refused("4 samples in x and 3 labels", x=np.zeros((4, 2)), y=np.zeros(3))
    refused("an array of numbers", x=np.array(["a"]), y=np.zeros(1))
    refused("no samples", x=np.zeros((0, 2)), y=np.zeros(0))
    refused("vectors .* or images", x=np.zeros((4, 2, 2, 2, 2)), y=np.arange(4))
    np.savez(path, x=np.zeros((4, 2, 40)), y=np.arange(4))
    with pytest.raises(DataError, match="has 3 names; the signals have 2"):
        read(path, channels=("a", "b", "c"))
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DataError, match="truncated"):
        read(path)
    np.save(tmp_path / "only_x.npy", np.zeros((4, 2)))
    with pytest.raises(DataError, match="has no labels"):
        read(tmp_path / "only_x.npy")


def test_signals_with_nan_are_counted(tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 2, 64))
    x[4, 0, 3], x[7, 1, 0] = np.nan, np.inf
    np.savez(tmp_path / "d.npz", x=x, y=np.arange(30) % 2)
    found = read(tmp_path / "d.npz")
    assert len(found) == 28
    assert found.log.counts == {"NaN or infinite values": 2}
    assert "such as 4" in str(found.log)
    np.savez(tmp_path / "d.npz", x=x * np.nan, y=np.arange(30) % 2)
    with pytest.raises(DataError, match="all 30 samples"):
        read(tmp_path / "d.npz")


# Recordings


def recording(path, marks, seconds=60, sfreq=100.0, channels=("C3", "C4")):
    mne = pytest.importorskip("mne")
    info = mne.create_info(list(channels), sfreq, "eeg")
    data = np.arange(seconds * sfreq) / 1e8 + np.zeros((len(channels), 1))
    raw = mne.io.RawArray(data, info, verbose="error")
    raw.set_annotations(mne.Annotations(*zip(*marks, strict=True)) if marks else None)
    raw.save(path, verbose="error")
    return path


STAGES = [(5.0 * n, 5.0, "wake" if n % 2 else "sleep") for n in range(12)]


def test_recordings_become_windows(tmp_path):
    path = recording(tmp_path / "one_raw.fif", [*STAGES, (3.0, 2.0, "BAD_blink"), (1.0, 1.0, "x")])
    found = read(path)
    assert found.input_spec.shape == (2, 500)
    assert (found.input_spec.sfreq, found.input_spec.window) == (100.0, 5.0)
    assert found.input_spec.channels == ("C3", "C4")
    assert found.classes == ("sleep", "wake")
    assert found.log.counts == {
        "annotations of bad data": 1,
        "annotations shorter than a window": 1,
        "windows that overlap bad data": 1,
    }
    assert torch.allclose(found.x[1, 0, 0], torch.tensor(1000 / 1e8))
    half = read(path, window=2.5, channels=("C4",))
    assert tuple(half.x.shape) == (23, 1, 250)
    plain = read(path, found.input_spec, labeled=False)
    assert len(plain) == 11
    assert plain.names[0] == "one_raw.fif at 5 s"
    assert plain.log.counts == {"windows that overlap bad data": 1}


def test_events_without_duration_and_other_rates(tmp_path):
    events = [(2.0 * n + 1.5, 0.0, "left" if n % 2 else "right") for n in range(30)]
    recording(tmp_path / "a_raw.fif", events)
    recording(tmp_path / "b_raw.fif", events, sfreq=50.0)
    recording(tmp_path / "c_raw.fif", events, channels=("O1", "O2"))
    recording(tmp_path / "d_raw.fif", [])
    (tmp_path / "e.edf").write_bytes(b"0       not really")
    found = read(tmp_path)
    assert len(found) == 2 * 30 - 2
    assert found.log.counts == {
        "windows that reach beyond their recording": 2,
        "recordings that lack channels": 1,
        "recordings without annotations": 1,
        "recordings that cannot be read": 1,
    }
    assert any("resampled to 100 Hz" in note for note in found.log)
    train, test = split(found)
    files = [{name.split()[0] for name in part.names} for part in (train, test)]
    assert sorted(map(len, files)) == [1, 1]
    assert not files[0] & files[1]
    assert train.groups is None  # one recording cannot be halved
    assert "fitted and held-out samples come from the same recordings" in train.log


def test_all_parts_of_a_split_recording_are_one_group(tmp_path):
    mne = pytest.importorskip("mne")
    path = recording(tmp_path / "a_raw.fif", STAGES, sfreq=2000.0)
    (tmp_path / "split").mkdir()
    recording(tmp_path / "split" / "b_raw.fif", STAGES, sfreq=2000.0)
    whole = mne.io.read_raw(path, verbose="error")
    whole.save(tmp_path / "split" / path.name, split_size=1_400_000, buffer_size_sec=1)
    parts = sorted(path.name for path in (tmp_path / "split").iterdir())
    assert len(parts) > 2
    found = read(tmp_path / "split")
    assert len(found) == 24
    assert found.groups.bincount().tolist() == [12, 12]
    reason = "parts of another recording, which are read with it"
    assert found.log.counts == {reason: len(parts) - 2}
    assert len(read(tmp_path / "split", found.input_spec, labeled=False)) == 24


@pytest.mark.parametrize("measured", [False, True])
def test_windows_begin_where_mne_has_the_annotations(tmp_path, measured):
    mne = pytest.importorskip("mne")
    data = np.arange(6000.0)[None] / 1e8
    raw = mne.io.RawArray(data, mne.create_info(["C3"], 100.0, "eeg"), verbose="error")
    if measured:
        raw.set_meas_date(1_000_000_000)
    raw.set_annotations(mne.Annotations([12.0, 20.0, 40.0], 0.0, ["a", "b", "a"]))
    raw.crop(tmin=10).save(tmp_path / "a_raw.fif", verbose="error")
    again = mne.io.read_raw(tmp_path / "a_raw.fif", preload=True, verbose="error")
    events, _ = mne.events_from_annotations(again, verbose="error")
    starts = again.get_data()[0, events[:, 0] - again.first_samp]
    assert np.allclose(starts, [1200 / 1e8, 2000 / 1e8, 4000 / 1e8])
    found = read(tmp_path / "a_raw.fif")
    assert np.allclose(found.x[:, 0, 0].numpy(), starts)
    assert found.names[0] == "a_raw.fif at 2 s"


def test_only_marks_of_bad_data_are_no_classes(tmp_path):
    marks = [(5.0 * n, 5.0, "Badminton" if n % 2 else "edges") for n in range(12)]
    bad = [(0.0, 1.0, "bad"), (12.0, 0.0, "EDGE boundary"), (20.0, 5.0, "Bad_blink")]
    found = read(recording(tmp_path / "a_raw.fif", marks + bad))
    assert found.classes == ("Badminton", "edges")
    assert [float(name.split()[-2]) for name in found.names] == [
        5.0, 15.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0
    ]  # fmt: skip
    assert found.log.counts == {"annotations of bad data": 3, "windows that overlap bad data": 3}


def test_channels_that_are_marked_as_bad_are_used_with_a_note(tmp_path):
    mne = pytest.importorskip("mne")
    path = recording(tmp_path / "a_raw.fif", STAGES)
    raw = mne.io.read_raw(path, preload=True, verbose="error")
    raw.info["bads"] = ["C4"]
    raw.save(path, overwrite=True, verbose="error")
    recording(tmp_path / "b_raw.fif", STAGES)
    found = read(tmp_path)
    assert found.input_spec.channels == ("C3", "C4")
    assert len(found) == 24
    assert any("mark as bad are used: C4 (" in note for note in found.log)
    assert not list(read(tmp_path, channels=("C3",)).log)


def test_recordings_without_annotations_are_labeled_by_their_folders(tmp_path):
    for name in ("rest", "task"):
        (tmp_path / name).mkdir()
        recording(tmp_path / name / "a_raw.fif", [], seconds=40)
    found = read(tmp_path, window=4)
    assert found.classes == ("rest", "task")
    assert found.y.bincount().tolist() == [10, 10]
    assert "recordings have no annotations: they are labeled by their folders" in found.log
    with pytest.raises(DataError, match="annotations, or one sub-folder per class"):
        read(tmp_path / "rest")
    recording(tmp_path / "task" / "b_raw.fif", STAGES)  # which speaks for itself
    assert read(tmp_path).classes == ("sleep", "wake")


# Labels and splits


def test_labels_become_classes_or_values():
    assert encode(["b", "a", "b"])[1] == ("a", "b")
    assert encode(["10", "9", "10"])[1] == ("9", "10")
    assert encode([0.5, 1.0])[1] == ()
    assert encode(["0.5", "1"])[0].tolist() == [0.5, 1.0]
    assert encode([1, 2], "regression")[0].dtype == torch.float32
    assert encode([True, False])[1] == ("False", "True")
    with pytest.raises(DataError, match="too many"):
        encode([str(n) for n in range(1001)])
    with pytest.raises(DataError, match="takes numbers as labels"):
        encode(["a"], "regression")
    with pytest.raises(DataError, match="argmax"):
        encode(np.eye(3), "classification")


@pytest.mark.parametrize("task", ["auto", "classification"])
def test_classes_that_are_written_differently_are_not_merged(task):
    y, classes = encode(["01", "1", "007", "10", "9", "1"], task)
    assert classes == ("01", "1", "007", "9", "10")
    assert y.tolist() == [0, 1, 2, 4, 3, 1]
    assert encode(["7", "b", "007"], task)[1] == ("007", "7", "b")
    assert encode([1.0, 0.0], task)[1] == ("0", "1")
    assert encode([["3"], ["12"]], task)[1] == ("3", "12")


def test_classes_with_fractions_are_kept_apart(tmp_path):
    y, classes = encode(["2", "0.5", "0.7", "1.2", "0.5"], "classification")
    assert classes == ("0.5", "0.7", "1.2", "2")
    assert y.tolist() == [3, 0, 1, 2, 0]
    assert encode(np.array([2.0, 0.5, 10.0]), "classification")[1] == ("0.5", "2.0", "10.0")
    assert encode(np.array([0.7, 0.5], dtype=np.float32), "classification")[1] == ("0.5", "0.7")
    for name in ("0.5", "0.7", "1.2", "2"):
        draw(tmp_path / name / "1.png")
    assert read(tmp_path).classes == ("0.5", "0.7", "1.2", "2")


def test_labels_of_several_numbers_are_values():
    y, classes = encode([["1", "2"], ["3", "4"]])
    assert classes == ()
    assert y.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_rows_are_drawn_evenly_from_all_classes():
    y = torch.tensor([0] * 90 + [1] * 10)
    rows = draw_rows(y, 100, 20, seed=0)
    assert y[rows].bincount().tolist() == [10, 10]
    assert rows.equal(draw_rows(y, 100, 20, seed=0))
    assert not rows.equal(draw_rows(y, 100, 20, seed=1))


def collection(tmp_path, y):
    np.savez(tmp_path / "d.npz", x=np.random.default_rng(0).normal(size=(len(y), 3)), y=y)
    return read(tmp_path / "d.npz")


def test_a_fifth_of_each_class_is_for_testing(tmp_path):
    train, test = split(collection(tmp_path, np.arange(100) % 4))
    assert train.y.bincount().tolist() == [20] * 4
    assert test.y.bincount().tolist() == [5] * 4
    assert not set(train.names) & set(test.names)


def test_rare_classes_are_left_out_and_counted(tmp_path):
    found = collection(tmp_path, np.array(["a"] * 20 + ["b"] * 2 + ["c"] * 20))
    train, _ = split(found)
    assert train.classes == ("a", "c")
    assert train.y.unique().tolist() == [0, 1]
    assert found.log.counts == {"samples of classes with fewer than 6 samples": 2}


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.repeat(np.arange(20), 2), "at least two classes of at least 6"),
        (np.zeros(50), "at least two classes"),
        (np.arange(20) % 2, "are too few"),
    ],
)
def test_what_cannot_be_learned_is_refused(tmp_path, y, message):
    with pytest.raises(DataError, match=message):
        split(collection(tmp_path, y))
