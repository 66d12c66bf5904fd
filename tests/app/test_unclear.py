"""What is unclear is shown as such, with its reason: on the screen, on the page and in files."""

import io
import json
import re

import pytest
from learned_pages import (
    ALL,
    CHANCE,
    GAIN,
    RANDOM,
    SPAN,
    WARNINGS,
    history_of,
    model_of,
    page_of,
    split_of,
)
from rich.console import Console

from augnet.app import figures, job, wording
from augnet.app.commands import screen
from augnet.app.evaluate import evaluate
from augnet.learn.result import Invariance, InvarianceResult
from augnet.model import load, save
from augnet.transforms import Rotate, Scale


def text_of(html):
    """Return what a reader sees, without figures."""
    visible = re.sub(r"<(style|svg).*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", visible).split())


def shown(model, monkeypatch, width=200):
    file = io.StringIO()
    monkeypatch.setattr(screen, "console", Console(file=file, width=width))
    screen.show(model.header)
    return file.getvalue()


def test_the_headline_counts_kept_not_invariant_and_unclear_ones():
    turn, flip, invert, shift, scale = ALL
    assert wording.headline(ALL) == (
        "The label is invariant to 2 of 5 transforms, each within its range. "
        "It is not invariant to 1: invert. 2 are unclear: translate_x and scale."
    )
    assert wording.headline((turn, flip)) == (
        "The label is invariant to 2 of 2 transforms, each within its range."
    )
    assert wording.headline((invert,), augmented=False) == (
        "The label is invariant to none of 1 transform. The model has no augmentation."
    )
    assert wording.headline((invert, shift)) == (
        "The label is not known to be invariant to any of 2 transforms. "
        "It is not invariant to 1: invert. 1 is unclear: translate_x."
    )
    assert wording.headline(RANDOM, augmented=False) == (
        f"Nothing can be concluded about any of 3 transforms: {CHANCE}. "
        "The model has no augmentation."
    )
    assert wording.headline((*RANDOM, scale)) == (
        f"Nothing can be concluded about any of 4 transforms: {CHANCE} (3); no time (1)."
    )
    assert wording.headline((scale,)) == "Nothing can be concluded about scale: no time."


@pytest.mark.parametrize(
    ("cost", "classes", "text"),
    [
        (0.004, True, "adds 0.4 points"),
        (-0.002, True, "−0.2 points"),
        (-0.0001, True, "0 points"),
        (0.021, False, "adds 2.1 % of the spread"),
        (None, True, "–"),
    ],
)
def test_costs_are_in_points_or_of_the_spread(cost, classes, text):
    row = Invariance(Rotate(90.0), "bounded", 27.0, (25.0, 29.0), cost=cost)
    assert wording.cost(row, classes) == text


def test_what_is_unclear_has_a_reason_and_no_strength():
    row = ALL[3]
    assert (wording.status(row), wording.reason(row)) == ("unclear", SPAN)
    assert {wording.strength(row), wording.interval(row), wording.cost(row, True)} == {"–"}
    assert str(row) == f"translate_x: unclear, {SPAN}"
    assert wording.reason(ALL[0]) == ""
    assert wording.reason(Invariance(Scale(), "unclear", 1.0, (1.0, 1.0))) == wording.NO_REASON


def test_a_result_prints_warnings_costs_and_the_score():
    net = model_of(ALL).net
    result = InvarianceResult(ALL[:3], net, [], score=0.912, chance=1 / 3, warnings=WARNINGS)
    assert str(result).splitlines() == [
        *(f"warning: {text}" for text in WARNINGS),
        "rotate: bounded, ±27 degrees (25 to 29), error +0.004",
        "horizontal_flip: reached limit, with probability 0.50, error -0.002",
        "invert: not invariant, error +0.310",
        "held-out accuracy 0.912, chance 0.333",
    ]
    values = InvarianceResult((), model_of((), values=True).net, [], score=0.5, chance=0.0)
    assert str(values) == "held-out variance explained 0.500, chance 0.000"
    wide = Invariance(Rotate(90.0), "bounded", 2.9, (0.0, 6.9))
    assert str(wide) == "rotate: bounded, ±2.9 degrees (the interval includes 0)"


def test_the_screen_shows_reasons_costs_warnings_and_the_score(monkeypatch):
    text = shown(model_of(ALL, score=0.9, chance=0.4, warnings=WARNINGS), monkeypatch)
    assert text.startswith(f"warning: {WARNINGS[0]}")
    assert f"unclear: {SPAN}" in text
    assert "unclear: no time" in text
    assert "adds 0.4 points" in text
    assert "2 are unclear: translate_x and scale" in text
    assert "held-out accuracy of 90.0 %; a constant prediction has 40.0 %" in text
    narrow = shown(model_of(ALL), monkeypatch, 80)
    assert max(len(line) for line in narrow.splitlines() if "│" in line) <= 80
    assert "horizontal_flip" in narrow


