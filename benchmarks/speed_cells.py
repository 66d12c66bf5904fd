"""What `benchmarks/speed.py` times: cells of cases, each a function without arguments.

The docstring of a cell is the title of its table in docs/performance.md.
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from peers import BraindecodeMixture, ExponentialAffine, KorniaMixture
from torch import Tensor, nn

from augnet import (
    Augerino,
    AugmentationLayer,
    AugmentationModule,
    AugNet,
    RangeTuner,
    build_transforms,
    identity,
)
from augnet.trunks import ChambonNet, PreActResNet18

GEOMETRIC = ["translate_x", "translate_y", "rotate", "shear_x", "shear_y"]
PHOTOMETRIC = ["horizontal_flip", "sample_pairing", "contrast", "brightness"]
TIME_FREQUENCY = ["time_reverse", "time_mask", "gaussian_noise", "ft_surrogate", "frequency_shift"]
SENSORS = [
    "sign_flip", "channel_symmetry", "channel_shuffle", "channel_dropout",
    "sensor_rotation_x", "sensor_rotation_y", "sensor_rotation_z",
]  # fmt: skip
EVERYTHING = [
    *GEOMETRIC, *PHOTOMETRIC, "scale", "vertical_flip", "saturation", "hue", "sharpness",
    "solarize", "posterize", "gray", "cutout",
]  # fmt: skip
CHANNELS = ("C3", "C4", "F3", "F4", "O1", "O2")

Case = Callable[[], object]


def step(module: nn.Module, x: Tensor) -> None:
    """Run forward and backward."""
    module.zero_grad()
    output = module(x)
    output.backward(torch.ones_like(output))


def module(*layers: list[str], **shared: object) -> AugmentationModule:
    """Build layers from names."""
    return AugmentationModule(
        *(AugmentationLayer(*build_transforms(names, **shared)) for names in layers)
    )


def decided(augment: AugmentationModule) -> AugmentationModule:
    """Give all weight of each layer to its third transform."""
    with torch.no_grad():
        for layer in augment:
            layer.logits.zero_()
            layer.logits[2] = 30.0
    return augment


class Plain(nn.Module):
    """The mixture by its definition, with our transforms: no transform is skipped."""

    def __init__(self, augment: AugmentationModule) -> None:
        super().__init__()
        self.augment = augment

    def forward(self, x: Tensor) -> Tensor:
        """Pass through all layers."""
        for layer in self.augment:
            x = layer.mix_plainly(x, layer.sample_params(x.shape, x))
        return x


def cifar() -> dict[str, Case]:
    """Run the CIFAR module on 128 images, forward and backward."""
    x = torch.rand(128, 3, 32, 32)
    layers = (GEOMETRIC, GEOMETRIC, PHOTOMETRIC)
    return {
        "kornia, plain mixture": partial(step, KorniaMixture(layers), x),
        "augnet, plain mixture": partial(step, Plain(module(*layers)), x),
        "augnet, uniform weights": partial(step, module(*layers), x),
        "augnet, decided weights": partial(step, decided(module(*layers)), x),
    }


def train(net: nn.Module, x: Tensor, y: Tensor) -> None:
    """Run one training step, without the optimizer."""
    net.zero_grad()
    F.cross_entropy(net(x), y).backward()


def tuned(*layers: list[str]) -> AugmentationModule:
    """Build layers whose ranges are tuned by the losses of their views."""
    augment = module(*layers)
    RangeTuner(augment, start=0.5)
    return augment


def by_gradient(*layers: list[str]) -> AugmentationModule:
    """Build layers that draw one transform per sample, and learn by gradient."""
    augment = module(*layers)
    for layer in augment:
        layer.mixing = "drawn"
    return augment


def training(width: int, batch: int) -> dict[str, Case]:
    """Return training steps of the trunk alone and behind augmentations."""
    x, y = torch.rand(batch, 3, 32, 32), torch.randint(10, (batch,))
    trunk = PreActResNet18(width=width)
    two, paper = (GEOMETRIC, PHOTOMETRIC), (GEOMETRIC, GEOMETRIC, PHOTOMETRIC)
    augments = {
        "trunk": identity,
        "drawn, k = 2, ranges tuned by RangeTuner": tuned(*two),
        "drawn, k = 2, learned by gradient": by_gradient(*two),
        "drawn, k = 2 of 18 transforms each, by gradient": by_gradient(EVERYTHING, EVERYTHING),
        "the paper's mixture, uniform weights": module(*paper),
        "the paper's mixture, decided weights": decided(module(*paper)),
    }
    return {name: partial(train, AugNet(each, trunk), x, y) for name, each in augments.items()}


def narrow_step() -> dict[str, Case]:
    """Train PreAct ResNet-18 of width 8 on 128 images."""
    return training(8, 128)


def wide_step() -> dict[str, Case]:
    """Train PreAct ResNet-18 of width 64 on 32 images."""
    return training(64, 32)


def eeg() -> dict[str, Case]:
    """Run the EEG module on 16 windows of 6 channels and 30 s, forward and backward."""
    x = torch.randn(16, 6, 3000)
    layers = (TIME_FREQUENCY, TIME_FREQUENCY, SENSORS)
    shared = {"sfreq": 100.0, "channels": CHANNELS}
    trunk = ChambonNet(6, 3000)
    return {
        "braindecode, plain mixture": partial(step, BraindecodeMixture(layers, CHANNELS, 100.0), x),
        "augnet, plain mixture": partial(step, Plain(module(*layers, **shared)), x),
        "augnet, uniform weights": partial(step, module(*layers, **shared), x),
        "augnet, decided weights": partial(step, decided(module(*layers, **shared)), x),
        "Chambon's trunk": partial(step, trunk, x),
        "AugNet with it, decided weights": partial(
            step, AugNet(decided(module(*layers, **shared)), trunk), x
        ),
    }


def augerino() -> dict[str, Case]:
    """Run Augerino's layer on 128 images, forward and backward."""
    x = torch.rand(128, 3, 32, 32)
    return {
        "matrix exponential in float64, affine_grid": partial(step, ExponentialAffine(), x),
        "augnet": partial(step, Augerino(), x),
    }


