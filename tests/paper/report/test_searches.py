"""Reports of searches: what is read, compared and refused."""

import json
import shlex

import numpy as np
import pytest
from report_runs import write_search
from scipy import stats
from typer.testing import CliRunner

from augnet.__main__ import app
from augnet.paper.config import ConfigError, parse_change, read, resolve
from augnet.paper.report.figures.searches import Curve, improvement, score_against_cost, score_at
from augnet.paper.report.search_scores import (
    clearly_better,
    compare_with_bilevel,
    gain_over_none,
    improves,
    passes_to_reach,
)
from augnet.paper.report.searches import find, load, write

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
    ours = "augnet reaches and keeps its final score after 160 passes (median over folds)"
    assert f"{ours}. Not reached and kept in half of the folds or more by: adda." in page
    kept = json.loads((out / "sleep-small-search.json").read_text())
    assert kept["budget"] == 112
    assert kept["commits"] == ["abc"]
    again = load(out / "sleep-small-search.json")
    tests = {method: score_at(seeds[0], kept["budget"]) for method, seeds in again.curves.items()}
    assert tests == pytest.approx({"adda": 0.6, "augnet": 0.7, "none": 0.5}, abs=0.001)
    search = "augnet paper search adda sleep --variant augnet --protocol small --seeds 2"
    assert again.commands[:2] == [
        search,
        search.replace("adda", "augnet").replace(" --variant augnet", ""),
    ]
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


def report(folder, out):
    done = CliRunner().invoke(app, ["paper", "report", str(folder), "--out", str(out)])
    return done.exit_code, done.output.replace("\n", " ")


def test_searches_that_are_not_finished_are_named_and_left_out(tmp_path):
    found, out = tmp_path / "searches", tmp_path / "report"
    write_search(found / "a", "adda", settings(), POINTS["adda"], 1, finished=False)
    code, said = report(found, out)
    assert code == 2
    assert "no search is finished below" in said
    assert "begun are adda, seed 1" in said
    write_search(found / "b", "none", settings(), POINTS["none"])
    (study,) = find([found])
    assert (list(study.curves), study.unfinished) == (["none"], ["adda, seed 1"])
    assert report(found, out)[0] == 0
    page, kept = out / "sleep-small-search.html", out / "sleep-small-search.json"
    assert "Not finished, and left out: adda, seed 1." in page.read_text()
    assert load(kept).sentences[-1] == "Not finished, and left out: adda, seed 1."


def test_two_searches_of_one_method_and_seed_are_refused(tmp_path):
    write_search(tmp_path / "a", "adda", settings(), POINTS["adda"])
    write_search(tmp_path / "b", "adda", settings(), POINTS["adda"], finished=False)
    assert list(find([tmp_path])[0].curves) == ["adda"]
    write_search(tmp_path / "c", "adda", settings(), POINTS["adda"])
    with pytest.raises(ConfigError, match=r"/a and .*/c are both adda, seed 0: report one of"):
        find([tmp_path])


def test_seeds_of_a_method_have_the_same_settings_wherever_the_data_is(tmp_path):
    here, there = (settings(**{"data.root": f"/{place}"}) for place in ("here", "there"))
    write_search(tmp_path / "a", "adda", here, POINTS["adda"], 0)
    write_search(tmp_path / "b", "adda", there, POINTS["adda"], 1)
    assert len(find([tmp_path])[0].curves["adda"]) == 2
    longer = settings(**{"train.epochs": 3, "search.options.dada.epochs": 7})
    write_search(tmp_path / "c", "adda", longer, POINTS["adda"], 2)
    with pytest.raises(ConfigError, match=r"both adda, with other settings \(train\.epochs\)\. Re"):
        find([tmp_path])


def test_methods_may_differ_in_settings_but_not_in_data_and_the_page_says_so(tmp_path):
    options = {"search.options.adda.epochs": 7, "search.options.dada.epochs": 9}
    write_search(tmp_path / "a", "adda", settings(**options), POINTS["adda"])
    write_search(tmp_path / "b", "none", settings(**options), POINTS["none"])
    assert not [said for said in find([tmp_path])[0].sentences if said.startswith("Settings")]
    longer = settings(**options, **{"train.epochs": 3})
    write_search(tmp_path / "c", "dada", longer, POINTS["adda"])
    (study,) = find([tmp_path])
    assert study.sentences[-1] == "Settings that not all methods have: dada: train.epochs=3."
    more = settings(**{"data.windows": 3})
    write_search(tmp_path / "d", "augnet", more, POINTS["augnet"])
    with pytest.raises(ConfigError, match=r"other data than the other searches: .*windows=3\. Rep"):
        find([tmp_path])


