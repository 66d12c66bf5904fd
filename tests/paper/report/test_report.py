"""Reports: what is read from rows, what is drawn, and what is refused."""

import json
import math
import shlex
from dataclasses import replace

import pytest
from report_runs import augerino, epochs, row, run, settings, state, swept, write_run

from augnet.paper.config import ConfigError, parse_change, read
from augnet.paper.report import find, write
from augnet.paper.report.command import changes, commands
from augnet.paper.report.figures import (
    capacity,
    heat_map,
    over_epochs,
    over_sweep,
    samples,
    seeds_that_select,
    widths,
)
from augnet.paper.report.records import Record, record, records
from augnet.paper.report.study import load, studies
from augnet.paper.report.tables import sweep_table, variants_table
from augnet.paper.report.wording import median_and_range


def test_what_was_learned_is_what_the_saved_net_has():
    saved = epochs(row(9, 0.3, 0.1))[0]
    kept = record(run()._replace(kept=saved))
    (layer,) = kept.layers
    assert layer.selected.name == "frequency_shift"
    assert layer.selected.strength == saved.strength("frequency_shift")
    assert layer.selected.strength != run().epochs[-1].strength("frequency_shift")
    assert kept.strength("rotate") is None
    assert record(run(weight=0.3)).layers[0].selected.name == "gaussian_noise"
    assert record(augerino()).strength("rotate") == pytest.approx(45, abs=0.01)


def test_a_transform_leads_from_the_epoch_after_which_no_other_does():
    rows = [row(n, 0.5, 0.1, weight) for n, weight in enumerate((0.9, 0.3, 0.6, 0.2, 0.6, 0.7))]
    few = epochs(*rows)
    assert record(run()._replace(epochs=few, kept=few[-1])).layers[0].leads_from == 5
    assert record(run()).layers[0].leads_from == 1


def test_the_strength_is_that_of_the_layer_that_uses_the_transform_most():
    one = row(0, 0.2, 0.1)
    more = state(2, "frequency_shift", 0.5, 0.3, 0.6, "Hz")
    two = epochs(one | {"transforms": [*one["transforms"], more]})
    assert two[0].strength("frequency_shift") == 0.6
    assert record(run()._replace(epochs=two, kept=two[0])).strength("frequency_shift") == 0.6


def test_the_kept_row_and_not_the_last_gives_the_accuracy():
    early = replace(run().epochs[0], test_accuracy=0.95)
    assert record(run()._replace(kept=early)).test_accuracy == 0.95


def test_variants_are_summed_up_over_their_seeds():
    runs = [run(seed=0), run(seed=1), run(seed=2, weight=0.3)]
    ((variant, seeds, learned, found, accuracy),) = variants_table(
        read("sinusoids").expect, records(runs)
    ).rows
    assert (variant, seeds) == ("one-layer", "3")
    assert learned == (
        "2×: frequency_shift 0.49 Hz (weight 0.80)\n1×: gaussian_noise 0.1 std (weight 0.70)"
    )
    assert found == "0.49 Hz"
    assert accuracy == "0.9"
    (one,) = variants_table(read("mario-iggy").expect, [record(augerino())]).rows
    assert one[2] == "rotate 45 degrees, scale 0.1"


def test_layers_that_do_nothing_are_the_identity():
    epoch = epochs(row(0, 0.02, 0.1))
    still = run()._replace(epochs=epoch, kept=epoch[0])
    (line,) = variants_table(read("sinusoids").expect, records([still])).rows
    assert line[2] == "identity"


def test_numbers_are_given_as_median_and_range():
    assert median_and_range([3.0]) == "3"
    assert median_and_range([0.9, 0.9]) == "0.9"
    assert median_and_range([1, 2, 6]) == "2 (1 to 6)"
    assert median_and_range([1, math.inf, math.inf]) == "1; never 2×"
    assert median_and_range([math.inf]) == "never"
    assert median_and_range([]) == "-"


def test_figures_have_what_the_rows_have():
    runs = [run(seed=0), run(seed=1), run("two-layers")]
    figure = over_epochs(runs, lambda epoch: epoch.test_accuracy, "accuracy", truth=0.5)
    assert len(figure.axes[0].lines) == 3  # two variants and the truth
    assert over_epochs(runs, lambda epoch: None, "nothing") is None
    weights, magnitudes, *_ = heat_map(run()).axes
    assert weights.images[0].get_array().shape == (2, 10)
    assert magnitudes.images[0].get_array()[0, 0] == pytest.approx(0.2)
    assert len(widths([augerino(0), augerino(1), run()]).axes[0].lines) == 4
    assert widths([run()]) is None
    assert heat_map(augerino()) is None


