"""AugNet: copies, chunks, and everything that people do to a module."""

import copy
import io
import multiprocessing
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from specimens import CHANNELS, inputs, seeded
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from augnet import (
    Augerino,
    AugmentationLayer,
    AugmentationModule,
    AugNet,
    WeightedNorm,
    build_transforms,
    identity,
    invariance,
    summary,
)
from augnet.aggregate import AGGREGATES, uncertainty
from augnet.transforms import IMAGES, SIGNALS, HorizontalFlip, Rotate, VerticalFlip
from augnet.transforms.base import take
from augnet.transforms.noise import uniform

# Dynamo makes an instance of a custom autograd function, and torch warns that nobody should.
dynamo = pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")


def image_trunk():
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5)
    )


def image_net(**settings):
    torch.manual_seed(0)
    augment = AugmentationModule(
        *[AugmentationLayer(*build_transforms(["rotate", "translate_x", "hue", "horizontal_flip"]))]
        * 2
    )
    net = AugNet(augment, image_trunk(), **settings)
    net(inputs(IMAGES))  # sizes its lazy layer
    return net


def signal_net(**settings):
    torch.manual_seed(0)
    names = ["frequency_shift", "gaussian_noise", "sensor_rotation_x", "channel_shuffle"]
    augment = AugmentationModule(
        AugmentationLayer(*build_transforms(names, sfreq=100, channels=CHANNELS))
    )
    return AugNet(augment, nn.Sequential(nn.Flatten(), nn.Linear(6 * 256, 3)), **settings)


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("copies", [1, 3])
def test_the_output_is_the_aggregate_of_the_trunk_over_copies(aggregate, copies):
    net = signal_net(aggregate=aggregate, copies=copies).eval()
    x = inputs(SIGNALS)
    params = net.copy_params(x, seeded(1))
    rows = torch.arange(copies * len(x)).split(len(x))
    views = torch.stack(
        [net.trunk(net.augment.apply_params(x, take(params, each))) for each in rows]
    )
    expected = {
        "values": views.mean(0),
        "logits": views.mean(0),
        "log-probabilities": views.log_softmax(-1).mean(0),
        "probabilities": views.softmax(-1).mean(0).log(),
    }[aggregate]
    torch.testing.assert_close(net(x, seeded(1)), expected)


def test_aggregates_of_logits_and_of_log_probabilities_are_the_same_classifier():
    outputs, y = torch.randn(7, 10, 4), torch.randint(4, (10,))
    losses = [
        F.cross_entropy(AGGREGATES[name](outputs), y) for name in ("logits", "log-probabilities")
    ]
    torch.testing.assert_close(*losses)


def test_probabilities_are_over_the_classes_of_cross_entropy():
    pixels = torch.randn(3, 2, 4, 5, 6)  # copies, batch, classes, height, width
    for name in ("log-probabilities", "probabilities"):
        assert AGGREGATES[name](pixels[:1]).exp().sum(1).allclose(torch.ones(2, 5, 6))
        for values in (torch.randn(3, 2), torch.randn(3, 2, 1)):
            with pytest.raises(ValueError, match="two classes or more"):
                AGGREGATES[name](values)


def test_a_trunk_that_works_in_place_leaves_the_input_alone():
    x = torch.randn(4, 5)
    kept = x.clone()
    AugNet(identity, nn.Sequential(nn.ReLU(inplace=True), nn.Linear(5, 2)), copies=1)(x)
    assert torch.equal(x, kept)


def test_copies_depend_on_the_mode():
    net = signal_net(copies=7, train_copies=2)
    x = inputs(SIGNALS)
    assert net.train().outputs(x).shape == (2, 8, 3)
    assert net.eval().outputs(x).shape == (7, 8, 3)


@pytest.mark.parametrize("max_batch", [1, 3, 8, 20, 1000])
def test_chunks_give_the_same_result_and_stay_below_the_cap(max_batch):
    net = signal_net(copies=5).eval()
    x = inputs(SIGNALS)
    whole = net(x, seeded(3))
    sizes = []
    net.trunk.register_forward_pre_hook(lambda trunk, args: sizes.append(len(args[0])))
    net.max_batch = max_batch
    torch.testing.assert_close(net(x, seeded(3)), whole)
    assert sum(sizes) == 5 * len(x)
    assert max(sizes) <= max_batch


