"""Training: rows, randomness, early stopping, parameter groups."""

import json
import math
from dataclasses import asdict

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from augnet import (
    REGULARIZERS,
    Augerino,
    AugmentationLayer,
    AugmentationModule,
    AugNet,
    build_transforms,
    identity,
)
from augnet.layers.state import transform_states
from augnet.paper.average import TailAverage
from augnet.paper.config import Regularization, Scores, Training, Tuning
from augnet.paper.datasets import sinusoids
from augnet.paper.train import Trainer, transforms_of
from augnet.trunks import SinusoidCNN


def trainer(regularizer="weighted_norm", weight=0.1, seed=0, select="none", wait=False, **settings):
    torch.manual_seed(0)
    layer = AugmentationLayer(*build_transforms(["frequency_shift", "gaussian_noise"], sfreq=100))
    trunk = nn.Sequential(SinusoidCNN(width=4, kernel=20), nn.Dropout(0.1))
    net = AugNet(AugmentationModule(layer), trunk, copies=2)
    data = sinusoids.load(sizes=(60, 20, 20), duration=1.0)
    settings = {"epochs": 3, "batch_size": 16, "lr": 1e-2, **settings}
    regularization = Regularization(name=regularizer, weight=weight)
    scores = Scores(epoch_samples=10)
    tuning = Tuning(select=select, wait=wait)
    training = Training(**settings)
    return Trainer(net, data, training, regularization, seed, None, scores, tuning)


def test_rows_are_plain_values_and_say_what_was_learned():
    rows = list(trainer())
    assert [row["epoch"] for row in rows] == [0, 1, 2]
    assert json.loads(json.dumps(rows)) == rows
    row = rows[-1]
    assert row["loss"] == pytest.approx(row["task"] + 0.1 * row["regularizer"])
    shift, noise = transforms_of(row)
    assert (shift.layer, shift.name, shift.unit) == (1, "frequency_shift", "Hz")
    assert shift.strength == pytest.approx(5.0 * shift.magnitude)
    assert shift.weight + noise.weight == pytest.approx(1)
    assert row["invariance"] == {}
    assert {f"{part}_accuracy" for part in ("train", "valid", "test")} <= set(row)