def test_shorter_runs_do_not_cut_the_others_short():
    short = run(seed=1)._replace(epochs=run().epochs[:3])
    (line,) = over_epochs([run(), short], lambda epoch: epoch.task, "loss").axes[0].lines
    assert len(line.get_xdata()) == 10


def test_seeds_that_select_another_transform_are_drawn_dashed():
    runs = [run(seed=0), run(seed=1, weight=0.3)]
    draw = seeds_that_select("frequency_shift")
    figure = over_epochs(
        runs, lambda epoch: epoch.strength("frequency_shift"), "Hz", draw_seeds=draw
    )
    _, solid, dashed = figure.axes[0].lines
    assert solid.get_alpha() > dashed.get_alpha()
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")


def test_many_variants_share_panels_by_their_ending():
    runs = [
        run()._replace(config=settings() | {"variant": f"{method}-{size}"})
        for method in ("none", "augnet")
        for size in ("1x1", "2x1", "2x2", "2x3")
    ]
    figure = over_epochs(runs, lambda epoch: epoch.task, "loss")
    assert [axis.get_title() for axis in figure.axes] == ["1 × 1", "2 × 1", "2 × 2", "2 × 3"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["none", "augnet"]


def test_capacity_is_drawn_per_method_and_copies():
    score = {"invariance": 0.9, "low": -9, "high": 1, "accuracy": 0.8}
    runs = [
        record(run()).model_dump()
        | {"variant": f"{method}-{size}", "measured": [score | {"copies": c} for c in each]}
        for method, each in (("none", [1]), ("augnet", [1, 4]))
        for size in ("1x1", "2x1")
    ]
    figure = capacity([Record(**each) for each in runs])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["none", "augnet, C = 1", "augnet, C = 4"]
    assert capacity([record(run())]) is None


def test_the_data_is_drawn_from_its_settings():
    waves = samples({"name": "sinusoids", "frequencies": [3.0, 5.0]})
    assert [axis.get_ylabel() for axis in waves.axes] == ["class 0\n3 Hz", "class 1\n5 Hz"]
    assert waves.axes[0].lines[0].get_xdata()[-1] == pytest.approx(0.99)  # of one second
    images = samples({"name": "mario-iggy"})
    assert len([axis for axis in images.axes if axis.images]) == 32
    assert samples({"name": "mario-iggy", "images": "gone.npz"}) is None
    assert samples({"name": "unknown"}) is None


def test_a_sweep_has_a_table_and_a_curve():
    weights = (0.05, 0.5, 5.0)
    runs = [swept(seed, regularizer_weight=weight) for weight in weights for seed in (0, 1)]
    assert runs[0].label == "one-layer, regularizer.weight=0.05"
    expect = read("sinusoids").expect
    table = sweep_table(expect, records(runs))
    assert table.columns[:3] == ("variant", "regularizer.weight", "seeds")
    assert [line[:3] for line in table.rows] == [("one-layer", str(w), "2") for w in weights]
    axes = over_sweep(expect, records(runs)).axes
    assert [axis.get_xscale() for axis in axes] == ["log"] * 3
    assert list(axes[0].lines[0].get_xdata()) == list(weights)
    assert sweep_table(expect, records([run()])) is None
    assert over_sweep(expect, records([run()])) is None


def test_a_second_swept_key_has_lines_of_its_own():
    runs = [
        swept(regularizer_weight=weight, net_copies=copies)
        for weight in (0, 1)
        for copies in (2, 4)
    ]
    figure = over_sweep(read("sinusoids").expect, records(runs))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:2] == ["one-layer, net.copies=2", "one-layer, net.copies=4"]
    assert figure.axes[-1].get_xscale() == "linear"  # there is no logarithm of 0
    names = [swept(regularizer_name=name) for name in ("weighted_norm", "magnitude_norm")]
    ticks = over_sweep(read("sinusoids").expect, records(names)).axes[-1].get_xticklabels()
    assert [tick.get_text() for tick in ticks] == ["weighted_norm", "magnitude_norm"]
    steps = [swept(regularizer_weight=[[0, weight], [2, 0.1]]) for weight in (0.5, 1.0)]
    ticks = over_sweep(read("sinusoids").expect, records(steps)).axes[-1].get_xticklabels()
    assert [tick.get_text() for tick in ticks] == ["[0, 0.5]\n[2, 0.1]", "[0, 1.0]\n[2, 0.1]"]