@pytest.mark.parametrize("max_batch", [None, 1, 20])
def test_stratified_copies_are_repeatable_whatever_the_chunks(max_batch):
    net = signal_net(copies=5, sampling="stratified").eval()
    x, generator = inputs(SIGNALS), seeded(3)
    whole = net(x, seeded(3))
    net.max_batch = max_batch
    torch.testing.assert_close(net(x, generator), whole)
    assert not torch.allclose(net(x, generator), whole)  # the generator went on
    torch.manual_seed(1)
    first, second = net(x), net(x)
    torch.manual_seed(1)
    torch.testing.assert_close(net(x), first)
    assert not torch.allclose(first, second)
    assert not torch.allclose(net.train()(x, seeded(3)), whole)


def test_stratified_copies_cover_the_range_of_each_transform_and_share_the_transforms_out():
    flip, shift = build_transforms(["sign_flip", {"name": "amplitude_scale", "limit": 2}])
    net = AugNet(
        AugmentationLayer(replace(flip, limit=1.0), shift, magnitude=1.0),
        nn.Identity(),
        copies=8,
        sampling="stratified",
    ).eval()
    outputs = net.outputs(torch.ones(500, 1), seeded(0))[..., 0]
    assert ((outputs == -1).sum(0) == 4).all()  # of equal weights, each transform gets half of them
    net.augment = AugmentationLayer(shift, magnitude=1.0).eval()
    part = net.outputs(torch.ones(500, 1), seeded(0))[..., 0].log2() / 2 + 0.5
    strata = (part * 8).floor().clamp(0, 7).sort(0).values
    assert (strata == torch.arange(8.0)[:, None]).float().mean() > 0.99  # rounding may cross over
    # Each copy by itself is drawn as ever.
    torch.testing.assert_close(
        part[3].quantile(torch.tensor([0.25, 0.5, 0.75])),
        torch.tensor([0.25, 0.5, 0.75]),
        atol=0.08,
        rtol=0,
    )


def test_stratified_copies_of_draws_with_several_numbers_have_the_distribution_of_others():
    (drop,) = build_transforms({"name": "channel_dropout", "limit": 0.2})
    found = {}
    for sampling in ("independent", "stratified"):
        net = AugNet(AugmentationLayer(drop, magnitude=1.0), nn.Identity(), sampling=sampling)
        views = net.eval().outputs(torch.ones(500, 6, 1), seeded(0))[..., 0]
        dropped = (views == 0).float().sum(2)  # how many channels, in each copy of each sample
        found[sampling] = (dropped == torch.arange(7.0)[:, None, None]).float().mean((1, 2))
    torch.testing.assert_close(*found.values(), atol=0.02, rtol=0)
    assert found["stratified"][6] < 0.001  # 0.2 if one number decides on all channels


def test_stratified_copies_have_the_same_mean_and_less_variance():
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3)).double()
    augment = AugmentationLayer(*build_transforms(["amplitude_scale", "sign_flip"]), magnitude=1.0)
    x = torch.randn(1, 8, dtype=torch.float64).expand(3000, 8)
    answers = {}
    for sampling in ("independent", "stratified"):
        net = AugNet(augment, trunk, copies=4, sampling=sampling).eval()
        with torch.no_grad():
            answers[sampling] = net(x, seeded(1))
    means, variances = ([a.mean(0) for a in answers.values()], [a.var(0) for a in answers.values()])
    error = (variances[0] / len(x)).sqrt().max().item()
    torch.testing.assert_close(*means, atol=5 * error, rtol=0)
    assert (variances[1] < variances[0] / 2).all()


def test_stratified_copies_of_an_augment_that_makes_other_draws_each_time_are_refused():
    sizes = iter([1, 2])
    augment = AugNet(
        lambda x, generator: x + uniform(x, (next(sizes),), generator).sum(),
        nn.Identity(),
        copies=2,
        sampling="stratified",
    )
    with pytest.raises(RuntimeError, match="sampling='independent' takes any augment"):
        augment.eval()(torch.rand(3, 2))