def test_a_seed_decides_everything():
    first, again, other = (list(trainer(seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("regularizer", ["none", *REGULARIZERS])
def test_every_regularizer_trains(regularizer):
    row = list(trainer(regularizer, epochs=1))[-1]
    assert (row["regularizer"] < 0) == (regularizer != "none")


def test_a_state_goes_on_where_another_stopped():
    whole = trainer(epochs=4, schedule="cosine")
    rows = list(whole)
    begun = trainer(epochs=4, schedule="cosine")
    steps = iter(begun)
    next(steps)
    next(steps)
    state = begun.state_dict()
    resumed = trainer(epochs=4, schedule="cosine")
    resumed.load_state_dict(state)
    assert list(resumed) == rows[2:]
    assert resumed.rows == rows
    torch.testing.assert_close(resumed.net.state_dict(), whole.net.state_dict(), rtol=0, atol=0)


class OnCuda:
    """A fabric on a GPU, for what a trainer asks of it to keep its state."""

    device, world_size, global_rank = torch.device("cuda", 1), 1, 0


def test_on_cuda_the_state_has_that_of_its_generator(monkeypatch):
    theirs = {OnCuda.device: torch.arange(16, dtype=torch.uint8)}
    monkeypatch.setattr(torch.cuda, "get_rng_state", theirs.__getitem__)
    monkeypatch.setattr(
        torch.cuda, "set_rng_state", lambda state, device: theirs.update({device: state})
    )
    mine = trainer()
    assert mine.state_dict()["cuda"] is None  # on a CPU
    mine.fabric = OnCuda()
    saved = mine.state_dict()
    theirs[OnCuda.device] = theirs[OnCuda.device] + 1
    mine.load_state_dict({key: value for key, value in saved.items() if key != "cuda"})
    assert theirs[OnCuda.device][0] == 1  # a state of before says nothing about it
    mine.load_state_dict(saved)
    assert torch.equal(theirs[OnCuda.device], torch.arange(16, dtype=torch.uint8))


def test_patience_stops_and_keeps_the_best():
    # Nothing learns at this rate: the first epoch is the best, and then comes the patience.
    run = trainer(epochs=50, lr=1e-12, patience=2)
    rows = list(run)
    assert len(rows) == run.best_epoch + 1 + 2
    best = {key: value.clone() for key, value in run.best.items()}
    with torch.no_grad():
        for parameter in run.net.parameters():
            parameter.add_(1)
    run.finish()
    torch.testing.assert_close(run.net.state_dict(), best, rtol=0, atol=0)


def test_the_augmentation_has_a_learning_rate_and_a_weight_decay_of_its_own():
    run = trainer(lr=0.1, weight_decay=0.2, augment_lr=0.3, augment_weight_decay=0.4)
    trunk, augment = run.optimizer.param_groups
    assert (trunk["lr"], trunk["weight_decay"]) == (0.1, 0.2)
    assert (augment["lr"], augment["weight_decay"]) == (0.3, 0.4)
    assert sum(p.numel() for p in augment["params"]) == 4


def test_balanced_accuracy_weighs_classes_alike():
    run = trainer()
    run.net.trunk.forward = lambda x: torch.tensor([1.0, 0, 0, 0]).expand(len(x), 4)
    samples = run.splits.train
    first = (samples.y == 0).nonzero().flatten()
    rest = torch.tensor([int((samples.y == label).nonzero()[0]) for label in (1, 2, 3)])
    rows = torch.cat([first, rest])
    scores = run.score(type(samples)(samples.x[rows], samples.y[rows]))
    assert scores["accuracy"] == pytest.approx(len(first) / len(rows))
    assert scores["balanced_accuracy"] == pytest.approx(0.25)


def test_measures_are_repeatable_and_are_of_the_copies_asked_for():
    run = trainer(epochs=1)
    list(run)
    (shift,) = build_transforms({"name": "frequency_shift", "limit": 2.0, "sfreq": 100})
    one, again, many = (run.measure(shift, copies) for copies in (1, 1, 40))
    assert one == again
    assert many["invariance"] != one["invariance"]
    assert run.net.copies == 2


@pytest.mark.parametrize("select", ["none", "all", "one"])
@pytest.mark.parametrize("patience", [None, 9])
def test_what_is_reported_is_what_is_saved(select, patience):
    regularizer = "weighted_norm" if select == "none" else "none"
    run = trainer(regularizer, select=select, epochs=8, patience=patience)
    rows = list(run)
    kept = run.finish()
    saved = [asdict(state) for state in transform_states(run.net)]
    assert kept["transforms"] == saved
    assert kept["test_accuracy"] == run.score(run.splits.test)["accuracy"]
    assert kept["epoch"] == (run.best_epoch if patience else 7)
    moved = [state["magnitude"] for state in rows[kept["epoch"]]["transforms"]]
    if not patience:
        assert [state["magnitude"] for state in saved] != moved
    if run.tuner:
        assert run.tuner.finished
        assert not any(p.requires_grad for p in run.net.augment.parameters())


def test_the_saved_augmentation_is_the_average_of_the_last_quarter():
    run = trainer(epochs=8)
    seen = []
    step = run._step

    def watched(batch):
        values = step(batch)
        seen.append(run.net.augment[0].raw_magnitudes.detach().clone())
        return values

    run.loop.step = watched
    list(run)
    assert len(seen) == 8 * 4
    run.finish()
    expected = torch.stack(seen[-8:]).mean(0)  # two of eight epochs of four steps
    torch.testing.assert_close(run.net.augment[0].raw_magnitudes.detach(), expected)


def test_short_trainings_average_their_last_epoch():
    net = AugNet(AugmentationLayer(*build_transforms(["rotate"])), nn.Identity())
    average = TailAverage(net, epochs=2)
    average.update(0)
    assert not average.means
    average.update(1)
    assert average.means.keys() == {"augment.logits", "augment.raw_magnitudes"}


@pytest.mark.parametrize("select", ["all", "one"])
def test_a_tuned_state_goes_on_where_another_stopped(select):
    whole = trainer("none", select=select, epochs=4)
    rows = list(whole)
    begun = trainer("none", select=select, epochs=4)
    next(iter(begun))
    state = begun.state_dict()
    resumed = trainer("none", select=select, epochs=4)
    resumed.load_state_dict(state)
    assert list(resumed) == rows[1:]
    assert resumed.finish() == whole.finish()


def test_a_probe_tells_what_transforms_cost_and_leaves_the_net_alone():
    plain = trainer("none", select="one", epochs=1)
    torch.manual_seed(5)
    probe = SinusoidCNN(width=4, kernel=20)
    rest = (0, None, plain.scores, Tuning(select="one"), probe)
    seen = []
    run = Trainer(trainer().net, plain.splits, plain.settings, None, *rest)
    run.tuner.step = seen.append
    before = probe[0].weight.clone()
    list(run)
    assert not torch.equal(probe[0].weight, before)
    assert run.net.state_dict().keys() == plain.net.state_dict().keys()
    x, y = run.splits.train
    views = run.net.train().augment(x, torch.Generator().manual_seed(0))
    (given,) = (run.objective(x, y, torch.Generator().manual_seed(0))["losses"],)
    torch.testing.assert_close(given, F.cross_entropy(probe(views), y, reduction="none"))
    assert len(seen) == 4


def test_beside_a_probe_the_trunk_learns_from_averages_over_copies():
    plain = trainer("none", select="one", epochs=1)
    plain.net.train_copies, plain.net.sampling = 3, "stratified"
    rest = (0, None, plain.scores, Tuning(select="one"), SinusoidCNN(width=4, kernel=20))
    net = plain.net
    run = Trainer(net, plain.splits, plain.settings, None, *rest)
    calls, modes = [], []
    net.trunk.register_forward_hook(lambda trunk, x, y: calls.append(len(y)))
    net.trunk.register_forward_hook(lambda trunk, x, y: modes.append(trunk.training))
    x, y = run.splits.train
    run.objective.train()
    run.objective(x[:16], y[:16], torch.Generator().manual_seed(0))["task"].backward()
    assert (calls, modes) == ([48], [True])
    assert net.training
    assert net.augment.training


def test_what_is_learned_is_read_off_any_augment():
    assert transform_states(AugNet(identity, nn.Identity())) == []
    states = transform_states(AugNet(Augerino(0.5), nn.Identity()))
    assert transforms_of({"transforms": [asdict(state) for state in states]}) == states
    (rotate,) = (state for state in states if state.name == "rotate")
    assert (rotate.weight, rotate.magnitude) == (None, pytest.approx(0.5))
    assert len(states) == 6


def test_ranges_wait_for_a_trunk_that_knows_more_than_chance():
    """Chance is the entropy of the classes, or that of equal ones where their weights are equal."""
    waiting = trainer("none", select="all", wait=True)
    y = waiting.splits.train.y
    shares = y.bincount() / len(y)
    assert waiting.tuner.chance == pytest.approx(-(shares * shares.log()).sum().item(), rel=1e-5)
    balanced = trainer("none", select="all", wait=True, balanced=True)
    assert balanced.tuner.chance == pytest.approx(math.log(4))
    assert trainer("none", select="all").tuner.chance == math.inf


def test_the_net_that_is_kept_may_be_scored_on_other_views(monkeypatch):
    run = trainer(patience=3)
    run.scores = Scores(views="plain", final_views="net")
    list(run)
    kept = run.finish()
    for part, samples in (("valid", run.splits.valid), ("test", run.splits.test)):
        assert kept[f"{part}_accuracy"] == run.score(samples, "net")["accuracy"]
    shown = []
    monkeypatch.setattr(run, "score", lambda _, views=None: shown.append(views) or {})
    run._scores()
    run.finish()
    assert shown == [None, None, "net", "net"]
