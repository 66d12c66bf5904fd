"""The page says how far it can be trusted, and answers in the order of their use."""

import re
from dataclasses import replace

import pytest
from browsing import WIDTHS, boxes, open_page
from learned_pages import ALL, GAIN, RANDOM, WARNINGS, model_of, page_of, split_of

from augnet.app import wording
from augnet.app.matrix import matrix
from augnet.app.reliability import banner
from augnet.learn.parts import PartRange

CURVE = ((0.0, 0.0), (15.0, 0.002), (27.0, 0.01), (60.0, 0.2))
FLIP = ((0.0, 0.001), (1.0, -0.002))
CLASSES = (
    PartRange("cat", "bounded", 27.0, (20.0, 30.0), 40),
    PartRange("dog", "reached_limit", 90.0, (80.0, 90.0), 41),
    PartRange("bird", "unclear", 0.0, (0.0, 90.0), 3),
)
SHOWN = (
    ALL[2],
    ALL[3],
    replace(ALL[0], response=CURVE, by_class=CLASSES),
    replace(ALL[1], response=FLIP, by_class=CLASSES),
    ALL[4],
)
SECONDS = {"reference": 4.4, "transforms": 31.0, "net": 200.0}


@pytest.fixture(scope="module")
def html():
    model = model_of(SHOWN, score=0.9, chance=0.4, steps=12345, warnings=WARNINGS, gain=GAIN)
    return page_of(model, split_of(), SECONDS)


def test_answers_are_sorted_by_use(html):
    assert [row.transform.name for row in wording.by_use(SHOWN)] == [
        "horizontal_flip", "rotate", "invert", "translate_x", "scale",
    ]  # fmt: skip
    helping = [replace(ALL[0], benefit=0.02), replace(ALL[1], benefit=-0.01)]
    assert wording.by_use(helping) == helping
    assert wording.by_use(helping[::-1]) == helping
    table = html[html.index("Answers, by use") : html.index("</tbody>")]
    names = re.findall(r"<tr[^>]*><td>(\w+)", table)
    assert names == [row.transform.name for row in wording.by_use(SHOWN)]
    for text in ("✓ bounded", "✓ reached limit", "✗ not invariant", "? unclear"):
        assert text in table


def test_the_banner_says_what_can_be_trusted():
    some = banner(model_of(SHOWN, score=0.9, chance=0.4, steps=12345).header, SHOWN, 1)
    assert (some.level, some.symbol) == ("partly", "!")
    assert some.lines == [
        "Measured at a held-out accuracy of 90.0 %; a constant prediction has 40.0 %.",
        "12 345 training steps of all networks, with one seed: "
        "--seeds 3 would say how much the seed matters.",
        f"Unclear is translate_x: {ALL[3].reason}.",
        "Unclear is scale: no time.",
        "2 of 6 answers for single classes are unclear.",
    ]
    clear = banner(model_of(SHOWN, steps=5).header, ALL[:2], 3)
    assert (clear.level, clear.symbol) == ("clear", "✓")
    assert clear.lines == ["5 training steps of all networks, with 3 seeds."]
    warned = banner(model_of(SHOWN, warnings=WARNINGS).header, SHOWN[2:4], 1)
    assert (warned.level, warned.warnings) == ("partly", WARNINGS)
    assert banner(model_of(RANDOM).header, RANDOM, 1).level == "nothing"


def test_all_transforms_but_unclear_ones_are_shown(html):
    ids = re.findall(r'<figure id="([^"]+)"', html)
    assert ids == [
        "edge-horizontal_flip", "response-horizontal_flip", "edge-rotate", "response-rotate",
        "edge-invert", "confusion", "curves",
    ]  # fmt: skip


def test_the_nets_that_were_compared_are_listed(html):
    table = html[html.index('class="compared"') :]
    rows = re.findall(r"<tr><td>([^<]+)</td><td[^>]*>([^<]+)</td><td[^>]*>([^<]+)</td>", table)
    assert rows == [
        ("plain training, no transform", "93.0 %", "no"),
        ("1 transform per sample", "94.0 %", "no"),
        ("2 transforms per sample", "95.0 %", "✓ yes"),
    ]


def test_the_page_says_how_it_was_made(html):
    made = html[html.index('id="made"') :]
    for text in (
        "<pre>augnet learn d</pre>",
        "30 training samples, 30 test samples",
        "network without transforms 4 s, measuring transforms 31 s, training the net 3 min",
        "torch ",
    ):
        assert text in made


