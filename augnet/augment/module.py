"""Augmentation layers in sequence, and the augmentation that does nothing."""

from collections.abc import Iterable, Iterator

from torch import Generator, Tensor, nn

from augnet.augment.layer import AugmentationLayer, Dice
from augnet.transforms.base import full_precision
from augnet.transforms.geometry import compose, warp


class AugmentationModule(nn.Module):
    """Layers one after the other, so that each can learn another invariance (section 3.3).

    Consecutive layers of affine words that resample alike do so once, under the product of their
    maps: it is faster and sharper than one resampling after the other, and what leaves the image
    in between can return. In training, where layers mix their words, that is for layers of one
    word; else a trunk would be trained on blurred images, and asked about sharp ones.
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
        for run in self._runs():
            if len(run) == 1:
                x = run[0](x, generator)
            else:
                x = self._resample_once(run, x, [layer.roll(x, generator) for layer in run])
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
        rolled = iter(dice)
        for run in self._runs():
            theirs = [next(rolled) for _ in run]
            x = run[0].follow(x, *theirs) if len(run) == 1 else self._resample_once(run, x, theirs)
        return x

    def _runs(self) -> list[list[AugmentationLayer]]:
        """Give the layers in order, those together that resample alike."""
        runs: list[list[AugmentationLayer]] = []
        for layer in self:
            before = runs[-1][-1] if runs else layer
            alike = runs and layer.resampling and layer.resampling == before.resampling
            choice = self.training and any(len(one.transforms) > 1 for one in (before, layer))
            if alike and not choice:
                runs[-1].append(layer)
            else:
                runs.append([layer])
        return runs

    @staticmethod
    def _resample_once(layers: list[AugmentationLayer], x: Tensor, dice: list[Dice]) -> Tensor:
        interpolation, padding = layers[0].resampling or ("bilinear", "zeros")
        with full_precision(x):
            maps = layers[0].maps(x, dice[0])
            for layer, theirs in zip(layers[1:], dice[1:], strict=True):
                maps = compose(maps, layer.maps(x, theirs), x)
            return warp(x, maps, interpolation, padding)

    def __iter__(self) -> Iterator[AugmentationLayer]:
        return iter(self.layers)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> AugmentationLayer:
        return self.layers[index]  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "\n".join(layer.sentence() for layer in self)


def identity(x: Tensor, generator: Generator | None = None) -> Tensor:
    """Augment nothing: the baseline of every experiment."""
    return x
