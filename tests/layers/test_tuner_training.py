"""RangeTuner in a training: resumed, finished, compiled, copied and in several processes."""

import copy
import io

import pytest
import torch
import torch.nn.functional as F
from host_copies import HostCopies
from specimens import inputs, seeded, specimen
from torch import nn
from torch.multiprocessing.spawn import spawn
from tuned import Add, Lift, Negate, bar_net, bars, scripted, train, tuned

from augnet import AugmentationLayer, AugmentationModule, AugNet, RangeTuner
from augnet.layers.edges import Choice
from augnet.transforms import (
    IMAGES,
    HorizontalFlip,
    Rotate,
    SamplePairing,
    ShearX,
    TranslateX,
    VerticalFlip,
)

dynamo = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


def test_a_short_training_finds_the_range():
    y = torch.arange(256) % 2
    x = (8.0 * y - 4)[:, None] + torch.empty(256, 1).uniform_(-1, 1)  # classes meet at 0
    trunk = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 2))
    net = AugNet(AugmentationLayer(Add(limit=12)), trunk)
    tuner = RangeTuner(net.augment, warmup=50, rate=0.05)
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-2)
    train(net, tuner, optimizer, x, y, 300, seeded(0))
    (row,) = tuner.finish()
    assert row.strength == pytest.approx(3, rel=0.1)
    assert (net.eval()(x).argmax(1) == y).float().mean() > 0.97


@pytest.mark.slow
def test_the_range_of_a_rotation_is_found():
    for seed in range(3):
        torch.manual_seed(seed)
        x, y = bars()
        net = bar_net(Rotate(limit=90))
        tuner = RangeTuner(net.augment)
        optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
        train(net, tuner, optimizer, x, y, 400, seeded(seed))
        (row,) = tuner.finish()
        assert 27 < row.strength < 33  # at 30 + 15 degrees the classes meet
        assert row.unit == "degrees"
        assert (net.eval()(x).argmax(1) == y).float().mean() > 0.97


@pytest.mark.slow
def test_the_range_is_found_beside_other_transforms():
    for seed in range(3):
        torch.manual_seed(seed)
        x, y = bars(1024)
        net = bar_net(Rotate(limit=90), TranslateX(0.1), VerticalFlip())
        tuner = RangeTuner(net.augment)
        optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
        train(net, tuner, optimizer, x, y, 900, seeded(seed))
        rotate, translate = tuner.finish()
        assert 26 < rotate.strength < 34
        assert translate.magnitude > 0.9


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_optimizers_do_not_move_magnitudes_and_weights(optimizer):
    layer = AugmentationLayer(Add(), Negate())
    layer.logits.data.fill_(1.0)
    steps = optimizer(layer.parameters(), lr=0.5, weight_decay=0.5)
    layer(torch.randn(8, 3)).square().sum().backward()  # leaves gradients behind
    RangeTuner(layer, start=0.5)
    assert not any(parameter.requires_grad for parameter in layer.parameters())
    steps.step()
    assert layer.logits.tolist() == [1.0, 1.0]
    assert layer.magnitudes.tolist() == [0.5, 0.5]
    assert not layer(torch.randn(8, 3)).requires_grad


@pytest.mark.parametrize("load_net_first", [True, False])
def test_a_resumed_training_continues_exactly(load_net_first):
    x, y = bars(128)

    def start():
        torch.manual_seed(1)
        net = bar_net(Rotate(), TranslateX(), HorizontalFlip())
        tuner = RangeTuner(net.augment, warmup=5, rate=0.1)
        return net, tuner, torch.optim.AdamW(net.parameters(), lr=1e-2)

    net, tuner, optimizer = start()
    generator = seeded(0)
    train(net, tuner, optimizer, x, y, 20, generator)
    file = io.BytesIO()
    parts = [net.state_dict(), tuner.state_dict(), optimizer.state_dict(), generator.get_state()]
    torch.save(parts, file)
    train(net, tuner, optimizer, x, y, 20, generator)

    file.seek(0)
    states = torch.load(file, weights_only=True)
    net2, tuner2, optimizer2 = start()
    for part, state in [(net2, states[0]), (tuner2, states[1])][:: 1 if load_net_first else -1]:
        part.load_state_dict(state)
    optimizer2.load_state_dict(states[2])
    generator.set_state(states[3])
    train(net2, tuner2, optimizer2, x, y, 20, generator)
    assert tuner2.steps == 40
    assert torch.equal(tuner.average, tuner2.average)
    assert str(tuner.finish()) == str(tuner2.finish())
    for ours, theirs in zip(net.parameters(), net2.parameters(), strict=True):
        assert torch.equal(ours, theirs)


