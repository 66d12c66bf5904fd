"""Figures show what a transform does."""

import torch

from augnet.app import figures
from augnet.data import InputSpec
from augnet.learn.result import Invariance
from augnet.transforms import ChannelDropout, Rotate, SamplePairing


def test_params_are_shown_that_change_samples(monkeypatch):
    shown = []
    monkeypatch.setattr(figures, "draw_images", lambda views, titles: shown.append((views, titles)))
    monkeypatch.setattr(figures, "draw_traces", lambda views, *_: shown.append((views, [])))
    x = torch.rand(3, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    images = InputSpec(kind="images", shape=(1, 12, 12))
    row = Invariance(SamplePairing(), "reached_limit", 0.4, (0.3, 0.4))
    figures.edges(row, x, images)
    (_, _, edge), titles = shown.pop()
    assert titles == ["unchanged", "0.2 of another sample", "0.4 of another sample"]
    assert (edge != x).flatten(1).any(1).all()
    signals = InputSpec(kind="signals", shape=(4, 50))
    x = torch.randn(3, 4, 50, generator=torch.Generator().manual_seed(0))
    figures.edges(Invariance(ChannelDropout(), "bounded", 0.4, (0.3, 0.5)), x, signals)
    views, _ = shown.pop()
    assert (views[-1] != x)[:, 0].any()
    figures.edges(
        Invariance(Rotate(90.0), "bounded", 30.0, (20.0, 40.0)), torch.rand(3, 1, 12, 12), images
    )
    assert len(shown.pop()[0]) == 5


def test_titles_of_images_stand_beside_each_other():
    figure = figures.edges(
        Invariance(SamplePairing(), "reached_limit", 0.4, (0.3, 0.4)),
        torch.rand(2, 1, 12, 12),
        InputSpec(kind="images", shape=(1, 12, 12)),
    )
    assert [axis.get_title() for axis in figure.axes[:2]] == ["unchanged", "0.2\nof another sample"]
