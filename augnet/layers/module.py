"""Augmentation layers in sequence, and the augmentation that does nothing."""

from collections.abc import Iterable, Iterator
from functools import reduce

import torch
from torch import Generator, Tensor, nn

from augnet.layers.layer import AugmentationLayer, Dice, Resampling, Weighed, resampling
from augnet.transforms.base import full_precision
from augnet.transforms.geometry import Affine, compose, warp


class AugmentationModule(nn.Module):
    """Layers one after the other, so that each can learn another invariance (section 3.3).

    Consecutive layers of affine transforms that resample alike do so once, under the product of their
    maps: it is faster and sharper than one resampling after the other, and what leaves the image
    in between can return. In training, where layers mix their transforms, that is for layers that have
    one transform or have made up their mind: else a trunk would be trained on blurred images, and asked
    about sharp ones.
    """

    def __init__(self, layers: Iterable[AugmentationLayer]) -> None:
        super().__init__()
        if isinstance(layers, nn.Module):
            raise TypeError("a module takes a list of layers: AugmentationModule([layer])")
        self.layers = nn.ModuleList(layers)
        if not len(self.layers):
            raise ValueError("a module takes at least one layer; to augment nothing: identity")
        for layer in self.layers:
            if not isinstance(layer, AugmentationLayer):
                raise TypeError(
                    f"a module takes a list of layers; got {type(layer).__name__}: "
                    "AugmentationModule([AugmentationLayer(...), ...])"
                )

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Pass each sample through all layers."""
        self.check(x)
        if not self.training:
            return self.follow(x, self.roll(x, generator))
        with full_precision(x):
            awake = [
                layer.awake(x, generator) if layer.mixing == "weighted" else [] for layer in self
            ]
            for first, *more in _runs([_lone_map(transforms) for transforms in awake]):
                if more:
                    x = self._resample_decided([first, *more], x, awake, generator)
                elif awake[first]:
                    x = self[first].mix(x, generator, awake[first])
                else:
                    x = self[first].draw(x, generator)
        return x

    def check(self, x: Tensor) -> None:
        """Refuse what not all layers can take, before any dice are rolled."""
        for layer in self:
            layer.check(x)

    def roll(self, x: Tensor, generator: Generator | None = None) -> list[Dice]:
        """Roll the dice of an eval pass, layer after layer."""
        return [layer.roll(x, generator) for layer in self]

    def follow(self, x: Tensor, dice: list[Dice]) -> Tensor:
        """View each sample as the dice say."""
        for run in _runs([layer.resampling for layer in self]):
            if len(run) == 1:
                x = self[run[0]].follow(x, dice[run[0]])
                continue
            with full_precision(x):
                maps = [self[index].maps(x, dice[index]) for index in run]
                x = _resample(x, maps, self[run[0]].resampling)
        return x

    def _resample_decided(
        self, run: list[int], x: Tensor, awake: list[list[Weighed]], generator: Generator | None
    ) -> Tensor:
        """View samples under the only transform that is awake in each layer of a run."""
        chosen = [awake[index][0] for index in run]
        maps = [
            transform.map(x, magnitude, transform.roll(x, generator))
            for transform, _, magnitude in chosen
            if isinstance(transform, Affine)
        ]
        view = _resample(x, maps, resampling(chosen[0][0]))
        weights = [
            weight
            for index, (_, weight, _) in zip(run, chosen, strict=True)
            if len(self[index].transforms) > 1
        ]
        return view * torch.stack(weights).prod().to(x.dtype) if weights else view

    def __iter__(self) -> Iterator[AugmentationLayer]:
        return iter(self.layers)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> AugmentationLayer:
        return self.layers[index]  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "\n".join(layer.sentence() for layer in self)


def _lone_map(awake: list[Weighed]) -> Resampling | None:
    """Tell how a layer resamples, if the transforms that are awake are one affine map."""
    return resampling(awake[0][0]) if len(awake) == 1 else None


def _runs(resamplings: list[Resampling | None]) -> list[list[int]]:
    """Give the numbers of the layers in order, those together that resample alike."""
    runs: list[list[int]] = []
    for index, how in enumerate(resamplings):
        if index and how and how == resamplings[index - 1]:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _resample(x: Tensor, maps: list[Tensor], how: Resampling | None) -> Tensor:
    interpolation, padding = how or ("bilinear", "zeros")
    return warp(x, reduce(lambda a, b: compose(a, b, x), maps), interpolation, padding)


def identity(x: Tensor, generator: Generator | None = None) -> Tensor:
    """Augment nothing: the baseline of every experiment."""
    return x
