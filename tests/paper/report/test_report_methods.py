"""Reports that compare methods: how they were scored, and what each seed learned."""

import json
from pathlib import Path

import pytest

from augnet.layers.state import TransformState
from augnet.paper.config import read, resolve
from augnet.paper.report import write
from augnet.paper.report.drawings import draw
from augnet.paper.report.figures import copies, heat_map, interval, over_epochs
from augnet.paper.report.quantities import time
from augnet.paper.report.records import record, records
from augnet.paper.report.results import pages
from augnet.paper.report.runs import Epoch, Run, with_stopped
from augnet.paper.report.study import compare_protocols, load, studies
from augnet.paper.report.tables import sweep_table, variants_table
from augnet.transforms import TRANSFORMS

CIFAR = read("cifar10")


def epoch(accuracy, transforms=()):
    return Epoch(
        task=1.0,
        valid_accuracy=accuracy,
        test_accuracy=accuracy,
        transforms=tuple(
            TransformState(layer, name, 1.0, 0.3, 0.15, TRANSFORMS[name].unit)
            for layer, name in enumerate(transforms, start=1)
        ),
        invariance={"horizontal_flip": 0.5},
    )


def run(variant, seed=0, transforms=(), best=0.7, protocol="fair+small"):
    config = resolve("cifar10", CIFAR, variant, protocol=protocol)
    epochs = with_stopped([epoch(best * (n + 1) / 5, transforms) for n in range(5)])
    scored = [{"views": "plain", "copies": 1, "accuracy": best}]
    scored += [{"views": "own", "copies": c, "accuracy": best + 0.001 * c} for c in (1, 4, 10)]
    versions = {"commit": "abc", "machine": "a desk"}
    settings = json.loads(config.model_dump_json())
    times = [{"copies": c, "time": 1.05 * c} for c in (1, 4, 10)] if transforms else []
    return Run(Path(), settings, seed, epochs, [], versions, epochs[-1], scored, times)


NAMES = ("translate_x", "horizontal_flip")
RUNS = [
    run("none", 0, best=0.6),
    run("none", 1, best=0.61),
    run("augnet", 0, NAMES),
    run("augnet", 1, NAMES),
]


def test_stopped_accuracy_is_that_of_the_best_validation_so_far():
    valid, test = (0.2, 0.5, 0.4, 0.5, 0.6), (0.1, 0.7, 0.9, 0.8, 0.3)
    epochs = [Epoch(1.0, v, t) for v, t in zip(valid, test, strict=True)]
    found = [each.stopped_accuracy for each in with_stopped(epochs)]
    assert found == [0.1, 0.7, 0.7, 0.7, 0.3]
    assert with_stopped([]) == []


def test_scores_are_read_off_the_record():
    kept = record(RUNS[2])
    claim = next(each for each in CIFAR.expect.claims if each.quantity == "own-accuracy")
    assert kept.accuracy_over("plain") == 0.7
    assert kept.accuracy_over("own", 10) == pytest.approx(0.71)
    assert kept.accuracy_over("own", 3) is None
    assert kept.net_accuracy == pytest.approx(0.71)  # it averages over what it learned
    assert record(RUNS[0]).net_accuracy == 0.6  # there is nothing to average over
    assert kept.model_copy(update={"scored": []}).net_accuracy == kept.test_accuracy
    assert time(kept, claim.model_copy(update={"copies": 10})) == 10.5
    assert time(record(RUNS[0]), claim) is None


def test_the_table_has_a_column_for_each_way_of_scoring():
    table = variants_table(CIFAR.expect, records(RUNS))
    assert table.columns == ("variant", "seeds", "what was learned", "test accuracy",
                             "plain samples", "C = 1", "C = 4", "C = 10")  # fmt: skip
    assert table.rows[0][4] == "0.605 (0.6 to 0.61)"
    assert table.rows[1][2] == ("translate_x 0.15 of the width → horizontal_flip 0.15 probability")


def test_figures_compare_methods():
    figure = copies(records(RUNS))
    assert len(figure.axes[0].lines) == 4  # a line and a dotted one for each of two methods
    assert len(figure.axes[1].lines) == 2  # times of the one that was timed, and of the trunk
    assert list(figure.axes[1].lines[0].get_ydata()) == pytest.approx([1.05, 4.2, 10.5])
    assert len(copies(records(RUNS[:2])).axes) == 1
    assert copies([]) is None
    drawn = over_epochs(
        RUNS, lambda each: each.stopped_accuracy, "accuracy", draw_seeds=interval(0.9)
    )
    assert len(drawn.axes[0].lines) == 2
    maps = heat_map(RUNS[2])
    assert maps.axes[0].images[0].get_array().shape == (2, 5)
    assert [axis.get_title() for axis in maps.axes[:-1]] == ["magnitude"]  # none is selected


def swept_run(key, value, seed=0, **others):
    changes = {key: value, **{name.replace("_", "."): of for name, of in others.items()}}
    config = resolve("cifar10", CIFAR, "augnet", protocol="fair+small", changes=changes)
    settings = json.loads(config.model_dump_json()) | {"sweep": {key: value}}
    return run("augnet", seed, NAMES)._replace(config=settings)


