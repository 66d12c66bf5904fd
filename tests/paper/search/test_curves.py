"""The points of figure 6b: what is counted as their cost."""

import time

import pytest
from planted import task

from augnet.paper.config import parse_change, read, resolve
from augnet.paper.search import SEARCHES, SearchCurve
from augnet.paper.search.directory import SearchDirectory
from augnet.paper.train import Trainer


@pytest.mark.parametrize(
    ("name", "options"),
    [("adda", {"epochs": 2, "pause": 1}), ("autoaugment", {"trials": 2, "pause": 1})],
)
def test_the_test_set_is_scored_once_per_point_and_takes_no_time(name, options, monkeypatch):
    given, now, scored = task(epochs=1), [0.0], []

    def score(self, samples, views=None, of=Trainer.score):
        if len(samples.y) == len(given.splits.test.y):
            scored.append(samples)
            now[0] += 1000
        now[0] += 1
        return of(self, samples, views)

    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(Trainer, "score", score)
    points = list(SearchCurve(SEARCHES[name](given, **options), given))
    assert len(scored) == len(points) == 2
    assert 0 < points[0].seconds <= points[1].seconds < 1000


def test_a_variant_with_a_probe_is_trained_and_its_passes_are_counted(tmp_path):
    changes = dict(map(parse_change, ["data.sizes=[16,8,8]", "train.epochs=2", "net.copies=1"]))
    config = resolve("capacity", read("capacity"), "augnet-1x1", changes=changes)

    def directory(path):
        return SearchDirectory(path, "augnet-1x1", config, 0)

    points = list(directory(tmp_path / "whole").run())
    assert [point.passes for point in points] == [16 * (4 + 1), 2 * 16 * (4 + 1)]
    search = directory(tmp_path / "left").run()
    first = next(search)
    search.close()
    rest = list(directory(tmp_path / "left").run())
    assert [each[1:] for each in (first, *rest)] == [each[1:] for each in points]