def test_commands_repeat_the_settings_of_searches(tmp_path):
    changes = {"search.options.adda.epochs": 7, "train.epochs": 3, "data.root": "/home/me/data"}
    config = settings(**changes, **{"search.options.dada.epochs": 9})
    write_search(tmp_path / "a", "adda", config, POINTS["adda"])
    write_search(tmp_path / "b", "none", config | {"variant": "none"}, POINTS["none"])
    write(find([tmp_path]), tmp_path)
    file = tmp_path / "sleep-small-search.json"
    kept = json.loads(file.read_text())
    assert "/home/me" not in file.read_text()
    adda, none = load(file).commands
    assert adda == kept["commands"][0]
    parts = shlex.split(adda)
    start = "augnet paper search adda sleep --variant augnet --protocol small --seeds 1"
    assert parts[:11] == start.split()
    assert dict(map(parse_change, parts[12::2])) == changes | {"data.root": "DIR"}
    assert none.startswith("augnet paper search none sleep --protocol small --seeds 1 --set")
    assert "search.options" not in none
    file.write_text(json.dumps({key: kept[key] for key in kept if key != "settings"}))
    assert load(file).commands[0] == "augnet paper search adda sleep --protocol small --seeds 1"


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


def flat(score):
    return curve((1.0, 1.0, score))


def test_points_are_sorted_by_each_cost_before_the_best_so_far():
    points = [(30, 1, 0.5, 0.6), (10, 2, 0.4, 0.9), (20, 3, 0.7, 0.8)]  # passes, seconds, ...
    mine = Curve.from_points(
        [dict(zip(("passes", "seconds", "valid", "test"), point, strict=True)) for point in points]
    )
    assert mine.passes.tolist() == [10, 20, 30]
    assert mine.test.tolist() == [0.9, 0.8, 0.8]
    assert mine.along("seconds")[0].tolist() == [1, 2, 3]
    assert mine.along("seconds")[1].tolist() == [0.6, 0.6, 0.8]
    assert score_at(mine, 15) == pytest.approx(0.85)
    assert passes_to_reach(mine, 0.8) == 10
    (axis,) = score_against_cost({"adda": {0: mine}}, "passes", "accuracy").axes
    x, y = axis.lines[0].get_data()
    assert (x[0], x[-1]) == pytest.approx((10, 30))
    assert (y[0], y[-1]) == pytest.approx((0.9, 0.8))


def test_of_points_that_validate_alike_the_first_is_the_best_by_both_costs():
    rows = [{"passes": p, "seconds": s, "valid": 0.5, "test": t}
            for p, s, t in ((20, 1, 0.6), (10, 2, 0.7))]  # fmt: skip
    mine = Curve.from_points(rows)
    assert mine.test.tolist() == [0.7, 0.6]
    assert mine.test_by_seconds.tolist() == [0.6, 0.6]


def test_a_score_is_reached_when_it_is_kept_to_the_end():
    lucky = curve((10, 0.1, 0.8), (20, 0.2, 0.5), (30, 0.3, 0.7), (40, 0.4, 0.9))
    assert passes_to_reach(lucky, 0.6) == 30
    assert passes_to_reach(lucky, 0.5) == 10
    assert passes_to_reach(lucky, 0.9) == 40
    assert passes_to_reach(lucky, 0.95) == float("inf")
    assert passes_to_reach(curve((10, 0.1, 0.8), (20, 0.2, 0.5)), 0.6) == float("inf")


def test_curves_of_before_have_one_score_for_both_costs(tmp_path):
    write_search(tmp_path / "a", "adda", settings(), POINTS["adda"])
    write(find([tmp_path / "a"]), tmp_path)
    file = tmp_path / "sleep-small-search.json"
    kept = json.loads(file.read_text())
    old = {"passes": [10, 30, 20], "seconds": [2, 1, 3], "test": [0.5, 0.6, 0.7]}
    file.write_text(json.dumps(kept | {"curves": {"adda": {"0": old}}}))
    again = load(file).curves["adda"][0]
    assert again.along("passes")[0].tolist() == [10, 30, 30]
    assert again.along("seconds")[0].tolist() == [2, 2, 3]
    assert again.test.tolist() == again.test_by_seconds.tolist() == old["test"]


def test_curves_keep_what_validates_best_and_interpolate():
    mine = curve((10, 0.5, 0.6), (20, 0.4, 0.9), (30, 0.7, 0.8))
    assert mine.test.tolist() == [0.6, 0.6, 0.8]
    assert score_at(mine, 25) == pytest.approx(0.7)
    assert score_at(mine, 5) != score_at(mine, 5)  # nothing yet


def test_a_score_that_half_of_the_folds_never_reach_is_reported_as_such():
    end = curve((10, 1, 0.8))
    curves = {"augnet": {0: end, 1: end}, "adda": {0: curve((20, 1, 0.9)), 1: curve((20, 1, 0.7))}}
    assert compare_with_bilevel(curves, "augnet").endswith(
        "Not reached and kept in half of the folds or more by: adda."
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
    curves = {"none": {0: flat(0.5), 1: flat(0.9)}, "good": {0: flat(0.6)},
              "bad": {0: flat(0.7), 1: flat(0.6)}, "elsewhere": {2: flat(0.1)}}  # fmt: skip
    better = [method for method in curves if improves(curves, method)]
    assert better == ["none", "good", "elsewhere"]


def test_gains_are_paired_over_folds_with_students_interval():
    def curves(*tests):
        return {seed: flat(test) for seed, test in enumerate(tests)}

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