def copies_of_one() -> dict[str, Case]:
    """Make twenty copies of one image, without a trunk."""
    x = torch.rand(1, 3, 32, 32)
    unpaired = [name for name in PHOTOMETRIC if name != "sample_pairing"]
    augment = module(GEOMETRIC, GEOMETRIC, unpaired).eval()
    paired = module(GEOMETRIC, GEOMETRIC, PHOTOMETRIC).eval()

    def view(function: Callable[[Tensor], Tensor], x: Tensor) -> None:
        with torch.no_grad():
            function(x)

    return {
        "augment, one image": partial(view, augment, x),
        "augment, a batch of 20": partial(view, augment, x.repeat(20, 1, 1, 1)),
        "AugNet, C = 20": partial(view, AugNet(augment, nn.Identity(), copies=20).eval(), x),
        "AugNet, C = 20, with sample pairing": partial(
            view, AugNet(paired, nn.Identity(), copies=20).eval(), x
        ),
    }


def formats() -> dict[str, Case]:
    """Train a quarter of PreAct ResNet-18 behind the CIFAR module, 64 images, in other formats."""
    x, y = torch.rand(64, 3, 32, 32), torch.randint(10, (64,))
    net = AugNet(module(GEOMETRIC, GEOMETRIC, PHOTOMETRIC), PreActResNet18(width=16))
    last = AugNet(net.augment, PreActResNet18(width=16).to(memory_format=torch.channels_last))

    def train(net: nn.Module, x: Tensor, lowered: bool = False) -> None:
        net.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=lowered):
            loss = F.cross_entropy(net(x), y)
        loss.backward()

    return {
        "as it comes": partial(train, net, x),
        "channels-last, trunk and images": partial(
            train, last, x.to(memory_format=torch.channels_last)
        ),
        "channels-last, trunk alone": partial(train, last, x),
        "autocast to bfloat16": partial(train, net, x, lowered=True),
    }


def drawn() -> dict[str, Case]:
    """Run the CIFAR module with one transform drawn per sample, forward and backward."""
    x, layers = torch.rand(128, 3, 32, 32), (GEOMETRIC, GEOMETRIC, PHOTOMETRIC)
    return {
        "all transforms, uniform weights": partial(step, module(*layers), x),
        "one transform drawn, uniform weights": partial(step, by_gradient(*layers), x),
    }


def growth() -> dict[str, Case]:
    """Let inputs of one geometric or one time-frequency layer grow, forward and backward."""
    cases: dict[str, Case] = {}
    for batch, size in ((32, 32), (128, 32), (32, 64), (32, 128)):
        x = torch.rand(batch, 3, size, size)
        cases[f"{batch} images of {size}×{size}"] = partial(step, module(GEOMETRIC), x)
    for count in (1, 3, 5):
        x = torch.rand(128, 3, 32, 32)
        cases[f"128 images of 32×32, {count} transforms"] = partial(
            step, module(GEOMETRIC[:count]), x
        )
    for duration in (1000, 3000, 9000):
        x = torch.randn(16, 6, duration)
        cases[f"16 signals of 6×{duration}"] = partial(step, module(TIME_FREQUENCY, sfreq=100.0), x)
    return cases


def copies_growth() -> dict[str, Case]:
    """Predict 64 images with a narrow PreAct ResNet-18 and more and more copies."""
    x, trunk = torch.rand(64, 3, 32, 32), PreActResNet18(width=8).eval()
    augment = by_gradient(GEOMETRIC, PHOTOMETRIC)

    def predict(net: nn.Module) -> None:
        with torch.no_grad():
            net(x)

    cases: dict[str, Case] = {"trunk": partial(predict, trunk)}
    for copies in (1, 5, 10, 20, 40):
        cases[f"C = {copies}"] = partial(predict, AugNet(augment, trunk, copies=copies).eval())
    return cases


CELLS: dict[str, tuple[Callable[[], dict[str, Case]], int]] = {  # what to run, and how often
    "narrow-step": (narrow_step, 9),
    "wide-step": (wide_step, 3),
    "cifar": (cifar, 11),
    "drawn": (drawn, 9),
    "eeg": (eeg, 7),
    "augerino": (augerino, 11),
    "copies-of-one": (copies_of_one, 15),
    "copies": (copies_growth, 3),
    "formats": (formats, 3),
    "growth": (growth, 5),
}
