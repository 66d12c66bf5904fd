"""Ranges are logged while a network trains: in a plain loop, Lightning, skorch and TensorBoard."""

import sys

import pytest
import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from learn_tasks import Rule, Shift, generator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from augnet import AugmentationLayer, AugNet, RangeTuner
from augnet.audit import hooks
from augnet.audit.hooks import RangeLog, log_tuned
from augnet.transforms import GaussianNoise, SignFlip

SHIFT = Shift(2.0)


def levels(size=200):
    y = torch.arange(size) % 2
    return 2.0 * y[:, None] - 1 + 0.1 * torch.randn(size, 3, generator=generator()), y


def test_a_plain_loop_logs_how_far_a_network_holds(capsys):
    log = RangeLog(*levels(), [SHIFT, SignFlip()], every=2)
    numbers = log(Rule(lambda x: x[:, 0] > -0.5), 2)
    assert set(numbers) == {"range/shift", "range/sign_flip"}
    assert 0.1 < numbers["range/shift"] < 0.6
    assert numbers["range/sign_flip"] == 0
    assert capsys.readouterr().err.startswith("epoch 2: range/shift 0.")
    assert log(Rule(lambda x: x[:, 0] > 0), 3) == {}
    assert log(Rule(lambda x: x[:, 0] > 0), 4)["range/shift"] > numbers["range/shift"]


def test_writers_are_functions_tensorboard_or_refused(monkeypatch):
    rows, scalars = [], []

    class Summary:
        def add_scalar(self, name, value, epoch):
            scalars.append((name, value, epoch))

    log = RangeLog(*levels(), [SHIFT], writers=[lambda *row: rows.append(row), Summary()])
    numbers = log(Rule(lambda x: x[:, 0] > 0), 7)
    assert rows == [(numbers, 7)]
    assert scalars == [("range/shift", numbers["range/shift"], 7)]
    with pytest.raises(TypeError, match=r"a writer is a function .* got int"):
        RangeLog(*levels(), [SHIFT], writers=[3])
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(ImportError, match="TensorBoard is not installed"):
        hooks.tensorboard("runs")


def test_ranges_of_a_tuner_are_logged():
    torch.manual_seed(0)
    net = AugNet(AugmentationLayer(GaussianNoise(1.0), SHIFT), nn.Linear(3, 2))
    tuner, rows = RangeTuner(net.augment, warmup=0), []
    x, y = levels()
    net.train()
    for _ in range(3):
        tuner.step(F.cross_entropy(net(x), y, reduction="none"))
    numbers = log_tuned(tuner, 1, lambda *row: rows.append(row))
    assert rows == [(numbers, 1)]
    expected = {f"range/{row.name}": row.strength for row in tuner.table()}
    assert {name: numbers[name] for name in expected} == expected
    assert set(numbers) - set(expected) == {"cost/gaussian_noise", "cost/shift"}


@pytest.mark.filterwarnings("ignore")
def test_lightning_logs_ranges_after_each_epoch():
    class Classifier(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(3, 2)

        def forward(self, x):
            return self.net(x)

        def training_step(self, batch, _):
            return F.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch, _):
            self.log("loss", F.cross_entropy(self(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.1)

    callback = hooks.lightning_callback(RangeLog(*levels(), [SHIFT], writers=[lambda *row: None]))
    trainer = pl.Trainer(
        max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=[callback], accelerator="cpu",
    )  # fmt: skip
    loader = DataLoader(TensorDataset(*levels()), 50)
    trainer.fit(Classifier(), loader, loader)
    assert 0.3 < trainer.callback_metrics["range/shift"] < 1.2


@pytest.mark.filterwarnings("ignore")
def test_skorch_records_ranges_in_its_history():
    skorch = pytest.importorskip("skorch")
    callback = hooks.skorch_callback(RangeLog(*levels(), [SHIFT], writers=[lambda *row: None]))
    net = skorch.NeuralNetClassifier(
        nn.Linear(3, 2), criterion=nn.CrossEntropyLoss, max_epochs=2, lr=0.5, verbose=0,
        callbacks=[callback], train_split=None,
    )  # fmt: skip
    x, y = levels()
    net.fit(x.numpy(), y.numpy())
    assert len(net.history[:, "range/shift"]) == 2
    assert net.history[-1, "range/shift"] > 0.3