@pytest.mark.parametrize(("max_batch", "rows"), [(16, [16, 16, 16]), (None, [48])])
def test_memory_is_flat_in_the_number_of_copies(monkeypatch, max_batch, rows):
    net = signal_net(copies=6, max_batch=max_batch).eval()
    order = []
    apply_params = net.augment.apply_params

    def counting(x, params):
        order.append(("augment", len(x)))
        return apply_params(x, params)

    monkeypatch.setattr(net.augment, "apply_params", counting)
    net.trunk.register_forward_pre_hook(lambda trunk, x: order.append(("trunk", len(x[0]))))
    x = inputs(SIGNALS, batch=8)
    whole = net(x, seeded(0))
    assert order == [(part, count) for count in rows for part in ("augment", "trunk")]
    if max_batch is None:
        monkeypatch.setattr("augnet.net.CPU_ROWS", 16)  # whole copies, however many fit
        order.clear()
        torch.testing.assert_close(net(x, seeded(0)), whole)
        assert max(count for _, count in order) == 16
        monkeypatch.setattr("augnet.net.CPU_ROWS", 3)  # a copy is transformed as a whole
        order.clear()
        torch.testing.assert_close(net(x, seeded(0)), whole)
        assert set(order) == {("augment", 8), ("trunk", 3), ("trunk", 2)}


@pytest.mark.parametrize("max_batch", [None, 3])
def test_a_trunk_in_training_sees_all_copies_together(monkeypatch, max_batch):
    monkeypatch.setattr("augnet.net.CPU_ROWS", 8)
    net, sizes = signal_net(copies=3, max_batch=max_batch).eval(), []
    net.trunk.register_forward_pre_hook(lambda trunk, x: sizes.append(len(x[0])))
    net.trunk.train()
    net(inputs(SIGNALS), seeded(0))
    assert sizes == [24]


@pytest.mark.parametrize("sampling", ["independent", "stratified"])
@pytest.mark.parametrize(
    ("aggregate", "tolerance"), [("logits", 0.5), ("probabilities", 0.2), ("values", 4.0)]
)
def test_samples_that_are_settled_get_no_more_copies(sampling, aggregate, tolerance):
    net = signal_net(copies=22, sampling=sampling, aggregate=aggregate).eval()
    x = inputs(SIGNALS, batch=30)
    x[::3] /= 1000  # which the trunk answers alike whatever happens to them
    x[1::3] *= 10
    whole, sizes = net(x, seeded(3)), []
    settled = net.predict(x, 0.0, seeded(3), step=4, sampling=sampling)
    torch.testing.assert_close(settled.output, whole)
    net.trunk.register_forward_pre_hook(lambda trunk, args: sizes.append(len(args[0])))
    output, copies = net.predict(x, tolerance, seeded(3), step=4, sampling=sampling)
    assert sum(sizes) == copies.sum()
    assert copies.min() < copies.max() == 22
    first = copies == copies.min()
    everything = net.outputs(x, seeded(3))
    torch.testing.assert_close(output[first], net.aggregate(everything[: copies.min(), first]))


def test_predict_draws_stratified_copies_that_are_stratified_from_the_first_run_on():
    (shift,) = build_transforms({"name": "amplitude_scale", "limit": 2})
    augment = AugmentationLayer(shift, magnitude=1.0)
    net = AugNet(augment, nn.Identity(), "values", copies=20).eval()
    x = torch.ones(300, 1)
    whole = net.predict(x, 0.0, seeded(0)).output
    net.sampling = "stratified"
    torch.testing.assert_close(net(x, seeded(0)), whole)
    places = net.outputs(x, seeded(0))[..., 0].log2() / 2 + 0.5
    for run in places.split(5):
        parts = (run * 5).floor().clamp(0, 4).sort(0).values
        assert (parts == torch.arange(5.0)[:, None]).float().mean() > 0.99  # rounding
    first = net.predict(x, 1e9, seeded(0))
    assert first.copies.tolist() == [5] * 300
    torch.testing.assert_close(first.output[:, 0], net.outputs(x, seeded(0))[:5, :, 0].mean(0))
    assert net.predict(x, 1e9, copies=8).copies.tolist() == [4] * 300
    assert net.predict(x, 1e9, copies=22).copies.tolist() == [4] * 300


