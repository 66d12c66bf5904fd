"""Snippets have what was measured, whatever the net of the model uses of it."""

import ast
import json
import re
from dataclasses import replace

import pytest
import torch
from export_cases import ROWS, drawn, executed, learned, measured_of
from specimens import specimen

from augnet import AugNet, identity
from augnet.export import export
from augnet.export.steps import layers, transforms
from augnet.learn.result import Invariance
from augnet.model import Model
from augnet.transforms import HorizontalFlip, Invert, Rotate, VerticalFlip

IMAGE_LIBRARIES = ("kornia", "torchvision", "albumentations")
DRAW = {
    "kornia": "Choice(transforms)",
    "torchvision": "v2.RandomChoice(transforms)",
    "albumentations": "A.OneOf(transforms, p=1.0)",
    "braindecode": "Choice(transforms)",
}
KEPT = {"rotate", "horizontal_flip", "equalize", "posterize"}


def code(model, to, draws=None):
    """Return the snippet of a model, which is code."""
    ranges = measured_of(model, draws)
    text = export(ranges.augment, to, notes=ranges.notes).text
    ast.parse(text)
    for note in ranges.notes:
        assert f"# {note}\n" in text
    return text


def body(text):
    """Return the code without what is said before it."""
    return [line for line in text.splitlines() if not line.startswith("#")]


def names(augment):
    return {step.transform.name for step in transforms(augment)}


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
@pytest.mark.parametrize("draws", [1, 2, 3])
def test_as_many_are_drawn_as_by_the_net(draws, library):
    text = code(learned(draws), library)
    assert "\n".join(body(text)).count(DRAW[library]) == draws
    for part in ("rotate ±27.0°", "posterize up to 2.30 bits", "horizontal_flip with prob"):
        assert text.count(part) == 1
    assert ("drawn twice" in text) == (draws > 1)


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
def test_what_does_not_preserve_the_label_or_is_unclear_has_no_line(library):
    text = code(learned(2), library)
    assert not re.search("invert|scale|Identity|NoOp", text, re.IGNORECASE)
    assert names(measured_of(learned(2)).augment) == KEPT


@pytest.mark.parametrize("draws", [1, 2])
def test_ranges_are_those_of_the_net(draws):
    certain = [row for row in ROWS if row.strength != 1.0]
    model = learned(draws, rows=certain)
    ranges = measured_of(model)
    assert ranges.notes == ()
    assert layers(ranges.augment) == layers(model.net.augment)


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
def test_a_net_without_augmentation_has_ranges_all_the_same(library):
    model = learned(0)
    assert model.net.augment is identity
    text = code(model, library)
    assert "has no augmentation: none made it better on held-out samples" in text
    assert "one transform is drawn per sample" in text
    assert "\n".join(body(text)).count(DRAW[library]) == 1
    assert names(measured_of(model).augment) == KEPT
    assert "3 transforms are drawn per sample" in code(model, library, 3)


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
def test_transforms_that_the_net_leaves_out_are_drawn(library):
    model = learned(2, [ROWS[0], ROWS[3]])
    assert names(model.net.augment) == {"rotate", "posterize"}
    text = code(model, library)
    assert "does not use horizontal_flip and equalize: training with them did not improve" in text
    assert names(measured_of(model).augment) == KEPT
    assert "\n".join(body(text)).count(DRAW[library]) == 2
    one = code(learned(1, [ROWS[0], ROWS[2], ROWS[3]]), library)
    assert "does not use horizontal_flip: training with it did not improve" in one
    assert "Here it is drawn, because other networks may gain." in one


@pytest.mark.parametrize("library", IMAGE_LIBRARIES)
@pytest.mark.parametrize("draws", [0, 1, 2])
def test_no_transform_is_applied_to_all_samples_as_a_whole(draws, library):
    flips = HorizontalFlip(1.0), VerticalFlip(1.0)
    certain = *flips, specimen("gray"), specimen("autocontrast"), specimen("equalize")
    rows = [Invariance(each, "reached_limit", 1.0, (1.0, 1.0)) for each in certain]
    for some in (rows[-1:], [ROWS[0], *rows[2:]], rows[:2]):
        text = code(learned(draws, rows=some), library)
        lines = [line for line in body(text) if re.search("Flip|Gray|Equalize|ontrast", line)]
        assert len(lines) == sum(row in rows for row in some)
        assert all(
            re.search(r"(Flip|Gray\w*|Equalize|ontrast)\([^)]*p=0\.5\)", line) for line in lines
        )
    assert "horizontal_flip and vertical_flip can be applied to all samples. Their prob" in text


