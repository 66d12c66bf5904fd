"""The CIFAR-10 experiment: every method in both protocols, for a few steps on made-up images."""

import json

import numpy as np
import pytest

from augnet.paper.config import read, resolve
from augnet.paper.run import RunDirectory, build

pytestmark = pytest.mark.usefixtures("made_up_cifar")
EXPERIMENT = read("cifar10")
TINY = {"data.sizes": [48, 16, 16], "train.epochs": 2, "train.batch_size": 16, "trunk.width": 2,
        "net.copies": 2, "scores.copies": [1, 2], "scores.samples": 8}  # fmt: skip


def settings(variant, protocol, **changes):
    return resolve("cifar10", EXPERIMENT, variant, protocol=protocol, changes=TINY | changes)


@pytest.mark.parametrize("variant", EXPERIMENT.variants)
def test_every_method_runs_and_is_scored_alike(variant, tmp_path):
    run = RunDirectory(tmp_path / "run", settings(variant, "fair+small"), 0)
    rows = list(run.run())
    watched = ("horizontal_flip", "translate_x", "translate_y", "brightness")
    assert all(tuple(row["invariance"]) == watched for row in rows)
    scored = json.loads((run.path / "result.json").read_text())["scored"]
    views = [(row["views"], row["copies"]) for row in scored]
    assert views == [("plain", 1), ("own", 1), ("own", 2)]
    assert all(0 <= row["accuracy"] <= 1 for row in scored)
    times = json.loads((run.path / "result.json").read_text())["times"]
    assert [row["copies"] for row in times] == [row["copies"] for row in scored[1:]]
    assert all(row["time"] > 0 for row in times)


@pytest.mark.parametrize("protocol", ["fair", "paper", "fair+small", "paper+small"])
def test_fair_is_alike_and_paper_is_not(protocol):
    configs = [settings(variant, protocol) for variant in EXPERIMENT.variants]
    trained = {config.train.model_dump_json() for config in configs}
    standardized = {str(config.trunk.arguments["mean"]) for config in configs}
    alike = protocol.startswith("fair")
    assert (len(trained) == 1) == alike
    assert (len(standardized) == 1) == alike
    assert len({(config.scores.views, config.net.copies) for config in configs}) == 1


def test_the_papers_layers_and_schedule():
    config = resolve("cifar10", EXPERIMENT, "augnet-paper", protocol="paper")
    net, _ = build(settings("augnet-paper", "paper"), 0)
    names = [[transform.name for transform in layer.transforms] for layer in net.augment]
    geometric = ["translate_x", "translate_y", "rotate", "shear_x", "shear_y"]
    assert names[1:] == [geometric, geometric]
    assert names[0] == ["horizontal_flip", "sample_pairing", "contrast", "brightness"]
    assert config.regularizer.weight == [(0, 0.5), (40, 0.05)]
    assert (config.train.epochs, config.train.lr, config.train.weight_decay) == (300, 1e-3, 2e-2)
    assert (config.net.train_copies, config.net.copies) == (1, 20)


def test_a_run_without_shuffling_takes_samples_in_order(tmp_path):
    still = settings("none", "paper+small", **{"train.optimizer": "sgd"})
    assert not still.train.shuffle
    first, again = (
        list(RunDirectory(tmp_path / name, still, 0).run())[-1] for name in ("first", "again")
    )
    assert first == again


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["fixed", "augnet"])
def test_the_full_form_makes_a_few_steps(variant, tmp_path):
    config = settings(variant, "fair", **{"trunk.width": 64, "train.epochs": 1})
    (row,) = RunDirectory(tmp_path / "run", config, 0).run()
    assert np.isfinite(row["loss"])
