"""Response curves mark the range, its interval and the error."""

import pytest

from augnet.app.response import response
from augnet.learn.result import Invariance
from augnet.transforms import HorizontalFlip, Rotate, Scale, TranslateX

CURVE = ((0.0, 0.0), (15.0, 0.002), (30.0, 0.01), (60.0, 0.2))


def labels_of(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_range_and_its_interval_are_marked_and_named():
    row = Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0), response=CURVE)
    figure = response(row, classes=True)
    (axis,) = figure.axes
    assert labels_of(figure) == [
        "the label is kept, to 27°", "90 % interval of its end, 25 to 29°", "held-out samples",
    ]  # fmt: skip
    curve = next(line for line in axis.lines if line.get_label() == "held-out samples")
    assert curve.get_ydata() == pytest.approx([0.0, 0.2, 1.0, 20.0])
    spans = [patch.get_x() + patch.get_width() for patch in axis.patches]
    assert spans == [27.0, 29.0]
    assert axis.patches[1].get_hatch()
    assert axis.get_xlabel() == "strength, degrees"


def test_a_range_without_an_interval_and_one_that_is_not_kept():
    limit = Invariance(
        Scale(1.3), "reached_limit", 1.3, (1.3, 1.3), response=((1.0, 0.0), (1.3, 0.1))
    )
    assert len(labels_of(response(limit, classes=True))) == 2
    assert (
        response(limit, classes=True).axes[0].get_xlim()[0] == 1.0
    )  # a factor that changes nothing
    lost = Invariance(Rotate(90.0), "not_invariant", 0.0, (0.0, 9.0), response=CURVE)
    assert labels_of(response(lost, classes=True)) == ["held-out samples"]


@pytest.mark.parametrize(
    ("transform", "label"),
    [(Scale(), "strength, as a factor"), (TranslateX(), "strength, part of the width")],
)
def test_strengths_have_a_unit(transform, label):
    row = Invariance(transform, "unclear", 0.0, (0.0, 0.0), response=((1.0, 0.0), (1.3, 0.1)))
    assert response(row, classes=True).axes[0].get_xlabel() == label


def test_flips_have_bars():
    row = Invariance(
        HorizontalFlip(), "not_invariant", 0.0, (0.0, 0.0), response=((0, 0.0), (1, 0.31))
    )
    (axis,) = response(row, classes=True).axes
    assert [bar.get_width() for bar in axis.patches] == [0.0, 31.0]
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        "as they are",
        "horizontal_flip",
    ]
    assert "+31.0" in [text.get_text() for text in axis.texts]
    assert "% of the spread" in response(row, classes=False).axes[0].get_xlabel()


def test_nothing_is_drawn_if_nothing_was_measured():
    assert response(Invariance(Rotate(90.0), "unclear", 0.0, (0.0, 0.0)), classes=True) is None