def test_a_transform_is_not_drawn_more_often_than_there_are_transforms():
    (layer,) = layers(measured_of(learned(3, rows=ROWS[:1])).augment)
    assert (layer.times, len(layer.steps)) == (1, 1)
    (note,) = measured_of(learned(3, rows=ROWS[:1])).notes
    assert "draws 3 transforms per sample. Here it is 1" in note
    (layer,) = layers(measured_of(learned(3, rows=ROWS[:2])).augment)
    assert (layer.times, len(layer.steps)) == (2, 2)


def test_draws_are_those_asked_for():
    for draws in (1, 2, 4):
        (layer,) = layers(measured_of(learned(2), draws).augment)
        assert (layer.times, len(layer.steps)) == (draws, 4)
    for draws in (0, 5):
        with pytest.raises(ValueError, match=f"1 to 4, the number of transforms; got {draws}"):
            measured_of(learned(2), draws)
    with pytest.raises(ValueError, match="no transforms to draw; got draws=1"):
        measured_of(learned(0, rows=ROWS[4:]), 1)


def test_layers_that_selected_a_transform_stay_in_sequence():
    rows = [
        replace(ROWS[0], weight=1.0),
        replace(ROWS[2], weight=1.0),
        replace(ROWS[3], weight=0.0),
        replace(ROWS[4], weight=0.0),
    ]
    model = learned(1, rows=rows, gain=False)
    found = [layer.steps for layer in layers(measured_of(model).augment)]
    assert [[step.description for step in steps] for steps in found] == [
        ["rotate ±27.0°"],
        ["equalize with probability 0.50"],
    ]
    with pytest.raises(ValueError, match="has layers of its own"):
        measured_of(model, 2)


def test_a_model_without_invariances_has_its_own_augmentation():
    augment = drawn(Rotate(), Invert(1.0), magnitude=1.0)
    model = Model.of(AugNet(augment, torch.nn.Identity()), (3, 18, 20), classes=("a", "b"))
    ranges = measured_of(model)
    assert ranges.augment is augment
    assert ranges.notes == ()
    with pytest.raises(ValueError, match="leave out draws"):
        measured_of(model, 1)


@pytest.mark.parametrize("rows", [ROWS[4:], [replace(ROWS[0], interval=(0.0, 29.0))]])
def test_nothing_that_is_kept_is_no_augmentation(rows):
    """A file of an old version may keep a transform whose interval includes 0."""
    ranges = measured_of(learned(0, rows=rows))
    assert ranges.augment is identity
    assert ranges.notes == ()


def test_files_that_do_not_say_how_many_are_drawn_have_as_many_layers():
    (layer,) = layers(measured_of(learned(2, gain=False)).augment)
    assert (layer.times, len(layer.steps)) == (2, 4)
    note, _ = measured_of(learned(0, gain=False)).notes
    assert note.startswith("The net of this model has no augmentation. Other networks may")


def test_ranges_of_signals_are_drawn_in_braindecode():
    pytest.importorskip("braindecode")
    rows = [
        Invariance(specimen("sign_flip"), "reached_limit", 0.5, (0.5, 0.5)),
        Invariance(specimen("gaussian_noise"), "bounded", 0.11, (0.1, 0.12)),
        Invariance(specimen("time_reverse"), "not_invariant", 0.0, (0.0, 0.0)),
    ]
    text = code(learned(2, rows=rows, shape=(6, 256)), "braindecode")
    assert "\n".join(body(text)).count(DRAW["braindecode"]) == 2
    assert "std=0.11" in text
    assert "TimeReverse" not in text
    x = torch.randn(4, 6, 256)
    augment = measured_of(learned(2, rows=rows, shape=(6, 256))).augment
    assert executed(export(augment, "braindecode"))(x).shape == x.shape


def test_a_policy_has_the_measured_ranges():
    text = export(measured_of(learned(0)).augment, "policy").text
    (layer,) = json.loads(text)["layers"]
    assert {step["name"]: step["strength"] for step in layer["steps"]} == pytest.approx(
        {"rotate": 27.0, "horizontal_flip": 0.5, "equalize": 0.5, "posterize": 2.3}
    )
