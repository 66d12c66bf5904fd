"""A model whose dice have been rolled: a plain function of its samples."""

import copy
from dataclasses import dataclass, fields

import torch
from torch import Generator, Tensor, nn

from augnet.layers import AugmentationModule
from augnet.model import Model
from augnet.transforms import SamplePairing
from augnet.transforms.base import Noise, join


class Frozen(nn.Module):
    """The whole averaged model, from samples as they are read to probabilities or values.

    The dice are those of a batch of one, rolled once, from a seed. So all samples are seen under
    the same `copies` views, and the answer to a sample is, in any batch, the one that
    `model.outputs` gives to this sample alone with that seed. Rolled dice are constants: nothing
    is random any more, and a graph of this module runs wherever graphs do.

    Sample pairing finds no partner in a batch of one: it does nothing.
    """

    def __init__(self, model: Model, seed: int = 0, copies: int | None = None) -> None:
        super().__init__()
        net = model.net.eval()
        self.trunk, self.aggregate, self.prepare = net.trunk, net.aggregate, model.prepare
        self.classes = bool(model.header.classes)
        self.augment: AugmentationModule | None = None
        self.copies, self.dice = 1, None  # of samples that nothing is done to
        if isinstance(net.augment, AugmentationModule):
            self.augment, self.copies = _alone(net.augment), copies or net.copies
            like = torch.zeros(1, *model.header.shape)
            self.dice = join(net.roll(like, Generator().manual_seed(seed), self.copies))

    def forward(self, x: Tensor) -> Tensor:
        """Give the probabilities of classes (B, K), or values."""
        views, size = self.prepare(x), x.shape[0]
        if self.augment is not None:
            copied = views.repeat(self.copies, *(1,) * (x.dim() - 1))
            views = self.augment.follow(copied, _for_each(self.dice, size))
        answer = self.aggregate(self.trunk(views).unflatten(0, (self.copies, size)))
        return answer.softmax(1) if self.classes else answer


def _for_each(dice: Noise, size: int) -> Noise:
    """Give the dice of each copy to all samples: (C, ...) becomes (C · B, ...)."""
    if isinstance(dice, tuple | list):
        parts = [_for_each(part, size) for part in dice]
        return type(dice)(*parts) if hasattr(dice, "_fields") else type(dice)(parts)
    if dice is None:
        return None
    return dice[:, None].expand(-1, size, *dice.shape[1:]).flatten(0, 1)


@dataclass(frozen=True)
class _Alone(SamplePairing):
    """Sample pairing in a batch of one: the sample meets itself."""

    name = SamplePairing.name

    def meet(self, x: Tensor, rolled: Noise) -> tuple[Tensor, Tensor]:
        """Go nowhere."""
        return rolled[0], x


def _alone(augment: AugmentationModule) -> AugmentationModule:
    """Let no sample meet another one."""
    augment = copy.deepcopy(augment)
    for layer in augment:
        layer.transforms = tuple(
            _Alone(**{f.name: getattr(transform, f.name) for f in fields(transform)})
            if isinstance(transform, SamplePairing)
            else transform
            for transform in layer.transforms
        )
    return augment
