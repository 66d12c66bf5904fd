"""Figures show what a transform does."""

import pytest
import torch

from augnet.app import figures
from augnet.app.style import svg
from augnet.data import InputSpec
from augnet.learn.result import Invariance
from augnet.transforms import (
    AmplitudeScale,
    ChannelDropout,
    HorizontalFlip,
    Rotate,
    SamplePairing,
)


def test_params_are_shown_that_change_samples(monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "draw_images", lambda views, *rest: shown.append((views, *rest)))
    monkeypatch.setattr(figures, "draw_traces", lambda views, *_: shown.append((views, [], [])))
    x = torch.rand(3, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    images = InputSpec(kind="images", shape=(1, 12, 12))
    row = Invariance(SamplePairing(), "reached_limit", 0.4, (0.3, 0.4))
    figures.edges(row, x, images)
    (_, _, edge), titles, places = shown.pop()
    assert titles == ["unchanged", "0.2 of another sample", "0.4 of another sample"]
    assert places == ["", "", "edge"]  # there is nothing beyond the limit
    assert (edge != x).flatten(1).any(1).all()
    signals = InputSpec(kind="signals", shape=(4, 50))
    x = torch.randn(3, 4, 50, generator=torch.Generator().manual_seed(0))
    figures.edges(Invariance(ChannelDropout(), "bounded", 0.4, (0.3, 0.5)), x, signals)
    views, *_ = shown.pop()
    assert (views[-1] != x)[:, 0].any()
    figures.edges(
        Invariance(Rotate(90.0), "bounded", 30.0, (20.0, 40.0)), torch.rand(3, 1, 12, 12), images
    )
    views, titles, places = shown.pop()
    assert titles == ["−75°", "−30°", "unchanged", "30°", "75°"]
    assert places == ["beyond", "edge", "", "edge", "beyond"]
    assert len(views) == 5


def test_what_is_not_invariant_is_shown_up_to_its_limit():
    steps = figures.steps_of(Invariance(Rotate(90.0), "not_invariant", 0.0, (0.0, 9.0)))
    assert [step.fraction for step in steps] == [-1.0, -0.5, 0.0, 0.5, 1.0]
    assert {step.place for step in steps} == {""}
    flip = figures.steps_of(Invariance(HorizontalFlip(), "not_invariant", 0.0, (0.0, 0.0)))
    assert [(step.fraction, step.title) for step in flip] == [
        (0.0, "unchanged"), (1.0, "transformed"),
    ]  # fmt: skip


def test_images_beyond_the_range_have_dashed_frames():
    figure = figures.edges(
        Invariance(Rotate(90.0), "bounded", 30.0, (20.0, 40.0)),
        torch.rand(1, 1, 12, 12),
        InputSpec(kind="images", shape=(1, 12, 12)),
    )
    titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["−75°\nbeyond", "−30°\nedge", "unchanged", "30°\nedge", "75°\nbeyond"]
    styles = [axis.spines["top"].get_linestyle() for axis in figure.axes]
    assert styles[1] == styles[3] == "-"
    assert styles[0] == styles[4] != "-"
    assert not figure.axes[2].spines["top"].get_visible()


def test_traces_at_the_edges_and_beyond_are_told_apart_without_color():
    figure = figures.edges(
        Invariance(AmplitudeScale(2.0), "bounded", 1.3, (1.2, 1.4)),
        torch.randn(1, 2, 50, generator=torch.Generator().manual_seed(0)),
        InputSpec(kind="signals", shape=(2, 50)),
    )
    lines = {line.get_label(): line.get_linestyle() for line in figure.axes[0].lines}
    assert [name.rpartition(", ")[2] for name in lines] == ["unchanged", "edge", "edge", "beyond"]
    assert [style for name, style in lines.items() if "beyond" in name] == [":"]


def test_titles_of_images_stand_beside_each_other():
    figure = figures.edges(
        Invariance(SamplePairing(), "reached_limit", 0.4, (0.3, 0.4)),
        torch.rand(2, 1, 12, 12),
        InputSpec(kind="images", shape=(1, 12, 12)),
    )
    assert [axis.get_title() for axis in figure.axes[:2]] == [
        "unchanged",
        "0.2 of\nanother\nsample",
    ]


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_images_with_any_number_of_channels_are_drawn(channels):
    x = torch.rand(2, channels, 12, 12, generator=torch.Generator().manual_seed(0))
    spec = InputSpec(kind="images", shape=(channels, 12, 12))
    figure = figures.edges(Invariance(Rotate(90.0), "bounded", 30.0, (20.0, 40.0)), x, spec)
    (shown,) = (axis.images[0].get_array() for axis in figure.axes if axis.get_title()[:2] == "un")
    expected = x[0, :3] if channels >= 3 else x[0, :1].expand(3, -1, -1)
    assert torch.as_tensor(shown.data).equal(expected.permute(1, 2, 0))
    assert svg(figure, "edges")


def test_names_are_no_formulas():
    names = ("$a_b$", r"$\frac$", "5 $ or 6 $", "$x^$")
    text = svg(figures.confusion(torch.eye(4), names), "confusion")
    assert text.startswith("<svg")
    for name in names:
        assert f"<!-- {name} -->" in text