def test_the_command_says_what_was_changed():
    experiment = read("sinusoids")
    sizes = {"data.sizes": [8, 4, 4], "train.epochs": 3}
    config = settings("none", "paper", **sizes)
    config.pop("measure")  # as in a file from before there was one
    config["train"]["gone"] = 1  # and from when there was another
    changed = run("none", 1, config)
    assert changes(experiment, changed) == sizes
    (command,) = commands(experiment, [changed])
    parts = shlex.split(command)
    start = "augnet paper run sinusoids --variant none --protocol paper"
    assert parts[:8] == start.split()
    assert parts[8:10] == ["--seeds", "2"]
    assert dict(map(parse_change, parts[11::2])) == sizes
    usual = [run(variant) for variant in experiment.variants]
    assert commands(experiment, usual) == ["augnet paper run sinusoids --seeds 1"]
    assert len(commands(experiment, [changed, *usual])) == 2
    unknown = run(config=settings() | {"variant": "gone"})
    assert changes(experiment, unknown) == {}


def test_commands_name_the_precision_and_the_seeds_of_each_variant_and_no_folder_of_a_machine():
    experiment = read("sinusoids")
    usual = [run(variant) for variant in experiment.variants]
    lowered = run("none", 1)._replace(versions={"precision": "bf16-mixed"})
    first, second = commands(experiment, [*usual, lowered])
    assert first == "augnet paper run sinusoids --seeds 1"
    assert second == "augnet paper run sinusoids --variant none --seeds 2 --precision bf16-mixed"
    more = run("one-layer", 4)
    first, second = commands(experiment, [*usual, more])
    assert first == "augnet paper run sinusoids --variant one-layer --seeds 5"
    assert "one-layer" not in second
    assert second.endswith("--seeds 1")
    config = settings(**{"data.root": "/home/me/data"})
    assert changes(experiment, run(config=config)) == {"data.root": "DIR"}


def test_the_command_of_a_sweep_names_its_points():
    runs = [swept(regularizer_weight=weight) for weight in (0.1, 0.5)]
    (command,) = commands(read("sinusoids"), runs)
    assert command.endswith("--variant one-layer --seeds 1 --sweep regularizer.weight=0.1,0.5")


def test_protocols_are_kept_apart_and_the_unfinished_in_no_table(tmp_path):
    paper = run(config=settings(protocol="paper"))
    pages = write([run(), run(seed=1)._replace(kept=None), paper], tmp_path)
    assert [page.parent.name for page in pages] == ["sinusoids", "sinusoids-paper"]
    text = pages[0].read_text()
    assert "1 run is not finished" in text
    assert "1 run is not finished" not in pages[1].read_text()
    kept = load(pages[0].with_name("summary.json"))
    assert [record.seed for record in kept.records] == [0]


def test_a_study_can_be_judged_again_from_what_is_kept(tmp_path):
    runs = [run(seed=0), run(seed=1, weight=0.3)]
    (study, _), *_ = studies(runs)
    (page,) = write(runs, tmp_path)
    kept = json.loads(page.with_name("summary.json").read_text())
    assert load(page.with_name("summary.json"))._replace(figures={}) == study
    assert kept["figures"]["learned"][0] == "Learned strength of frequency_shift"
    first = kept["claims"][0]
    assert first["verdict"] == "in 1 of 2 seeds"
    assert first["findings"][0]["values"] == ["frequency_shift", "gaussian_noise"]
    assert kept["claims"][1]["findings"][0]["values"] == [1, "never"]
    assert kept["versions"] == {"commit": "abc", "machine": "a desk"}
    assert "in 1 of 2 seeds" in page.read_text()
    summary = page.with_name("summary.md").read_text()
    assert "| one-layer | 2 |" in summary
    for picture in ("learned", "data", "transforms-one-layer", "accuracy", "loss"):
        assert f"({picture}.png)" in summary
        assert (tmp_path / "sinusoids" / f"{picture}.png").read_bytes().startswith(b"\x89PNG")


