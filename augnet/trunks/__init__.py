"""2 TRUNK: any `nn.Module` can stand here; these are the paper's own."""

from torch import nn

from augnet.trunks.mario import MarioCNN
from augnet.trunks.resnet import PreActResNet18
from augnet.trunks.sinusoids import MLP, SinusoidCNN
from augnet.trunks.sleep import ChambonNet

__all__ = ["MLP", "TRUNKS", "ChambonNet", "MarioCNN", "PreActResNet18", "SinusoidCNN"]

TRUNKS: dict[str, type[nn.Module]] = {
    "chambon": ChambonNet,
    "mario-cnn": MarioCNN,
    "mlp": MLP,
    "preact-resnet18": PreActResNet18,
    "sinusoid-cnn": SinusoidCNN,
}
