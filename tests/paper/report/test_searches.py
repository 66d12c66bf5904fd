"""Reports of searches: what is read, compared and refused."""

import json

import numpy as np
import pytest
from report_runs import write_search
from scipy import stats
from typer.testing import CliRunner

from augnet.__main__ import app
from augnet.paper.config import ConfigError, read, resolve
from augnet.paper.report.figures.searches import Curve, improvement, score_at
from augnet.paper.report.search_scores import (
    clearly_better,
    compare_with_bilevel,
    gain_over_none,
    improves,
    passes_to_reach,
)
from augnet.paper.report.searches import find, load

POINTS = {
    "adda": [(112, 0.5, 0.6), (200, 0.6, 0.7)],
    "none": [(16, 0.4, 0.5)],
    "augnet": [(16, 0.4, 0.5), (160, 0.7, 0.8)],
}


def settings(**changes):
    config = resolve("sleep", read("sleep"), "augnet", protocol="small", changes=changes)
    return config.model_dump(mode="json")


def test_the_page_compares_methods_and_says_which_data(tmp_path):
    for method, points in POINTS.items():
        for seed in range(2):
            write_search(tmp_path / method / f"seed-{seed}", method, settings(), points, seed)
    out = tmp_path / "report"
    done = CliRunner().invoke(app, ["paper", "report", str(tmp_path), "--out", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "sleep-small-search.html").read_text()
    assert "synthetic nights, made by augnet: no real EEG" in page
    assert page.count("<svg") == 3
    assert page.count("points; better in 2 of 2") == 2
    assert "Clearly better than no augmentation, paired over folds: adda, augnet." in page
    ours = "augnet reaches its final score after 160 passes (median over folds)"
    assert f"{ours}. Never reached in half of the folds or more by: adda." in page
    kept = json.loads((out / "sleep-small-search.json").read_text())
    assert kept["budget"] == 112
    assert kept["commits"] == ["abc"]
    again = load(out / "sleep-small-search.json")
    tests = {method: score_at(seeds[0], kept["budget"]) for method, seeds in again.curves.items()}
    assert tests == pytest.approx({"adda": 0.6, "augnet": 0.7, "none": 0.5}, abs=0.001)
    assert again.commands[0] == "augnet paper search adda sleep --protocol small --seeds 2"
    assert passes_to_reach(again.curves["adda"][0], 0.65) == 200
    assert passes_to_reach(again.curves["none"][0], 0.65) == float("inf")


def test_what_is_no_summary_of_searches_is_refused(tmp_path):
    (tmp_path / "cut.json").write_text('{"schema": 2}')
    with pytest.raises(ConfigError, match="is not a summary of searches"):
        load(tmp_path / "cut.json")
    (tmp_path / "cut.json").write_text("{}")
    with pytest.raises(ConfigError, match=r"cut\.json has schema 1, and this version reads 2"):
        load(tmp_path / "cut.json")


def test_searches_of_other_data_or_without_points_are_told_apart(tmp_path):
    write_search(tmp_path / "a", "adda", settings(), POINTS["adda"])
    write_search(tmp_path / "b", "none", settings(), [])
    (study,) = find([tmp_path])
    assert list(study.curves) == ["adda"]
    other = settings()
    other["data"]["source"] = "mass"
    write_search(tmp_path / "c", "none", other, POINTS["none"])
    with pytest.raises(ConfigError, match="is of other data than the other searches"):
        find([tmp_path])


def test_a_damaged_file_of_a_search_is_refused_in_one_line(tmp_path):
    write_search(tmp_path / "a", "adda", settings(), POINTS["adda"])
    (tmp_path / "a" / "points.jsonl").write_text("{}")
    with pytest.raises(ConfigError, match=r"points\.jsonl is damaged") as error:
        find([tmp_path])
    assert len(str(error.value).splitlines()) == 1


def curve(*points):
    return Curve.from_points(
        [{"passes": p, "seconds": p, "valid": v, "test": t} for p, v, t in points]
    )


def test_curves_keep_what_validates_best_and_interpolate():
    mine = curve((10, 0.5, 0.6), (20, 0.4, 0.9), (30, 0.7, 0.8))
    assert mine.test.tolist() == [0.6, 0.6, 0.8]
    assert score_at(mine, 25) == pytest.approx(0.7)
    assert score_at(mine, 5) != score_at(mine, 5)  # nothing yet


def test_a_score_that_half_of_the_folds_never_reach_is_reported_as_such():
    end = curve((10, 1, 0.8))
    curves = {"augnet": {0: end, 1: end}, "adda": {0: curve((20, 1, 0.9)), 1: curve((20, 1, 0.7))}}
    assert compare_with_bilevel(curves, "augnet").endswith(
        "Never reached in half of the folds or more by: adda."
    )


def test_improvement_is_paired_by_fold():
    curves = {"adda": {0: curve((10, 1, 0.5)), 1: curve((10, 1, 0.9))},
              "augnet": {0: curve((10, 1, 0.6)), 1: curve((10, 1, 0.95)), 2: curve((10, 1, 1))},
              "alone": {5: curve((10, 1, 1))}}  # fmt: skip
    (axis,) = improvement(curves, "adda", 10, "accuracy").axes
    assert [text.get_text() for text in axis.get_yticklabels()] == ["augnet"]
    assert axis.lines[1].get_xdata() == pytest.approx([0.1, 0.05])
    assert improvement({"augnet": curves["augnet"]}, "adda", 10, "accuracy") is None


def test_a_method_improves_on_the_folds_that_it_shares_with_none():
    def curve(score):
        return Curve(np.array([1.0]), np.array([1.0]), np.array([score]))

    curves = {"none": {0: curve(0.5), 1: curve(0.9)}, "good": {0: curve(0.6)},
              "bad": {0: curve(0.7), 1: curve(0.6)}, "elsewhere": {2: curve(0.1)}}  # fmt: skip
    better = [method for method in curves if improves(curves, method)]
    assert better == ["none", "good", "elsewhere"]


def test_gains_are_paired_over_folds_with_students_interval():
    def curves(*tests):
        return {seed: Curve(*np.array([[1.0], [1.0], [test]])) for seed, test in enumerate(tests)}

    plain = (0.5, 0.6, 0.7, 0.5, 0.6, 0.7, 0.5)
    for folds in (2, 3, 7):
        rng = np.random.default_rng(folds)
        gains = rng.normal(0.02, 0.01, folds)
        known = {"none": curves(*plain[:folds]), "x": curves(*(gains + plain[:folds]))}
        half = stats.t.ppf(0.95, folds - 1) * stats.sem(100 * gains)
        said = gain_over_none(known, "x")
        assert said.startswith(f"{100 * gains.mean():+.1f} ± ")
        assert float(said.split()[2]) == pytest.approx(half, abs=0.06)
        assert clearly_better(known) == (["x"] if 100 * gains.mean() > half else [])
    assert gain_over_none(known, "none") == "-"