def test_runs_that_are_not_there_or_damaged_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="no runs with rows below"):
        find([tmp_path])
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ConfigError, match=r"cannot be read: its manifest\.json cannot be"):
        find([tmp_path])
    (tmp_path / "manifest.json").write_text(json.dumps({"schema": 99, "kind": "run"}))
    with pytest.raises(ConfigError, match="cannot be read: its schema is 99"):
        find([tmp_path])
    (tmp_path / "manifest.json").unlink()
    (tmp_path / "run.json").write_text(json.dumps({"schema": 1, "config": {}, "seed": 0}))
    with pytest.raises(ConfigError, match=r"older version of augnet made it \(it has run\.json"):
        find([tmp_path])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"transforms": [{"layer": 1, "nam": "rotate"}]}, "unexpected keyword argument 'nam'"),
        ({"layer1.rotate.weight": 0.5, "transforms": 3}, "not iterable"),
        ({"task": "low"}, "could not convert"),
    ],
)
def test_rows_in_another_form_are_refused_in_one_line(damage, message, tmp_path):
    write_run(tmp_path / "a", [row(0, 0.5, 0.1) | damage])
    with pytest.raises(ConfigError, match=message) as error:
        find([tmp_path])
    assert str(tmp_path / "a") in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_run_is_read_from_its_directory(tmp_path):
    rows = [row(n, 0.4, 0.1) | {"invariance": {"rotate": 0.1 * n}} for n in range(3)]
    measured = [{"copies": 1, "invariance": 0.9, "low": 0, "high": 1, "accuracy": 0.8}]
    result = {"epochs": 3, "kept": rows[1], "measured": measured}
    write_run(tmp_path / "a", rows, seed=4, result=result)
    write_run(tmp_path / "b", rows[:2], seed=5)
    done, unfinished = find([tmp_path])
    assert (done.seed, done.variant, done.study) == (4, "one-layer", ("sinusoids", "ours"))
    assert [each.invariance["rotate"] for each in done.epochs] == pytest.approx([0, 0.1, 0.2])
    assert done.epochs[0].transforms[0].name == "frequency_shift"
    assert done.kept.invariance == {"rotate": 0.1}
    assert done.versions == {"commit": "abc", "machine": "a desk"}
    assert record(done).measured[0].invariance == 0.9
    assert unfinished.kept is None
    assert len(records([done, unfinished])) == 1


def test_two_runs_that_claim_to_be_the_same_are_refused(tmp_path):
    for name in ("a", "b"):
        write_run(tmp_path / name, [row(0, 0.5, 0.1)])
    with pytest.raises(ConfigError, match="are both one-layer, seed 0"):
        find([tmp_path])
    assert len(find([tmp_path / "a"])) == 1


def test_points_of_a_sweep_get_one_panel_per_variant():
    runs = [
        swept(variant=variant, regularizer_weight=weight)
        for variant in ("one-layer", "two-layers")
        for weight in (0.1, 0.5)
    ]
    figure = over_epochs([*runs, run()], lambda epoch: epoch.task, "loss")
    assert [axis.get_title() for axis in figure.axes] == ["one-layer", "two-layers"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["regularizer.weight=0.1", "regularizer.weight=0.5", "no sweep"]


def test_a_sweep_alone_is_not_judged(tmp_path):
    (study, _), *_ = studies([swept(regularizer_weight=weight) for weight in (0.1, 0.5)])
    assert list(study.tables) == ["Sweeps"]
    assert study.outcome == ""
    (with_base, _), *_ = studies([swept(regularizer_weight=0.1), run()])
    assert with_base.judged[0].verdict == "reproduced (1 of 1 seeds)"
    assert [line[0] for line in with_base.tables["What was learned"].rows] == ["one-layer"]


def test_sweeps_of_different_settings_are_drawn_apart(tmp_path):
    runs = [swept(regularizer_weight=weight) for weight in (0.1, 0.5)]
    (page,) = write([*runs, *(swept(train_lr=lr) for lr in (0.1, 0.01))], tmp_path)
    pictures = sorted(file.stem for file in page.parent.glob("sweep*.png"))
    assert pictures == ["sweep-regularizer.weight", "sweep-train.lr"]
    assert "| one-layer | - | 0.01 | 1 |" in page.with_name("summary.md").read_text()