def test_the_page_shows_reasons_costs_warnings_and_the_score():
    html = page_of(model_of(ALL, score=0.9, chance=0.4, warnings=WARNINGS), split_of())
    text = text_of(html)
    assert html.index('warnings" role') < html.index('class="outcome"')
    assert "classes are &lt;1:10&gt;" in html
    for part in (
        WARNINGS[0],
        SPAN,
        "no time",
        "adds 0.4 points",
        "−0.2 points",
        "90.0 %; a constant",
    ):
        assert part in text
    assert "edge-rotate" in html
    assert "edge-translate_x" not in html
    without = text_of(page_of(model_of(()), split_of()))
    assert "Warning" not in without
    assert "held-out" not in without


def test_values_have_costs_of_their_spread():
    html = page_of(model_of(ALL, values=True, score=0.8, chance=0.0), split_of(values=True))
    text = text_of(html)
    assert "adds 0.4 % of the spread" in text
    assert "0.800 of the held-out variance explained; a constant prediction has 0.000" in text


def test_random_labels_conclude_nothing_and_augment_nothing(monkeypatch):
    model, split = model_of(RANDOM, score=0.31, chance=0.33), split_of()
    said = f"Nothing can be concluded about any of 3 transforms: {CHANCE}."
    text = text_of(page_of(model, split))
    assert f"{said} The model has no augmentation." in text
    assert "copies" not in text
    assert said in shown(model, monkeypatch)
    assert evaluate(model, split.test.x, split.test.y).invariances == {}


def test_only_what_is_kept_is_evaluated():
    split = split_of()
    evaluation = evaluate(model_of(ALL), split.test.x, split.test.y)
    assert list(evaluation.invariances) == ["rotate", "horizontal_flip"]


def test_programs_read_reasons_and_no_strengths():
    split, model = split_of(), model_of(ALL, score=0.9, chance=0.4, steps=7, warnings=WARNINGS)
    summary = job._summary(model, evaluate(model, split.test.x, split.test.y), split)
    assert summary["measurement"] == {
        "score": 0.9, "chance": 0.4, "steps": 7, "warnings": list(WARNINGS), "gain": None,
    }  # fmt: skip
    turn, *_, shift, _ = summary["invariances"]
    assert (turn["strength"], turn["cost"], turn["reason"]) == (27.0, 0.004, "")
    assert (shift["strength"], shift["interval"], shift["reason"]) == (None, None, SPAN)


def test_curves_show_the_phases_that_train():
    (axis,) = figures.curves(history_of(ALL)).axes
    lines = {line.get_label(): len(line.get_xdata()) for line in axis.lines}
    assert lines == {"loss, no transforms": 2, "loss, nets to compare": 2, "loss, the net": 2}


NONE = GAIN.model_copy(update={"draws": 0, "score": 0.93, "difference": 0.0})


def test_no_augmentation_is_said_once(monkeypatch):
    text = shown(model_of(RANDOM, gain=NONE), monkeypatch)
    assert text.count("no augmentation") == 1
    assert shown(model_of(RANDOM), monkeypatch).count("no augmentation") == 1


@pytest.mark.parametrize(
    ("gain", "values", "text"),
    [
        (
            GAIN,
            False,
            "Training with 2 transforms per sample: 95.0 % on held-out samples; without "
            "augmentation, same steps: 93.0 %. The difference is +2.0 points (90 % interval −0.5 "
            "to +4.5 points). Averaging over copies is +0.4 points of it.",
        ),
        (
            GAIN.model_copy(update={"draws": 1}),
            True,
            "Training with one transform per sample: 0.950 on held-out samples; without "
            "augmentation, same steps: 0.930. The difference is +0.020 (90 % interval −0.005 to "
            "+0.045). Averaging over copies is +0.004 of it.",
        ),
        (
            NONE,
            False,
            "The model has no augmentation: on held-out samples no combination of the transforms "
            "was better than plain training (93.0 %).",
        ),
        (None, False, ""),
    ],
)
def test_what_transforms_brought_is_said_in_words(gain, values, text):
    assert wording.gain(model_of(ALL, values, gain=gain).header) == text


def test_the_screen_and_the_page_say_what_transforms_brought(monkeypatch):
    model = model_of(ALL, gain=GAIN)
    text = wording.gain(model.header)
    assert text in " ".join(shown(model, monkeypatch).split())
    assert text in text_of(page_of(model, split_of()))


def test_a_model_file_keeps_what_transforms_brought(tmp_path):
    model = model_of(ALL, gain=GAIN)
    assert load(save(model, tmp_path / "model.safetensors")).header.measurement.gain == GAIN
    assert json.loads(model.header.measurement.model_dump_json())["gain"]["draws"] == 2