def test_a_state_of_other_transforms_is_refused():
    _, tuner = tuned(Add(), Lift())
    _, other = tuned(Add())
    with pytest.raises(ValueError, match="is that of a tuner of add, lift; this one has add"):
        other.load_state_dict(tuner.state_dict())


def test_a_finished_state_finishes_and_a_finished_tuner_loads_nothing():
    layer, tuner = tuned(Add(), warmup=0)
    scripted(tuner, torch.zeros(16, 3), [[0.0]])
    tuner.finish()
    other_layer, other = tuned(Add())
    other.load_state_dict(tuner.state_dict())
    assert other.finished
    assert not other_layer.tuned
    assert torch.equal(other_layer.magnitudes, layer.magnitudes)
    with pytest.raises(RuntimeError, match="make a new one"):
        other.load_state_dict(tuner.state_dict())


def test_finish_sets_the_averages_and_gives_the_layers_back():
    module = AugmentationModule(AugmentationLayer(Add(), Lift()))
    tuner = RangeTuner(module, warmup=0, rate=0.5)
    for step in range(30):
        scripted(tuner, torch.zeros(16, 3), [[0.04 * (step % 3), 0.0]])
    averages = tuner.average.tolist()
    assert averages != pytest.approx(module[0].magnitudes.tolist())
    table = tuner.finish()
    assert module[0].magnitudes.tolist() == pytest.approx(averages)
    assert [row.magnitude for row in table] == pytest.approx(averages)
    plain = AugmentationModule(AugmentationLayer(Add(), Lift(), magnitude=averages))
    x = torch.randn(8, 3)
    for training in (True, False):
        ours, theirs = (net.train(training)(x, seeded(2)) for net in (module, plain))
        assert torch.equal(ours, theirs)
    module.train()
    with pytest.raises(RuntimeError, match="finished: its ranges are set"):
        tuner.step(torch.zeros(8))
    assert str(tuner.finish()) == str(table)


def test_eval_is_as_it_was_while_a_tuner_is_attached():
    layers = [AugmentationLayer(Rotate(), ShearX(), magnitude=0.05) for _ in range(2)]
    RangeTuner(layers[0])
    x = inputs(IMAGES)
    ours, theirs = (layer.eval()(x, seeded(0)) for layer in layers)
    assert torch.equal(ours, theirs)
    assert layers[0].choice is None
    assert list(layers[0].state_dict()) == ["logits", "raw_magnitudes"]


def test_the_table_is_aligned_text():
    module = AugmentationModule(AugmentationLayer(Rotate(90)), AugmentationLayer(SamplePairing()))
    tuner = RangeTuner(module, warmup=0)
    assert "unknown" in str(tuner.table())
    for _ in range(3):
        scripted(tuner, torch.rand(64, 1, 8, 8), [[0.04], [0.5]])
    head, rotate, pairing = str(tuner.table()).splitlines()
    assert head.split("  ")[0] == "transform"
    assert "1 rotate" in rotate
    assert "±90.0°" in rotate
    assert "+0.040 ± 0.000" in rotate
    assert "2 sample_pairing" in pairing
    assert {line.index("up to") for line in [pairing]} == {head.index("range")}
    assert rotate.index("±90.0°") == head.index("limit")
    (first, second) = tuner.table()
    assert (first.layer, first.name, first.unit, first.samples) == (1, "rotate", "degrees", 36)
    assert first.strength == pytest.approx(90 * first.magnitude)
    assert second.cost == pytest.approx(0.5)


# Devices, graphs, copies and processes.


def test_a_step_reads_nothing_from_the_device():
    layer = AugmentationLayer(Rotate(), ShearX(), HorizontalFlip()).to("meta")
    tuner = RangeTuner(layer, warmup=0)
    for _ in range(2):  # values of this device cannot be read
        layer(torch.zeros(8, 1, 5, 5, device="meta"))
        tuner.step(torch.zeros(8, device="meta"))
    assert tuner.steps == 2


def test_steps_copy_nothing_to_the_device():
    layer = AugmentationLayer(Rotate(), ShearX(), HorizontalFlip()).to("meta")
    tuner = RangeTuner(layer, warmup=0)
    with HostCopies() as copies:
        layer(torch.zeros(8, 1, 5, 5, device="meta"))
        tuner.step(torch.zeros(8, device="meta"))
    assert copies.calls == []