@pytest.fixture(params=WIDTHS.values(), ids=WIDTHS.keys())
def view(request, browser, html, tmp_path):
    path = tmp_path / "index.html"
    path.write_text(html, encoding="utf-8")
    return open_page(browser, path, request.param)


def test_in_a_browser_nothing_is_wider_than_the_window(view):
    width = view.execute_script("return window.innerWidth")
    assert width in WIDTHS.values()
    assert view.execute_script("return document.documentElement.scrollWidth") <= width
    parts = boxes(view, "h1, h2, h3, p, li, td, dd, pre, section, figure, figure svg, .status")
    assert len(parts) > 50
    for left, right, *_ in parts:
        assert left >= 0
        assert right <= width + 0.5


def test_in_a_browser_the_banner_and_the_pictures_can_be_seen(view):
    ((_, _, width, height),) = boxes(view, "#reliability")
    assert width > 300
    assert height > 100
    text = view.execute_script("return document.querySelector('#reliability').innerText")
    assert "Read with care" in text
    assert "90.0 %" in text
    assert len(boxes(view, ".matrix tbody tr")) == len(CLASSES)
    pictures = boxes(view, "figure svg image")
    assert len(pictures) >= 3 * (2 + 5 + 2)  # three samples under each of three transforms
    assert all(width > 20 and height > 20 for *_, width, height in pictures)
    for *_, width, height in boxes(view, "figure svg"):
        assert width > 300
        assert height > 80


def test_in_a_browser_letters_in_figures_are_large_enough_to_read(view):
    script = """return [...document.querySelectorAll('figure svg')].map(e =>
        9 * e.getBoundingClientRect().width / e.viewBox.baseVal.width)"""  # of letters of 9 points
    sizes = view.execute_script(script)
    assert len(sizes) > 5
    assert min(sizes) > 9.0


def test_what_a_transform_does_is_said_with_its_limit(html):
    assert "Rotate images by an angle within ±90 degrees, counter-clockwise if positive." in html
    assert "Mirror images left to right." in html


def test_transforms_that_do_not_help_are_named():
    rows = (replace(ALL[0], benefit=0.02), replace(ALL[1], benefit=-0.01), *ALL[2:])
    model = model_of(rows, score=0.9, chance=0.4, gain=GAIN)
    html = page_of(model, split_of(), SECONDS)
    table = html[html.index("Answers, by use") : html.index("</tbody>")]
    assert table.count("no: it did not help") == 1
    assert table.index("<td>horizontal_flip") < table.index("no: it did not help")
    said = wording.gain(model.header)
    assert said.endswith(
        "training with it made predictions for samples as they are worse: horizontal_flip."
    )
    assert "Not in the model" not in wording.gain(model_of(ALL, gain=GAIN).header)


def test_classes_have_signs_and_flips_no_interval(html):
    matrix = html[html.index('class="matrix"') : html.index("Compare classes by their intervals")]
    flip, *_ = re.findall(r'<td data-label="horizontal_flip">(.*?)</td>', matrix)
    assert "✓ yes" in flip
    assert " to " not in flip
    assert "? unclear" in matrix
    assert "27°" in matrix


def test_classes_that_all_go_farther_than_all_samples_are_named():
    far = tuple(replace(each, interval=(30.0, 90.0)) for each in CLASSES[:2])
    row = replace(ALL[0], by_class=(*far, CLASSES[2]))
    both = [("rotate", row, ()), ("horizontal_flip", replace(ALL[1], by_class=CLASSES), ())]
    found = matrix(both)
    assert found is not None
    assert found.beyond == ("rotate",)  # its interval ends at 29°; unclear classes do not count
    near = replace(row, by_class=(*far, CLASSES[0]))
    unclear = replace(row, by_class=CLASSES[2:])
    for each in (near, unclear):
        other = matrix([("rotate", each, ())])
        assert other is not None
        assert other.beyond == ()
    page = page_of(model_of((row,)), split_of())
    assert "each class goes farther than all samples together" in page


def test_in_a_browser_each_status_has_a_sign_and_words(view):
    texts = view.execute_script(
        "return [...document.querySelectorAll('.status')].map(e => e.innerText)"
    )
    assert len(texts) == 5 + 3
    assert all(text[0] in "✓✗?" and len(text) > 5 for text in texts)
    assert view.get_log("browser") == []
