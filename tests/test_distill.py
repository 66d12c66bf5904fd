"""Distillation: one forward pass predicts what many copies did."""

import copy

import pytest
import torch
import torch.nn.functional as F
from specimens import seeded
from torch import nn

from augnet import AugmentationLayer, AugNet, build_transforms


def net(aggregate):
    torch.manual_seed(0)
    (flip,) = build_transforms({"name": "sign_flip", "limit": 1.0})
    trunk = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 3))
    return AugNet(AugmentationLayer(flip, magnitude=0.5), trunk, aggregate, copies=64)


@pytest.mark.parametrize("aggregate", ["logits", "values"])
def test_the_distilled_trunk_predicts_at_once_what_the_net_predicts_on_average(aggregate):
    model, x = net(aggregate), torch.randn(400, 4)
    model.trunk[0].eval()
    before, modes = copy.deepcopy(model.state_dict()), [m.training for m in model.modules()]
    distilled = model.distill(x[:300], epochs=60, lr=1e-2, generator=seeded(0))
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    assert [m.training for m in model.modules()] == modes
    assert not distilled.training
    model.eval()
    with torch.no_grad():
        new, average = x[300:], model(x[300:])
        read = (lambda y: y.softmax(1)) if aggregate == "logits" else (lambda y: y)
        far = F.mse_loss(read(model.trunk(new)), read(average))
        assert F.mse_loss(read(distilled(new)), read(average)) < far / 4
        turned = F.mse_loss(read(distilled(-new)), read(distilled(new)))
        assert turned < F.mse_loss(read(model.trunk(-new)), read(model.trunk(new))) / 10
        again = model.distill(x[:300], epochs=60, lr=1e-2, generator=seeded(0))
        assert torch.equal(again(new), distilled(new))


@pytest.mark.parametrize(("samples", "batch", "sizes"), [(9, 4, {4, 5}), (9, 9, {9}), (3, 1, {1})])
def test_no_batch_is_left_with_one_sample_for_batch_norm(samples, batch, sizes):
    norm = nn.BatchNorm1d(4) if batch > 1 else nn.Identity()
    trunk, seen = nn.Sequential(norm, nn.Linear(4, 3)), set()
    trunk.register_forward_pre_hook(lambda trunk, x: seen.add(len(x[0])))
    net("values").distill(torch.randn(samples, 4), 2, batch=batch, into=trunk)
    assert seen == sizes


def test_bad_settings_are_refused():
    model, x = net("values"), torch.randn(4, 4)
    for wrong in ({"epochs": 0}, {"batch": 1.5}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} takes a whole number from 1"):
            model.distill(x, **wrong)
    with pytest.raises(ValueError, match="lr must be positive; got 0"):
        model.distill(x, lr=0)
    with pytest.raises(ValueError, match="distill takes a batch of at least one sample"):
        model.distill(x[:0])
