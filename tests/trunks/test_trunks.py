"""Trunks have the parameters and output shapes of the paper's tables; one registry knows all."""

from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from augnet.trunks import (
    MLP,
    TRUNKS,
    ChambonNet,
    MarioCNN,
    PreActResNet18,
    SinusoidCNN,
    build_trunk,
    register_trunk,
)
from augnet.trunks.medium import FLOOR, Spectrogram
from augnet.trunks.sleep import PooledConv


def conv(inputs, outputs, size, bias=True):
    return inputs * outputs * size + bias * outputs


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


def test_mario():
    """Table A.1: 32, 64, 128, 256 filters of 3×3 with batch norm, and a linear layer."""
    net = MarioCNN()
    filters = [3, 32, 64, 128, 256]
    convolutions = sum(conv(a, b, 9) + 2 * b for a, b in pairwise(filters))
    assert count(net) == convolutions + 256 * 4 + 4 == 390_404
    assert net(torch.rand(2, 3, 32, 32)).shape == (2, 4)


def test_sinusoids():
    """Table A.2: two convolutions of 2 filters of size 3 with batch norm, and a linear layer."""
    net = SinusoidCNN()
    assert count(net) == conv(1, 2, 3) + 4 + conv(2, 2, 3) + 4 + 2 * 4 + 4 == 42
    assert net(torch.rand(3, 1, 1000)).shape == (3, 4)
    assert count(SinusoidCNN(kernel=100)) - count(net) == 2 * 97


@pytest.mark.parametrize(("neurons", "layers"), [(1, 1), (2, 1), (2, 2), (2, 3)])
def test_perceptrons(neurons, layers):
    """Section 4.3: 1×1, 2×1, 2×2 and 2×3 neurons × layers."""
    net = MLP(1000, neurons, layers)
    hidden = 1001 * neurons + (layers - 1) * (neurons + 1) * neurons
    assert count(net) == hidden + (neurons + 1) * 4
    assert net(torch.rand(3, 1, 1000)).shape == (3, 4)


def test_resnet():
    """He et al. 2016b: 17 convolutions of 3×3, three 1×1 shortcuts, and a linear layer."""
    net = PreActResNet18()
    widths = [64, 128, 256, 512]
    total = conv(3, 64, 9, bias=False)
    before = 64
    for width in widths:
        total += conv(before, width, 9, bias=False) + 3 * conv(width, width, 9, bias=False)
        total += 2 * before + 6 * width  # batch norms
        total += conv(before, width, 1, bias=False) if before != width else 0
        before = width
    assert count(net) == total + 2 * 512 + 512 * 10 + 10 == 11_172_170
    assert sum(isinstance(part, torch.nn.Conv2d) for part in net.modules()) == 20
    assert net(torch.rand(2, 3, 32, 32)).shape == (2, 10)


def test_resnet_standardizes():
    x = torch.rand(4, 3, 32, 32)
    mean, std = torch.tensor([0.4, 0.5, 0.6]), torch.tensor([0.2, 0.25, 0.3])
    plain = PreActResNet18(width=4).eval()
    standard = PreActResNet18(width=4, mean=mean.tolist(), std=std.tolist()).eval()
    weights = zip(standard.parameters(), plain.parameters(), strict=True)
    with torch.no_grad():
        for mine, theirs in weights:
            mine.copy_(theirs)
    given = (x - mean[:, None, None]) / std[:, None, None]
    assert torch.allclose(standard(x), plain(given), atol=1e-5)
    with pytest.raises(ValueError, match="one value for each of 3 channels"):
        PreActResNet18(mean=[0.5], std=[0.5])


def test_resnet_narrow():
    with pytest.raises(ValueError, match="width takes a whole number from 1; got 0"):
        PreActResNet18(width=0)
    assert count(PreActResNet18(width=12)) < count(PreActResNet18()) / 25
    assert PreActResNet18(classes=3, channels=1, width=4)(torch.rand(2, 1, 28, 28)).shape == (2, 3)