@pytest.mark.parametrize("sampling", ["independent", "stratified"])
@pytest.mark.parametrize("small", [0, 2**30])
def test_params_of_several_copies_are_drawn_at_once(monkeypatch, sampling, small):
    monkeypatch.setattr("augnet.net.SMALL", small)
    net = signal_net(copies=10, sampling=sampling).eval()
    x, drawn = inputs(SIGNALS, batch=3), []
    sample_params = net.augment.sample_params

    def counting(shape, *more):
        drawn.append(shape[0])
        return sample_params(shape, *more)

    monkeypatch.setattr(net.augment, "sample_params", counting)
    outputs = net.outputs(x, seeded(1))
    assert drawn == ([30] if small else [15, 15])
    for max_batch in (1, 6, 12):
        net.max_batch = max_batch
        torch.testing.assert_close(net.outputs(x, seeded(1)), outputs)
    settled = net.predict(x, 0.0, seeded(1), step=3, sampling=sampling).output
    torch.testing.assert_close(settled, outputs.mean(0))


def test_later_params_are_drawn_for_the_samples_that_are_left(monkeypatch):
    (scale,) = build_transforms({"name": "amplitude_scale", "limit": 2})
    net = AugNet(AugmentationLayer(scale, magnitude=1.0), nn.Identity(), "values", copies=20)
    x, drawn = torch.zeros(400, 200), []
    left = [7, 311]
    x[left] = torch.tensor([[1.0], [-1.0]])
    sample_params = net.augment.sample_params

    def counting(shape, *more):
        drawn.append(shape[0])
        return sample_params(shape, *more)

    monkeypatch.setattr(net.augment, "sample_params", counting)
    output, copies = net.eval().predict(x, 0.1, seeded(0))
    assert drawn == [5 * 400, 15 * 2]
    assert copies.eq(20).nonzero()[:, 0].tolist() == left
    assert copies.eq(5).sum() == 398
    generator = seeded(0)
    params = net._params(x, generator, 20, "stratified")
    first = net._outputs(x, params, 5)[:, left]
    params = net._params(x[left], generator, 15, "stratified")
    everything = torch.cat([first, net._outputs(x[left], params, 15)])
    torch.testing.assert_close(output[left], everything.mean(0))


def test_other_callables_always_get_the_whole_batch():
    sizes = []

    def scaled(x, generator):
        sizes.append(len(x))
        return x * (1 + torch.rand(len(x), 1, generator=generator))

    net = AugNet(scaled, nn.Identity(), "values", copies=16).eval()
    x = torch.zeros(40, 2)
    x[3] = 1.0
    output, copies = net.predict(x, 0.05, seeded(0))
    assert sizes == [40] * 16
    assert copies.eq(16).nonzero()[:, 0].tolist() == [3]
    assert 1.2 < output[3, 0] < 1.8
    assert not output[copies != 16].any()


def test_any_augment_can_stop_early():
    sized = AugNet(lambda x, generator: x + 1, nn.Identity(), "values", copies=9).eval()
    output, copies = sized.predict(torch.rand(3), 0.1)
    assert copies.tolist() == [4, 4, 4]
    assert output.shape == (3,)
    assert sized.predict(torch.rand(3, 2), 0.1, step=1).copies.tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="tolerance is a width from 0; got -1"):
        sized.predict(torch.rand(3), -1)
    with pytest.raises(RuntimeError, match=r"call net.eval\(\) first"):
        sized.train().predict(torch.rand(3))


def test_intervals_cover_the_mean_and_do_not_trust_a_few_copies_that_agree():
    torch.manual_seed(0)
    for copies in (3, 4, 10, 40):
        outputs = torch.randn(copies, 20_000, 1)
        covered = outputs.mean(0).abs()[:, 0] < uncertainty(outputs, "values")
        assert 0.945 < covered.float().mean().item() < 0.985
    assert uncertainty(torch.zeros(1, 2, 3), "logits").isinf().all()
    outputs[:, 0] = 0.3
    error = uncertainty(outputs[:4], "values")
    assert error[0] > error.mean() / 2