def test_the_baseline_is_a_point_of_sweeps():
    swept = swept_run("tuner.tolerance", 0.2)
    kept = records([*RUNS, swept])
    assert [each.baseline for each in kept] == [{}, {}, *[{"tuner.tolerance": 0.1}] * 2, {}]
    table = sweep_table(CIFAR.expect, kept)
    assert [line[:3] for line in table.rows] == [("augnet", "0.1", "2"), ("augnet", "0.2", "1")]
    assert table.columns[-1] == "C = 10"
    ((study, runs),) = studies([*RUNS, swept])
    (sweep,) = (each for each in draw(study, runs) if each.name.startswith("sweep"))
    assert [list(axis.lines[0].get_xdata()) for axis in sweep.figure.axes] == [[0.1, 0.2]] * 3
    assert "augmented views" in sweep.figure.axes[2].get_ylabel()


def test_a_point_of_a_sweep_has_each_seed_once_and_nothing_else_changed():
    again = swept_run("tuner.tolerance", 0.1)
    rows = sweep_table(CIFAR.expect, records([*RUNS, again])).rows
    assert [line[:3] for line in rows] == [("augnet", "0.1", "2")]  # seed 0 is not counted twice
    other = swept_run("tuner.tolerance", 0.2, train_epochs=3)
    rows = sweep_table(CIFAR.expect, records([*RUNS, other])).rows
    assert [line[:3] for line in rows] == [("augnet", "0.2", "1")]
    layers = swept_run("augment.repeat", 2)  # where the config does not say, there is one
    rows = sweep_table(CIFAR.expect, records([*RUNS, layers])).rows
    assert [line[:3] for line in rows] == [("augnet", "1", "2"), ("augnet", "2", "1")]
    shuffled = [swept_run("train.lr", value) for value in (0.5, 0.05, 10.0)]
    assert [line[1] for line in sweep_table(CIFAR.expect, records(shuffled)).rows] == [
        "0.05", "0.5", "10.0"
    ]  # fmt: skip


def test_protocols_are_compared(tmp_path):
    paper = [run("none", best=0.5, protocol="paper+small"),
             run("fixed", best=0.55, protocol="paper+small")]  # fmt: skip
    assert compare_protocols(study for study, _ in studies(list(RUNS))) == {}
    (alone,) = write(list(RUNS), tmp_path)
    assert "<strong>fair</strong>: all methods use the same optimizer" in alone.read_text()
    for each in paper:
        each.config["sweep"] = {"train.lr": 0.1}
    assert compare_protocols(study for study, _ in studies([*RUNS, *paper])) == {}  # only sweeps
    for each in paper:
        each.config["sweep"] = {}
    pages = write([*RUNS, *paper], tmp_path)
    assert len(pages) == 2
    comparison = compare_protocols(study for study, _ in studies([*RUNS, *paper]))["cifar10"]
    assert comparison.table.columns == (
        "variant",
        "fair+small: plain samples",
        "fair+small: 10 augmented views",
        "paper+small: scored as in the paper",
    )
    assert comparison.table.rows == [
        ("none", *(f"{mean} ({span}; 2 seeds)" for mean, span in (
            ("0.605", "0.600 to 0.610"), ("0.615", "0.610 to 0.620"))), "0.500"),
        ("fixed", "-", "-", "0.550"),
        ("augnet", *(f"{m} ({m} to {m}; 2 seeds)" for m in ("0.700", "0.710")), "-"),
    ]  # fmt: skip
    assert set(comparison.explained) == {"fair", "paper", "small"}
    for page in pages:  # each says which is which
        text = page.read_text()
        assert "<strong>paper</strong>: what the authors did" in text
        assert '<td data-label="paper+small: scored as in the paper">0.550</td>' in text
        assert comparison.markdown in page.with_name("summary.md").read_text()


def test_a_study_draws_them_all_and_is_kept(tmp_path):
    ((study, runs),) = studies(list(RUNS))
    names = [each.name for each in draw(study, runs)]
    for name in ("stopped", "copies", "invariance-horizontal_flip", "transforms-augnet",
                 "transforms-augnet-seed-1"):  # fmt: skip
        assert name in names
    study = study._replace(figures={"copies": ["Copies", "What they cost."], "loss": ["Loss", ""]})
    (file := tmp_path / "cifar10-fair+small.json").write_text(json.dumps(study.summary()))
    (tmp_path / "cifar10-fair+small-copies.png").touch()
    assert load(file).records == study.records
    other = [run("augnet-paper", protocol="paper")]
    ((paper, _),) = studies(other)
    (tmp_path / "cifar10-paper.json").write_text(json.dumps(paper.summary()))
    (page,) = pages(tmp_path)
    text = page.markdown
    assert page.picture.title == "Copies: protocol fair+small"
    assert page.picture.file == f"../../{tmp_path.name}/cifar10-fair+small-copies.png"
    assert "What they cost." in text
    assert "![Loss" not in text  # whose figure was not kept
    first, second = page.shows
    assert first.startswith("The paper's settings, 1 seed: accuracy")
    assert second.startswith("Protocol fair+small, ")
    assert "- *fair*: " in text
    assert "<summary>Comparison of settings by means</summary>" in text
    assert "augnet paper run cifar10 --variant none --variant augnet --protocol fair+small" in text