@pytest.mark.parametrize(("channels", "times"), [(6, 3000), (2, 3000), (8, 1024)])
def test_chambon(channels, times):
    """Table A.3, row by row."""
    net = ChambonNet(channels, times)
    rows = [
        channels * channels,
        8 * 64 + 8,
        8 * 8 * 64 + 8,
        5 * (channels * (times // 256) * 8),
    ]
    assert [parameters for part in net if (parameters := count(part))] == rows
    x = torch.rand(3, channels, times)
    assert net(x).shape == (3, 5)
    shapes = []
    for part in net:
        x = part(x)
        shapes.append(tuple(x.shape[1:]))
    assert (8, channels, times // 16) in shapes
    assert (8, channels, times // 256) in shapes
    with pytest.raises(ValueError, match="only 200"):
        ChambonNet(2, 200)


def test_one_channel_reaches_the_filters_of_chambon_as_it_is():
    """A spatial filter of one channel is a factor, which may be close to 0: in seed 0 it was."""
    torch.manual_seed(0)
    net, x = ChambonNet(1, 512), torch.randn(3, 1, 512)
    torch.testing.assert_close(net[1](net[0](x))[:, 0], x)
    assert net(x).shape == (3, 5)


@pytest.mark.parametrize(("inputs", "times"), [(1, 512), (3, 187)])
def test_a_pooled_convolution_is_a_convolution_that_is_pooled(inputs, times):
    fast = PooledConv(inputs, 5, 64).double()
    x = torch.randn(2, inputs, 4, times, dtype=torch.float64, requires_grad=True)
    plain = F.conv2d(F.pad(x, (31, 32)), fast.weight, fast.bias)
    plain = F.max_pool2d(plain.relu(), (1, 16))
    torch.testing.assert_close(fast(x), plain)
    slopes = (
        torch.autograd.grad(output.square().sum(), (x, *fast.parameters()))
        for output in (fast(x), plain)
    )
    torch.testing.assert_close(*slopes)


def test_trunks_learn():
    for net, shape in [
        (MarioCNN(width=4), (8, 3, 32, 32)),
        (SinusoidCNN(), (8, 1, 200)),
        (MLP(200, 2, 2), (8, 1, 200)),
        (PreActResNet18(width=4), (8, 3, 32, 32)),
        (ChambonNet(2, 512), (8, 2, 512)),
    ]:
        net(torch.randn(shape)).square().sum().backward()
        assert all(p.grad is not None and p.grad.isfinite().all() for p in net.parameters())


# The registry

FITTING = {
    "small": (3, 16, 16),
    "medium": (3, 16, 16),
    "resnet18": (1, 12, 20),
    "chambon": (2, 512),
    "mario_cnn": (3, 32, 32),
    "mlp": (2, 3, 4),
    "sinusoid_cnn": (2, 100),
}
EXPLICIT = {
    "small": {"shape": [3, 16, 16], "outputs": 7},
    "medium": {"shape": [3, 16, 16], "outputs": 7},
    "resnet18": {"classes": 7, "channels": 1, "width": 2},
    "chambon": {"channels": 2, "times": 512, "classes": 7},
    "mario_cnn": {"classes": 7},
    "mlp": {"inputs": 24, "neurons": 2, "layers": 1, "classes": 7},
    "sinusoid_cnn": {"classes": 7, "channels": 2},
}


@pytest.mark.parametrize("name", TRUNKS)
def test_every_trunk_is_built_for_a_shape_and_from_explicit_arguments(name):
    x = torch.rand(2, *FITTING[name])
    assert build_trunk(name, FITTING[name], 7)(x).shape == (2, 7)
    assert TRUNKS[name](**EXPLICIT[name])(x).shape == (2, 7)


def test_arguments_replace_those_that_follow_from_the_shape():
    assert count(build_trunk("resnet18", (3, 8, 8), 2, width=4)) < 1e5
    assert count(build_trunk("mlp", (4,), 3, neurons=2, layers=1)) == 5 * 2 + 3 * 3


@pytest.mark.parametrize(
    ("name", "shape"),
    [("resnet18", (3, 32)), ("mario_cnn", (3, 64, 64)), ("mario_cnn", (5,)),
     ("chambon", (2, 200)), ("sinusoid_cnn", (3, 8, 8))],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_refused(name, shape):
    with pytest.raises(ValueError, match=f"{name} takes .*; these samples are .*: try 'small'"):
        build_trunk(name, shape, 2)


def test_names_may_have_hyphens_and_unknown_ones_are_refused():
    assert isinstance(build_trunk("mario-cnn", (3, 32, 32), 4), MarioCNN)
    with pytest.raises(ValueError, match="unknown trunk 'resnet81': did you mean 'resnet18'"):
        build_trunk("resnet81", (3, 32, 32), 4)


def test_a_class_of_another_module_is_imported():
    assert isinstance(build_trunk("augnet.trunks.small:small_trunk", (5,), 2), torch.nn.Module)
    assert isinstance(build_trunk("torch.nn:Identity", (5,), 2, unused=1), torch.nn.Identity)
    with pytest.raises(ValueError, match=r"cannot be imported .*PYTHONPATH"):
        build_trunk("nowhere:Net", (5,), 2)
    with pytest.raises(ValueError, match=r"builds a Formatter, not an nn\.Module"):
        build_trunk("string:Formatter", (5,), 2)


def test_a_trunk_is_registered_once(monkeypatch):
    monkeypatch.setitem(TRUNKS, "flat", None)  # removed after the test
    del TRUNKS["flat"]

    @register_trunk("flat")
    def flat(shape, outputs):
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(outputs))

    assert build_trunk("flat", (2, 3), 4)(torch.rand(5, 2, 3)).shape == (5, 4)
    with pytest.raises(ValueError, match="'mlp' is registered already"):
        register_trunk("mlp")(MLP)
    with pytest.raises(ValueError, match="snake_case; got 'my-net'"):
        register_trunk("my-net")(MLP)


def test_a_spectrogram_is_that_of_torch():
    x = torch.randn(3, 2, 256, generator=torch.Generator().manual_seed(0))
    spectrogram = Spectrogram(2, 256)
    size = spectrogram.size
    window = torch.hann_window(size)
    bands = [
        torch.stft(
            x[:, channel], size, size // 2, window=window, pad_mode="constant", return_complex=True
        )
        for channel in range(2)
    ]
    power = torch.cat(bands, dim=1).abs().square() / size
    expected = F.adaptive_avg_pool1d(power, spectrogram.pool.parts)
    torch.testing.assert_close(spectrogram(x).exp() - FLOOR, expected, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("scale", [10.0, 1e6])
@pytest.mark.parametrize("shape", [(1, 28, 28), (2, 300), (6,)])
def test_the_default_trunk_does_not_depend_on_the_unit_of_samples(shape, scale):
    x = torch.randn(16, *shape, generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    trunk = build_trunk("medium", shape, 3).train()
    torch.testing.assert_close(trunk(scale * x), trunk(x), atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize("name", ["small", "medium"])
@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 12, 30), (1, 16, 16), (3, 97, 70), (1, 32)])
def test_default_trunks_take_any_size(name, shape):
    assert build_trunk(name, shape, 4)(torch.rand(2, *shape)).shape == (2, 4)