def test_the_net_may_be_moved_after_the_tuner_was_made():
    layer, tuner = tuned(Rotate(), warmup=0)
    layer.to("meta")
    layer(torch.zeros(8, 1, 5, 5, device="meta"))
    with pytest.raises(ValueError, match="the tuner is on meta and the input is on cpu"):
        tuner.step(torch.zeros(8))
    layer(torch.zeros(8, 1, 5, 5, device="meta"))
    tuner.step(torch.zeros(8, device="meta"))
    assert tuner.edges.sums.is_meta


def test_a_state_may_be_loaded_after_the_net_was_moved(monkeypatch):
    _, trained = tuned(Add(), Negate(), warmup=0)
    scripted(trained, torch.zeros(16, 3), [[0.0, 0.0]])
    layer, tuner = tuned(Add(), Negate(), warmup=0)
    layer.to("meta")
    tuner.load_state_dict(trained.state_dict())
    assert tuner.steps == 1
    assert tuner.average.is_meta
    layer(torch.zeros(16, 3, device="meta"))
    tuner.step(torch.zeros(16, device="meta"))
    # It may also be finished; values of this device cannot be shown in a table.
    layer, tuner = tuned(Add(), Negate(), warmup=0)
    monkeypatch.setattr(tuner, "table", lambda: None)
    layer.to("meta")
    tuner.finish()
    assert tuner.average.is_meta


def test_a_copy_of_a_tuned_net_can_be_tuned():
    layer, tuner = tuned(Add(), warmup=0)
    layer(torch.zeros(16, 3))
    other = copy.deepcopy(layer)
    second = RangeTuner(other, warmup=0)
    scripted(second, torch.zeros(16, 3), [[9.0]])
    tuner.step(torch.zeros(16))
    assert other.magnitudes < 0.05 < layer.magnitudes


def test_a_compiled_trunk_gives_the_same_training():
    x, y = bars(64)
    results = []
    for compiled in (True, False):
        torch.manual_seed(0)
        net = bar_net(Rotate(), TranslateX())
        if compiled:
            net.trunk = torch.compile(net.trunk, backend="eager", fullgraph=True)
        tuner = RangeTuner(net.augment, warmup=0)
        train(net, tuner, torch.optim.SGD(net.parameters(), lr=0.1), x, y, 3, seeded(0))
        results.append(tuner.magnitudes)
    assert torch.equal(*results)


@dynamo
@pytest.mark.slow
def test_a_whole_net_compiles_to_one_graph_and_remembers_its_draws():
    x, y = bars(32)
    net = bar_net(Rotate(), TranslateX(), specimen("cutout"))
    tuner = RangeTuner(net.augment, warmup=0)
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    for _ in range(3):
        losses = F.cross_entropy(compiled(x), y, reduction="none")
        assert net.augment[0].choice.edge.sum() == 12
        tuner.step(losses)
    assert tuner.steps == 3
    assert (tuner.magnitudes != 0.05).all()


def two_steps(rank: int, store: str, out: str) -> None:
    """Train one of two processes on samples of its own, and write the ranges."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=2
    )
    torch.manual_seed(0)
    layer, tuner = tuned(Add(), Lift(), warmup=0)
    net = nn.Sequential(layer, nn.Linear(3, 1))
    net = nn.parallel.DistributedDataParallel(net)
    generator = seeded(rank)
    torch.manual_seed(rank)
    for _ in range(3):
        net(torch.zeros(10, 3)).sum().backward()
        tuner.step(torch.rand(10, generator=generator))
    torch.save((tuner.magnitudes, tuner.state_dict()), f"{out}{rank}")
    torch.distributed.destroy_process_group()


@pytest.mark.slow
def test_all_processes_have_the_same_ranges(tmp_path):
    spawn(two_steps, (str(tmp_path / "store"), str(tmp_path / "out")), nprocs=2)
    results = [torch.load(tmp_path / f"out{rank}", weights_only=True) for rank in range(2)]
    assert torch.equal(results[0][0], results[1][0])

    layer, tuner = tuned(Add(), Lift(), warmup=0)  # one process with the samples of both
    draws, losses = [[], []], [[], []]
    for rank in range(2):
        torch.manual_seed(rank)
        for _ in range(3):
            layer(torch.zeros(10, 3))
            draws[rank].append(layer.choice)
        generator = seeded(rank)
        losses[rank] = [torch.rand(10, generator=generator) for _ in range(3)]
    for step in range(3):
        layer.choice = Choice(*map(torch.cat, zip(*(each[step] for each in draws), strict=True)))
        tuner.step(torch.cat([each[step] for each in losses]))
    torch.testing.assert_close(results[0][0], tuner.magnitudes)
    assert torch.equal(results[0][1]["edges"]["seen"], tuner.edges.seen)
