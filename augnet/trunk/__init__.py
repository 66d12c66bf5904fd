"""2 TRUNK: any `nn.Module` can stand here; these are the paper's own."""

from torch import nn

from augnet.trunk.mario import MarioCNN
from augnet.trunk.resnet import PreActResNet18
from augnet.trunk.sinusoids import MLP, SinusoidCNN
from augnet.trunk.sleep import ChambonNet

__all__ = ["MLP", "TRUNKS", "ChambonNet", "MarioCNN", "PreActResNet18", "SinusoidCNN"]

TRUNKS: dict[str, type[nn.Module]] = {
    "chambon": ChambonNet,
    "mario-cnn": MarioCNN,
    "mlp": MLP,
    "preact-resnet18": PreActResNet18,
    "sinusoid-cnn": SinusoidCNN,
}