def test_what_is_uncertain_depends_on_what_is_averaged():
    agree = torch.tensor([[50.0, 0.0], [60.0, 0.0], [55.0, 0.0]])[:, None]
    differ = torch.tensor([[9.0, 0.0], [9.0, 0.0], [-9.0, 0.0]])[:, None]
    for meaning in ("logits", "log-probabilities", "probabilities"):
        assert uncertainty(agree, meaning).item() < 1e-6
        assert uncertainty(differ, meaning).item() > 0.4
        pixels = agree[..., None, None].expand(-1, -1, -1, 4, 5)
        assert uncertainty(pixels, meaning).item() < 1e-6
    assert uncertainty(agree, "values").item() > 10
    # Sure of its class each time, and yet not of how sure: the odds of mean logits may still turn.
    lucky = torch.tensor([[5.0, 0.0], [30.0, 0.0], [5.0, 0.0]])[:, None]
    assert uncertainty(lucky, "probabilities").item() < 0.02
    assert uncertainty(lucky, "logits").item() > 0.9


@pytest.mark.parametrize("sampling", ["independent", "stratified"])
def test_copies_made_at_once_are_those_made_one_by_one(sampling):
    pairs = AugmentationLayer(*build_transforms(["sample_pairing", "hue", "cutout"]), magnitude=1.0)
    turns = AugmentationLayer(*build_transforms(["rotate", "translate_x"]))
    for augment in (AugmentationModule(turns, turns, pairs, pairs), pairs, Augerino()):
        augment = augment.double().eval()
        net = AugNet(augment, nn.Identity(), copies=7, sampling=sampling).eval()
        # A callable that does not sample params first is called once for each copy.
        slow = AugNet(augment.forward, nn.Identity(), copies=7, sampling=sampling).eval()
        x = inputs(IMAGES, batch=3, dtype=torch.float64)
        with torch.no_grad():
            for max_batch in (None, 3, 7):
                net.max_batch = max_batch
                torch.testing.assert_close(net(x, seeded(1)), slow(x, seeded(1)))


def test_training_sees_the_whole_batch_at_once():
    net = image_net(train_copies=3, max_batch=2)
    sizes = []
    net.trunk.register_forward_pre_hook(lambda trunk, args: sizes.append(len(args[0])))
    net(inputs(IMAGES))
    assert sizes == [24]


def test_the_trunk_keeps_its_own_mode():
    net = image_net().train()
    net.trunk.eval()
    norm = net.trunk[1]
    before = norm.running_mean.clone()
    net(inputs(IMAGES))
    assert not net.trunk.training
    assert torch.equal(norm.running_mean, before)


@settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, 5),
    copies=st.integers(1, 4),
    shape=st.lists(st.integers(1, 6), min_size=0, max_size=4),
    outputs=st.lists(st.integers(1, 4), min_size=0, max_size=2),
    max_batch=st.none() | st.integers(1, 9),
)
def test_any_shape_in_and_any_shape_out(batch, copies, shape, outputs, max_batch):
    class Trunk(nn.Module):
        def forward(self, x):
            return x.reshape(len(x), -1).mean(1).reshape(-1, *(1,) * len(outputs)) + torch.zeros(
                outputs
            )

    augment = AugmentationLayer(
        *build_transforms(["gaussian_noise", "sign_flip", "sample_pairing"])
    )
    net = AugNet(augment, Trunk(), copies=copies, max_batch=max_batch).eval()
    assert net(torch.rand(batch, *shape)).shape == (batch, *outputs)


def test_regression_works_like_classification():
    torch.manual_seed(0)
    x = torch.randn(256, 5)
    y = x.abs().sum(1)  # invariant to the sign
    augment = AugmentationLayer(*build_transforms(["sign_flip", "gaussian_noise"]), magnitude=0.5)
    trunk = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 1), nn.Flatten(0))
    net = AugNet(augment, trunk, aggregate="values", copies=4)
    steps = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(150):
        loss = F.mse_loss(net(x), y)
        steps.zero_grad()
        (loss + 0.1 * WeightedNorm()(net.augment)).backward()
        steps.step()
        losses.append(loss.item())
    assert net(x).shape == (256,)
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("augment", [identity, Augerino()], ids=["identity", "augerino"])
def test_anything_can_be_the_augment(augment):
    net = AugNet(augment, nn.Sequential(nn.Flatten(), nn.LazyLinear(2)), copies=2).eval()
    assert net(inputs(IMAGES)).shape == (8, 2)


