"""The sleep experiment: the paper's module, and everything runs on nights of a few windows."""

import json

import pytest
import torch

from augnet.paper.config import read, resolve
from augnet.paper.objective import class_weights
from augnet.paper.report.runs import find
from augnet.paper.report.study import studies
from augnet.paper.run import RunDirectory, build

EXPERIMENT = read("sleep")
TINY = {"data.nights": [3, 2, 1], "data.windows": 8, "train.epochs": 2, "net.copies": 2}


def settings(variant, protocol="small", **changes):
    return resolve("sleep", EXPERIMENT, variant, protocol=protocol, changes=TINY | changes)


def test_the_papers_module_and_training():
    config = resolve("sleep", EXPERIMENT, "augnet-paper", protocol="paper")
    net, _ = build(settings("augnet-paper", "paper"), 0)
    names = [[transform.name for transform in layer.transforms] for layer in net.augment]
    rotations = [f"sensor_rotation_{axis}" for axis in "xyz"]
    assert names[0] == ["sign_flip", "channel_symmetry", "channel_shuffle", "channel_dropout",
                        *rotations]  # fmt: skip
    assert names[1] == names[2]
    assert set(names[1]) == {"time_reverse", "time_mask", "gaussian_noise", "ft_surrogate",
                             "frequency_shift"}  # fmt: skip
    train = config.train
    assert (train.optimizer, train.lr, train.betas, train.batch_size) == (
        "adam", 1e-3, (0.0, 0.999), 16)  # fmt: skip
    assert (train.epochs, train.patience, train.balanced) == (300, 30, True)
    assert train.metric == "balanced_accuracy"
    assert (config.regularizer.name, config.regularizer.weight) == ("weighted_norm", 10.0)
    assert config.net.copies == 20


@pytest.mark.parametrize("variant", EXPERIMENT.variants)
def test_every_variant_runs_and_the_report_says_which_data(variant, tmp_path):
    run = RunDirectory(tmp_path / "run", settings(variant), 0)
    rows = list(run.run())
    assert all(0 <= row["test_balanced_accuracy"] <= 1 for row in rows)
    ((study, _),) = studies(find([tmp_path]))
    assert "synthetic nights, made by augnet: no real EEG" in study.provenance
    assert study.summary()["data"] == study.data
    (record,) = study.records
    kept = json.loads((run.path / "result.json").read_text())["kept"]
    assert record.balanced_accuracy == pytest.approx(kept["test_balanced_accuracy"], abs=1e-4)


@pytest.mark.parametrize("source", ["dream", "ucddb"])
def test_real_windows_are_learned_from(source, shared_data, tmp_path):
    root = str(shared_data / f"sleep-{source}")
    changes = {"data.root": root, "data.sizes": [24, 12, 12], "data.windows": 13}
    config = settings("augnet", f"small+{source}", **changes)
    (*_, row) = RunDirectory(tmp_path / "run", config, 0).run()
    assert row["loss"] == row["loss"]
    ((study, _),) = studies(find([tmp_path]))
    assert "real EEG" in study.data


def test_classes_weigh_alike():
    y = torch.tensor([0, 0, 0, 2])
    weights = class_weights(y)
    assert weights.tolist() == pytest.approx([4 / 6, 0, 2])
    assert weights[y].mean() == pytest.approx(1)
    assert class_weights(y, 5).tolist() == pytest.approx([4 / 6, 0, 2, 0, 0])
