"""Samples to predict are on the scale of those that a model was learned from, or are refused."""

import numpy as np
import pytest
import torch
from PIL import Image

from augnet.data import DataError, InputSpec, read

BYTES = (np.arange(12 * 8 * 10 * 3) % 256).astype(np.uint8).reshape(12, 8, 10, 3)
"""Images (N, H, W, C)."""


def save_files(root, images=BYTES):
    for name in "ab":
        (root / name).mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        Image.fromarray(image).save(root / "ab"[number % 2] / f"{number:02}.png")
    return root


def save_array(root, x):
    path = root / "x.npz"
    np.savez(path, x=x, y=np.arange(len(x)) % 2)
    return path


def learned(path):
    """Return how samples of a model are read and scaled, as `augnet learn` keeps it."""
    found = read(path)
    spec = found.input_spec.fitted(found.x)
    return InputSpec.model_validate_json(spec.model_dump_json())


def prepared(path, spec):
    found = read(path, spec, labeled=False)
    order = sorted(range(len(found)), key=lambda n: found.names[n].rpartition("/")[2])
    if path.suffix == ".npz":
        order = list(range(len(found)))
    return spec.prepare(found.x)[order], list(found.log)


X = torch.from_numpy(BYTES).permute(0, 3, 1, 2) / 255


def test_files_are_read_for_a_model_of_floats(tmp_path):
    spec = learned(save_array(tmp_path, X.numpy()))
    assert (spec.values, spec.mode) == ("floats", None)
    x, notes = prepared(save_files(tmp_path / "files"), spec)
    assert torch.allclose(x, X)
    assert notes == ["bytes were divided by 255, because the model takes values from 0 to 1"]
    x, _ = prepared(save_array(tmp_path, BYTES), spec)
    assert torch.allclose(x, X)


def test_gray_files_are_read_for_a_model_of_color_and_the_other_way(tmp_path):
    gray = save_files(tmp_path / "gray", BYTES[..., 0])
    x, notes = prepared(gray, learned(save_array(tmp_path, X.numpy())))
    assert torch.allclose(x, X[:, :1].expand_as(X))
    assert len(notes) == 1
    x, _ = prepared(save_files(tmp_path / "color"), learned(save_array(tmp_path, X[:, :1].numpy())))
    assert x.shape == (12, 1, 8, 10)


@pytest.mark.parametrize("of_files", [True, False])
def test_floats_are_read_for_a_model_of_bytes(tmp_path, of_files):
    spec = learned(save_files(tmp_path / "files") if of_files else save_array(tmp_path, BYTES))
    assert spec.values == "bytes"
    x, notes = prepared(save_array(tmp_path, X.numpy()), spec)
    assert torch.allclose(x, X)
    assert notes == ["values from 0 to 1 were multiplied by 255, because the model takes bytes"]
    x, notes = prepared(save_array(tmp_path, 255 * X.numpy()), spec)
    assert torch.allclose(x, X)
    assert notes == []


def test_whole_numbers_in_another_type_are_as_bytes(tmp_path):
    spec = learned(save_array(tmp_path, BYTES.astype(np.int64).transpose(0, 3, 1, 2)))
    x, notes = prepared(save_files(tmp_path / "files"), spec)
    assert torch.allclose(x, X)
    assert notes == []


@pytest.mark.parametrize(
    ("of_model", "given", "message"),
    [
        (X, 255 * X, r"floats from 0 to 255; the model takes floats from 0 to 1: scale them"),
        (X, 4 * X - 2, r"floats from -2 to 2; the model takes floats from 0 to 1"),
        (BYTES, 4 * X - 2, r"floats from -2 to 2; the model takes bytes from 0 to 255"),
        (BYTES, 65535 * X, r"floats from 0 to 65535; the model takes bytes from 0 to 255"),
        (4 * X - 2, BYTES, r"bytes from 0 to 255; the model takes floats from -2 to 2"),
    ],
)
def test_other_scales_are_refused(tmp_path, of_model, given, message):
    spec = learned(save_array(tmp_path, np.asarray(of_model)))
    with pytest.raises(DataError, match=message):
        read(save_array(tmp_path, np.asarray(given)), spec, labeled=False)


def test_values_far_outside_are_noted(tmp_path):
    spec = learned(save_array(tmp_path, 4 * X.numpy() - 2))
    _, notes = prepared(save_array(tmp_path, 100 * X.numpy()), spec)
    assert notes == [
        "these images have values from 0 to 100; those that the model was learned from have values "
        "from -2 to 2: are they scaled in the same way?"
    ]
    assert prepared(save_array(tmp_path, 4.1 * X.numpy() - 2), spec)[1] == []


def test_models_of_older_versions_read_samples_as_before_with_a_note(tmp_path):
    spec = InputSpec.model_validate(
        {"kind": "images", "shape": (3, 8, 10), "center": (0.0,), "scale": (1.0,)}
    )
    x, notes = prepared(save_array(tmp_path, BYTES), spec)
    assert torch.allclose(x, 255 * X)
    assert "the model does not say whether it takes bytes or floats" in notes[-1]
    assert not any("does not say" in note for note in prepared(save_array(tmp_path, X), spec)[1])


def test_files_of_another_kind_are_refused(tmp_path):
    files = save_files(tmp_path / "files")
    signals = InputSpec(kind="signals", shape=(2, 40))
    with pytest.raises(DataError, match=r"read as images; the model takes signals of shape \(2, 4"):
        read(files, signals, labeled=False)
    with pytest.raises(DataError, match="image files are read with 1 or 3 channels; the model tak"):
        read(files, InputSpec(kind="images", shape=(4, 8, 10)), labeled=False)


def test_recordings_for_a_model_of_something_else_are_refused(tmp_path):
    pytest.importorskip("mne")
    from edf import write_edf

    path = write_edf(tmp_path / "a.edf", {"C3": np.arange(600.0)})
    of_arrays = InputSpec(kind="signals", shape=(1, 100), sfreq=100.0, channels=("C3",))
    with pytest.raises(DataError, match="the model was learned from arrays: save windows of shape"):
        read(path, of_arrays, labeled=False)
    with pytest.raises(DataError, match="read as recordings; the model takes images of shape"):
        read(path, InputSpec(kind="images", shape=(3, 8, 10)), labeled=False)


def test_the_unit_of_recordings_is_named(tmp_path):
    spec = InputSpec(kind="signals", shape=(1, 100), sfreq=100.0, channels=("C3",), window=1.0)
    found = read(save_array(tmp_path, np.zeros((4, 1, 100))), spec, labeled=False)
    assert list(found.log) == [
        "the model was learned from recordings: x is taken in their unit, such as V"
    ]
