"""Trunks: the networks of this project, and the registry of their names.

Any `nn.Module` can be a trunk. To add one here, write a file, register it with `register_trunk`,
and import it below.
"""

from augnet.trunks.mario import MarioCNN
from augnet.trunks.medium import SpectrogramNet
from augnet.trunks.registry import TRUNKS, build_trunk, register_trunk
from augnet.trunks.resnet import PreActResNet18
from augnet.trunks.sinusoids import MLP, SinusoidCNN
from augnet.trunks.sleep import ChambonNet
from augnet.trunks.small import SignalNet

__all__ = [
    "MLP",
    "TRUNKS",
    "ChambonNet",
    "MarioCNN",
    "PreActResNet18",
    "SignalNet",
    "SinusoidCNN",
    "SpectrogramNet",
    "build_trunk",
    "register_trunk",
]