def test_the_state_dict_makes_the_round_trip():
    net, other = image_net().eval(), image_net().eval()
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.normal_()
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x = inputs(IMAGES)
    assert torch.equal(net(x, seeded(0)), other(x, seeded(0)))


@pytest.mark.parametrize("net", [image_net, signal_net])
def test_copies_and_pickles_predict_the_same(net):
    net = net(copies=3).eval()
    x = inputs(IMAGES if hasattr(net.trunk[0], "weight") else SIGNALS)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(twin(x, seeded(0)), net(x, seeded(0)))


class Collate:
    """Augment in the workers of a loader."""

    def __init__(self, augment):
        self.augment = augment

    def __call__(self, samples):
        """Stack the samples and augment them."""
        with torch.no_grad():
            return self.augment(torch.stack([x for (x,) in samples]))


def test_layers_travel_to_the_workers_of_a_loader():
    x = inputs(IMAGES)
    loader = DataLoader(
        TensorDataset(x),
        batch_size=4,
        num_workers=1,
        collate_fn=Collate(image_net().augment.eval()),
        multiprocessing_context=multiprocessing.get_context("spawn"),
    )
    views = torch.cat(list(loader))
    assert views.shape == x.shape
    assert not torch.equal(views, x)


@dynamo
@pytest.mark.parametrize(("make", "domain"), [(image_net, IMAGES), (signal_net, SIGNALS)])
def test_the_eval_forward_exports_with_a_free_batch_size(make, domain):
    net = make(copies=2, max_batch=5).eval()
    batch = {"x": {0: torch.export.Dim("batch", min=2, max=64)}}
    program = torch.export.export(net, (inputs(domain),), dynamic_shapes=batch).module()
    for size in (8, 13):
        x = inputs(domain, size)
        torch.manual_seed(1)
        exported = program(x)
        torch.manual_seed(1)
        torch.testing.assert_close(exported, net(x))


@dynamo
@pytest.mark.parametrize(("make", "domain"), [(image_net, IMAGES), (signal_net, SIGNALS)])
def test_training_and_eval_compile_to_one_graph(make, domain):
    net = make(copies=2)
    x = inputs(domain)
    for training in (True, False):
        torch._dynamo.reset()
        net.train(training)
        compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
        torch.manual_seed(1)
        one = compiled(x)
        torch.manual_seed(1)
        torch.testing.assert_close(one, net(x))
        one.sum().backward()


@pytest.mark.filterwarnings("ignore")  # of torch's own old code, and of complex numbers
@pytest.mark.slow
@pytest.mark.parametrize(("make", "domain"), [(image_net, IMAGES), (signal_net, SIGNALS)])
def test_the_default_compiler_takes_it(make, domain):
    torch._dynamo.reset()
    net, x = make(copies=2), inputs(domain)
    for training in (True, False):
        assert torch.compile(net.train(training))(x).isfinite().all()


