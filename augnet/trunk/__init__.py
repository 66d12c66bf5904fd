"""2 TRUNK: any `nn.Module` can stand here; these are the paper's own."""

from augnet.trunk.mario import MarioCNN
from augnet.trunk.resnet import PreActResNet18
from augnet.trunk.sinusoids import MLP, SinusoidCNN
from augnet.trunk.sleep import ChambonNet

__all__ = ["MLP", "ChambonNet", "MarioCNN", "PreActResNet18", "SinusoidCNN"]
