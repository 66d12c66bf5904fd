"""Pages of results: they say what the records say."""

import json
from pathlib import Path

import pytest
import torch

from augnet.paper.config import ConfigError
from augnet.paper.report.figures.selectivity import path as selective_path
from augnet.paper.report.kept_figures import draw
from augnet.paper.report.results import pages
from augnet.paper.report.study import load

ROOT = Path(__file__).parents[3]
KEPT = sorted((ROOT / "results").glob("*-paper.json"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_records_are_kept_under_their_name(path):
    study = load(path)
    assert path.stem == study.label
    assert study.records


def page_of(tmp_path, kept, name="capacity-paper"):
    (tmp_path / f"{name}.json").write_text(json.dumps(kept))
    (page,) = pages(tmp_path)
    return page


def test_other_records_give_another_page(tmp_path):
    kept = json.loads((ROOT / "results" / "capacity-paper.json").read_text())
    for run in kept["runs"]:
        for measured in run["measured"]:
            measured["invariance"] = 0.99
    kept["note"] = ""
    page = page_of(tmp_path, kept)
    assert (
        "AugNet's invariance with 10 copies is 0.99; 40 of 40 runs have 0.95 or more" in page.brief
    )
    assert page.brief in page.markdown
    claim = "almost perfectly invariant, whatever its capacity (fig. 5)<br>"
    (line,) = (line for line in page.markdown.splitlines() if claim in line)
    assert "their phases: 0.90 to 0.99" in line
    assert line.endswith("| reproduced (40 of 40 runs) |")
    assert "    augnet paper run capacity --protocol paper --seeds 10\n" in page.markdown
    assert "commit 2113e9f" in page.markdown
    assert not page.notes
    kept["note"] = "Made long ago."
    kept["changes"] = {"data.sizes": "[8, 4, 4]"}
    page = page_of(tmp_path, kept)
    assert "\n**The paper's settings:** Made long ago.\n" in page.markdown
    assert "Changed from the file's settings: `data.sizes = [8, 4, 4]`." in page.markdown


def test_a_page_has_its_figure_table_and_command_before_what_is_folded(tmp_path):
    kept = json.loads((ROOT / "results" / "capacity-paper.json").read_text()) | {"figures": {}}
    shown, _, folded = page_of(tmp_path, kept).markdown.partition("<details>")
    assert f"](../../{tmp_path.name}/capacity-paper-capacity.png)" in shown
    assert "| augnet-2x3 | 10 | 1.91 (0.0624 to 2) Hz |" in shown
    assert "augnet paper run capacity" in shown
    assert "Claims of the paper" in folded
    assert [each.name for each in draw(tmp_path)] == [
        "selectivity.png",
        "capacity-paper-capacity.png",
    ]


def test_ours_is_compared_with_the_best_other_method_seed_by_seed(tmp_path):
    kept = json.loads((ROOT / "results" / "cifar10-fair+small.json").read_text())
    accuracies = {"augnet": (0.80, 0.90), "randaugment": (0.82, 0.84), "none": (0.5, 0.5)}
    kept["runs"] = [
        {"variant": variant, "seed": seed, "epochs": 1, "task": 0.1, "valid_accuracy": accuracy,
         "test_accuracy": accuracy,
         "scored": [{"views": views, "copies": 1, "accuracy": accuracy}
                    for views in ("plain", "own")]}
        for variant, found in accuracies.items() for seed, accuracy in enumerate(found)
    ]  # fmt: skip
    page = page_of(tmp_path, kept, "cifar10-fair+small")
    assert "augnet 0.850, randaugment 0.830, none 0.500." in page.brief
    assert "augnet less randaugment, seed by seed: +2.0 (-2.0 to +6.0) points." in page.brief


def test_searches_give_a_page_with_their_figures(tmp_path):
    kept = json.loads((ROOT / "results" / "sleep-small-search.json").read_text())
    page = page_of(tmp_path, kept, "sleep-small-search")
    assert "no real EEG" in page.shows[0]
    assert page.picture.file.endswith("sleep-small-search-passes.png")
    names = {file.name for file in draw(tmp_path)} - {"selectivity.png"}
    assert names == {f"sleep-small-search-{each}.png" for each in ("passes", "seconds", "gain")}


def test_what_is_no_record_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no records of experiments in"):
        pages(tmp_path)
    path = tmp_path / "capacity-paper.json"
    path.write_text('{"schema": 2}')
    with pytest.raises(ConfigError, match="is not a summary of a report: KeyError"):
        load(path)
    kept = json.loads(KEPT[0].read_text())
    for old in (kept | {"schema": 3}, {key: kept[key] for key in kept if key != "schema"}):
        path.write_text(json.dumps(old))
        with pytest.raises(ConfigError, match=r"capacity-paper\.json has schema \d, and this"):
            load(path)
    kept["runs"][0]["epochz"] = 3
    path.write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match="unknown key 'epochz': did you mean 'epochs'"):
        load(path)
    kept["runs"][0].pop("epochz")
    state = next(run for run in kept["runs"] if "transforms" in run)["transforms"][0]
    state["wieght"] = state.pop("weight")
    path.write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match=r"transforms\.0\.w"):
        load(path)


def test_two_files_of_one_protocol_stand_side_by_side(tmp_path):
    kept = json.loads((ROOT / "results" / "capacity-paper.json").read_text()) | {"note": ""}
    (tmp_path / "capacity-paper.json").write_text(json.dumps(kept))
    (tmp_path / "capacity-paper-old-one.json").write_text(json.dumps(kept | {"part": "old one"}))
    assert load(tmp_path / "capacity-paper-old-one.json").label == "capacity-paper-old-one"
    (page,) = pages(tmp_path)
    assert [line.partition(",")[0] for line in page.shows] == ["The paper's settings"] * 2
    assert page.shows[1].startswith("The paper's settings, old one, 10 seeds: ")
    titles = [title for title in page.details if title.startswith("Claims")]
    assert titles == [
        "Claims of the paper: the paper's settings",
        "Claims of the paper: the paper's settings, old one",
    ]
    assert "Comparison of settings by means" not in page.details


def test_a_file_of_a_sweep_alone_says_what_was_swept(tmp_path):
    kept = json.loads((ROOT / "results" / "sinusoids-paper.json").read_text())
    kept["runs"] = [run for run in kept["runs"] if run.get("sweep")]
    page = page_of(tmp_path, kept, "sinusoids-paper")
    values = "`regularizer.weight` at 0.02, 0.05, 0.1, 0.5, 1.0"
    assert page.shows == [f"The paper's settings, 3 seeds: a sweep of {values}."]


def test_figure_2_follows_the_bisector_and_then_selects_the_farther_transform():
    weights, magnitudes = selective_path((0.4, 0.8))
    before = magnitudes[:, 0] < 0.39
    assert torch.allclose(magnitudes[before][:, 0], magnitudes[before][:, 1])
    assert torch.allclose(weights[before], torch.tensor(0.5))
    assert magnitudes[-1].tolist() == pytest.approx([0.4, 0.8], abs=0.02)
    assert weights[-1, 1] > 0.95
    weights, _ = selective_path((0.8, 0.4))
    assert weights[-1, 0] > 0.95