def test_autocast_lowers_the_trunk_and_not_the_augment():
    net = signal_net(copies=2).eval()
    seen = []
    net.trunk.register_forward_pre_hook(lambda trunk, args: seen.append(args[0].dtype))
    x = inputs(SIGNALS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = net(x, seeded(0))
    assert seen == [torch.float32]
    assert low.dtype == torch.bfloat16
    torch.testing.assert_close(low.float(), net(x, seeded(0)), atol=0.05, rtol=0.05)


def test_bad_settings_are_refused():
    assert signal_net(copies=np.int64(3)).copies == 3
    for wrong in (0, -3, 1.5, True, "4"):
        for name in ("copies", "train_copies", "max_batch"):
            with pytest.raises(ValueError, match=f"{name} takes a whole number from 1"):
                signal_net(**{name: wrong})
    with pytest.raises(ValueError, match="aggregate is one of values, logits"):
        signal_net(aggregate="median")
    with pytest.raises(ValueError, match="sampling is one of independent, stratified; got 'sobol'"):
        signal_net(sampling="sobol")


def test_bad_input_is_refused_and_nothing_changes():
    net = image_net().train()
    x = inputs(IMAGES)
    before = copy.deepcopy(net.state_dict())
    nan = x.clone()
    nan[1, 0] = torch.inf
    for bad, error, message in [
        (x[:0], ValueError, "at least one sample; got shape .*: an empty batch"),
        (torch.tensor(1.0), ValueError, "unsqueeze"),
        (nan, ValueError, "AugNet takes finite numbers"),
        (x[0], ValueError, "rotate takes images"),
        (x.to("meta"), ValueError, "is on cpu and the input is on meta"),
        (None, TypeError, "AugNet takes a tensor"),
    ]:
        with pytest.raises(error, match=message):
            net(bad)
    torch.testing.assert_close(net.state_dict(), before, rtol=0, atol=0)


def test_a_trunk_must_predict_per_sample():
    class Mean(nn.Module):
        def forward(self, x):
            return x.mean()

    class Pair(nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(TypeError, match="got Linear and function"):
        AugNet(nn.Linear(2, 2), identity)
    with pytest.raises(TypeError, match=r"one view per sample; it made \(2, 2\) of \(3, 2\)"):
        AugNet(lambda x, generator: x[1:], nn.Identity())(torch.rand(3, 2))
    for trunk, came in ((Mean(), r"got \(\)"), (Pair(), "got tuple")):
        with pytest.raises(TypeError, match=came):
            AugNet(identity, trunk)(torch.rand(3, 2))


class Group:
    """A whole finite group as an augment: each call gives the view under its next element."""

    def __init__(self, *elements):
        self.elements = elements
        self.next = 0

    def __call__(self, x, generator=None):
        """Transform by the next element."""
        self.next += 1
        return self.elements[(self.next - 1) % len(self.elements)](x)


def flips():
    return Group(
        lambda x: x,
        HorizontalFlip().transform,
        VerticalFlip().transform,
        lambda x: VerticalFlip().transform(HorizontalFlip().transform(x)),
    )


def quarter_turns():
    return Group(
        *(
            lambda x, k=k: Rotate(270).transform(x, x.new_full(x.shape[:1], 90.0 * k))
            for k in range(4)
        )
    )


@pytest.mark.parametrize("group", [flips, quarter_turns])
def test_averaging_over_a_whole_group_makes_any_trunk_invariant(group):
    """Proposition 1."""
    torch.manual_seed(0)
    trunk = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(5)).double()
    x = torch.rand(6, 3, 12, 12, dtype=torch.float64)
    net = AugNet(group(), trunk, copies=4).eval()
    with torch.no_grad():
        for element in group().elements:
            torch.testing.assert_close(net(element(x)), net(x), rtol=1e-12, atol=1e-12)
        turned = group().elements[1](x)
        assert not torch.allclose(trunk(turned), trunk(x), atol=1e-3)


def test_invariance_grows_with_the_number_of_random_copies():
    torch.manual_seed(0)
    (turn,) = build_transforms({"name": "rotate", "limit": 180})
    trunk = nn.Sequential(
        nn.Conv2d(3, 8, 5), nn.Tanh(), nn.Flatten(), nn.LazyLinear(10, bias=False)
    )
    # Round, smooth things, of which a turn loses nothing.
    across = torch.linspace(-1, 1, 24)
    disc = (across.square() + across[:, None].square()).mul(-6).exp()
    x = disc * F.interpolate(torch.randn(64, 3, 4, 4), (24, 24), mode="bicubic") * 5
    scores = []
    for copies in (1, 4, 16, 64):
        net = AugNet(AugmentationLayer(turn, magnitude=1.0), trunk, copies=copies).eval()
        scores.append(summary(invariance(net, turn, x, seeded(0))).median)
    assert scores == sorted(scores)
    assert scores[-1] > 0.9
    assert scores[0] < 0.6


@pytest.mark.parametrize("meaning", ["logits", "log-probabilities", "probabilities", "values"])
def test_uncertainty_depends_on_no_order_of_copies_and_on_no_offset_of_logits(meaning):
    outputs = torch.randn(5, 30, 4, generator=seeded(0))
    expected = uncertainty(outputs, meaning)
    torch.testing.assert_close(uncertainty(outputs.flip(0), meaning), expected)
    if meaning != "values":
        torch.testing.assert_close(uncertainty(outputs.log_softmax(2), meaning), expected)
