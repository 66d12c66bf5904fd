"""The data sets that come with augnet are what their README says, and are read by name."""

import numpy as np
import pytest

from augnet.data import DataError, load_digits, read
from augnet.data.examples import EXAMPLES, FOLDER


def test_digits_are_those_of_scikit_learn():
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    x, y = load_digits()
    inner = (16 * x[:, 0, 2:-2, 2:-2]).round()
    assert np.array_equal(inner.numpy(), digits.images)
    assert np.array_equal(y.numpy(), digits.target)
    x[:, :, 2:-2, 2:-2] = 0
    assert not x.any()  # two empty pixels on each side


def test_a_data_set_is_read_by_its_name_with_its_source():
    samples = read("digits")
    x, y = load_digits()
    assert (samples.x.float() / 255).equal(x)
    assert samples.y.equal(y)
    assert samples.classes == tuple("0123456789")
    assert samples.input_spec.kind == "images"
    assert any("CC BY 4.0" in line for line in samples.log)


def test_a_path_of_the_same_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    with pytest.raises(DataError, match="digits"):
        read("digits")  # an empty folder
    with pytest.raises(DataError, match="does not exist; augnet itself has digits"):
        read("digit")


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_data_set_is_small_and_has_a_license(name):
    assert (FOLDER / f"{name}.npz").stat().st_size < 100_000
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    section = text[text.index(f"## {name}.npz") :]
    for part in ("**Source**", "**License**", "**Changes**"):
        assert part in section
