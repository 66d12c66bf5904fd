"""Reports: what rows say, and what is refused."""

import json
import math
from pathlib import Path

import pytest

from augnet.config import ConfigError, read
from augnet.report import each_run, find, summary_table
from augnet.report.figures import capacity, heat_map, over_epochs, spread
from augnet.report.runs import Run, strength


def row(epoch, shift, noise, weight=0.8):
    return {
        "epoch": epoch,
        "task": 0.1,
        "test_accuracy": 0.9,
        "layer1.frequency-shift.weight": weight,
        "layer1.frequency-shift.magnitude": shift / 2,
        "layer1.frequency-shift.strength": shift,
        "layer1.gaussian-noise.weight": 1 - weight,
        "layer1.gaussian-noise.magnitude": noise,
        "layer1.gaussian-noise.strength": noise,
    }


def run(variant="one-layer", seed=0, **options):
    config = {"experiment": "sinusoids", "variant": variant, "protocol": "ours"}
    rows = [row(epoch, 0.4 + 0.01 * epoch, 0.1, **options) for epoch in range(10)]
    return Run(Path(), config, seed, rows, measured=[], versions={})


def test_what_was_learned_is_averaged_over_the_last_fifth():
    assert run().selected() == "frequency-shift"
    assert run(weight=0.3).selected() == "gaussian-noise"
    assert run().strength("frequency-shift") == pytest.approx((0.48 + 0.49) / 2)
    assert run().strength("rotate") is None
    assert run().layers == 1


def test_the_strength_is_that_of_the_layer_that_uses_the_word_most():
    two = row(0, 0.2, 0.1) | {
        "layer2.frequency-shift.weight": 0.5,
        "layer2.frequency-shift.strength": 0.6,
    }
    assert strength(two, "frequency-shift") == 0.6
    augerino = {"augerino.rotate.width": math.pi / 2}
    assert strength(augerino, "rotate") == pytest.approx(45)


def test_variants_are_summed_up_over_their_seeds():
    runs = [run(seed=0), run(seed=1), run(seed=2, weight=0.3)]
    ((variant, seeds, selected, found, paper, accuracy),) = summary_table(read("sinusoids"), runs)
    assert (variant, seeds) == ("one-layer", "3")
    assert selected == "frequency-shift 2×, gaussian-noise 1×"
    assert found.startswith("frequency-shift 0.485")
    assert paper == "frequency-shift 0.5 Hz"
    assert accuracy == "0.9 (0.9 to 0.9)"


def test_each_run_is_recorded_for_good():
    (record,) = each_run([run(seed=3)])
    assert record["seed"] == 3
    (chosen,) = record["selected"]
    assert chosen == {"word": "frequency-shift", "weight": 0.8, "strength": 0.485}


def test_figures_have_what_the_rows_have():
    runs = [run(seed=0), run(seed=1), run("two-layers")]
    figure = over_epochs(runs, lambda row: row["test_accuracy"], "accuracy", truth=0.5)
    assert len(figure.axes[0].lines) == 3  # two variants and the truth
    assert over_epochs(runs, lambda row: None, "nothing") is None
    weights, magnitudes, *_ = heat_map(run()).axes
    assert weights.images[0].get_array().shape == (2, 10)
    assert magnitudes.images[0].get_array()[0, 0] == pytest.approx(0.2)
    assert spread([3.0]) == "3"


def test_capacity_is_drawn_per_method_and_copies():
    runs = [
        run(f"{method}-{size}")._replace(
            measured=[{"copies": c, "invariance": 0.9, "accuracy": 0.8} for c in copies]
        )
        for method, copies in (("none", [1]), ("augnet", [1, 4]))
        for size in ("1x1", "2x1")
    ]
    labels = [text.get_text() for text in capacity(runs).legends[0].get_texts()]
    assert labels == ["none", "augnet, C = 1", "augnet, C = 4"]
    assert capacity([run()]) is None


def test_runs_that_are_not_there_or_damaged_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="no runs with rows below"):
        find([tmp_path])
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ConfigError, match="is damaged"):
        find([tmp_path])
    (tmp_path / "run.json").write_text(json.dumps({"schema": 99, "config": {}, "seed": 0}))
    with pytest.raises(ConfigError, match="schema 99"):
        find([tmp_path])
