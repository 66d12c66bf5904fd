"""A model with fixed params: a deterministic function of its samples."""

import copy
from dataclasses import dataclass, fields

import torch
from torch import Generator, Tensor, nn

from augnet.layers import AugmentationModule
from augnet.model import Model
from augnet.transforms import SamplePairing
from augnet.transforms.base import Noise, join


class FixedParamsModel(nn.Module):
    """Predict probabilities or values from samples as they are read, with fixed params.

    The params are drawn once from a seed, for a batch of one, and are constants. So all samples get
    the same `copies` transforms, and the prediction for a sample is, in any batch, the one of
    `model.outputs` for this sample alone with that seed.

    Sample pairing has no partner in a batch of one and does nothing.
    """

    def __init__(self, model: Model, seed: int = 0, copies: int | None = None) -> None:
        super().__init__()
        net = model.net.eval()
        self.trunk, self.aggregate, self.prepare = net.trunk, net.aggregate, model.prepare
        self.classes = bool(model.header.classes)
        self.augment: AugmentationModule | None = None
        self.copies, self.params = 1, None  # without transforms
        if isinstance(net.augment, AugmentationModule):
            self.augment, self.copies = _alone(net.augment), copies or net.copies
            like = torch.zeros(1, *model.header.shape)
            self.params = join(net.roll(like, Generator().manual_seed(seed), self.copies))

    def forward(self, x: Tensor) -> Tensor:
        """Return the probabilities of classes (B, K), or values."""
        views, size = self.prepare(x), x.shape[0]
        if self.augment is not None:
            copied = views.repeat(self.copies, *(1,) * (x.dim() - 1))
            views = self.augment.follow(copied, _for_each(self.params, size))
        output = self.aggregate(self.trunk(views).unflatten(0, (self.copies, size)))
        return output.softmax(1) if self.classes else output


def _for_each(params: Noise, size: int) -> Noise:
    """Repeat the params of each copy for all samples: (C, ...) becomes (C · B, ...)."""
    if isinstance(params, tuple | list):
        parts = [_for_each(part, size) for part in params]
        return type(params)(*parts) if hasattr(params, "_fields") else type(params)(parts)
    if params is None:
        return None
    return params[:, None].expand(-1, size, *params.shape[1:]).flatten(0, 1)


@dataclass(frozen=True)
class _Alone(SamplePairing):
    """Sample pairing in a batch of one: the partner is the sample itself."""

    name = SamplePairing.name

    def meet(self, x: Tensor, rolled: Noise) -> tuple[Tensor, Tensor]:
        """Return the samples as their own partners."""
        return rolled[0], x


def _alone(augment: AugmentationModule) -> AugmentationModule:
    """Replace sample pairing by one that pairs each sample with itself."""
    augment = copy.deepcopy(augment)
    for layer in augment:
        layer.transforms = tuple(
            _Alone(**{f.name: getattr(transform, f.name) for f in fields(transform)})
            if isinstance(transform, SamplePairing)
            else transform
            for transform in layer.transforms
        )
    return augment
