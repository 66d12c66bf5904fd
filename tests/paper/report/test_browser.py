"""The page in a real browser: on a desk and on a phone, without the network."""

import json
from pathlib import Path

import pytest
from browsing import WIDTHS, boxes, open_page
from report_runs import augerino, run, swept

from augnet.paper.report import write


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """Write a page with all that a page can have."""
    many = [run(seed=seed) for seed in range(3)] + [run("two-layers", weight=0.3), augerino(7)]
    grid = [swept(regularizer_weight=w, net_copies=c) for w in (0.05, 0.5, 5.0) for c in (1, 4)]
    (path,) = write([*many, *grid], tmp_path_factory.mktemp("report"))
    return path


@pytest.fixture(params=WIDTHS.values(), ids=WIDTHS.keys())
def view(request, browser, page):
    return open_page(browser, page, request.param)


def test_nothing_is_wider_than_the_window(view):
    width = view.execute_script("return window.innerWidth")
    assert width in WIDTHS.values()
    assert view.execute_script("return document.documentElement.scrollWidth") <= width
    for left, right, *_ in boxes(view, "h1, h2, p, td, pre, figure, figure svg, .verdict"):
        assert left >= 0
        assert right <= width + 0.5


def test_every_figure_can_be_seen(view):
    svgs = boxes(view, "figure svg")
    names = view.execute_script("return [...document.querySelectorAll('figure')].map(e => e.id)")
    assert {
        "learned",
        "sweep-regularizer.weight-net.copies",
        "widths",
        "data",
        "accuracy",
        "loss",
        "transforms-one-layer",
    } <= set(names)
    assert len(svgs) == len(names)
    for *_, width, height in svgs:
        assert width > 300
        assert height > 80


def test_tables_can_be_read(view):
    phone = view.execute_script("return window.innerWidth") < 500
    sizes = view.execute_script(
        "return [...document.querySelectorAll('td')].map("
        "e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12
    cells = boxes(view, ".claims td")
    assert all(width > (250 if phone else 100) and height > 10 for *_, width, height in cells)
    assert view.execute_script(
        "return [...document.querySelectorAll('.verdict')].every(e => e.innerText.length > 5)"
    )
    head = view.execute_script("return getComputedStyle(document.querySelector('thead')).display")
    assert (head == "none") == phone  # on a phone each cell says what it is
    label = "return getComputedStyle(document.querySelector('td[data-label]'), '::before').content"
    assert (view.execute_script(label) != "none") == phone


def test_the_page_needs_nothing_from_elsewhere(view, page):
    assert view.get_log("browser") == []  # no errors on the console
    sent = [json.loads(entry["message"])["message"] for entry in view.get_log("performance")]
    urls = [
        each["params"]["request"]["url"]
        for each in sent
        if each["method"] == "Network.requestWillBeSent"
    ]
    assert urls
    assert all(url == page.as_uri() or url.startswith("data:") for url in urls)
    loaded = view.execute_script(
        """return [...document.querySelectorAll('[src], [href]')].map(
            e => e.getAttribute('src') || e.getAttribute('href')).concat(
            [...document.querySelectorAll('image, use')].map(e => e.getAttribute('xlink:href')))"""
    )
    assert all(link is None or link.startswith(("#", "data:")) for link in loaded)


def test_the_text_contrasts_with_the_page(view):
    """Every verdict has a contrast of at least 4.5 to 1 on white (WCAG AA)."""
    colors = view.execute_script(
        "return [...document.querySelectorAll('.verdict, .note, figcaption')].map("
        "e => getComputedStyle(e).color)"
    )
    for color in set(colors):
        channels = [int(part) / 255 for part in color[4:-1].split(",")]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        parts = zip((0.2126, 0.7152, 0.0722), linear, strict=True)
        luminance = sum(weight * part for weight, part in parts)
        assert 1.05 / (luminance + 0.05) >= 4.5, color
