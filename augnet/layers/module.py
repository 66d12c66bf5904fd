"""Augmentation layers in sequence, and the augmentation that changes nothing."""

from collections.abc import Iterator, Sequence
from functools import reduce

import torch
from torch import Generator, Tensor, nn

from augnet.layers.edges import Assigned, distance, draw_choices
from augnet.layers.layer import AugmentationLayer, Drawn, LayerParams, Mixed
from augnet.layers.resampling import compose_maps, resample, shared_resampling
from augnet.transforms import Transform
from augnet.transforms.base import full_precision
from augnet.transforms.geometry import Affine, Flip


class AugmentationModule(nn.Module):
    """Layers in sequence, so that each can learn another invariance (section 3.3).

    Consecutive layers of affine maps multiply their maps and resample once, in graphs too. In
    training, where layers mix transforms, this is done for layers with only one active transform:
    they have no other, or the weights of all others are negligible. So the trunk is trained on
    images as sharp as those that it sees in eval.

    A layer of flips alone ends such a product, in eval too: it needs no resampling, and in training
    the gradient in its probability after another map is a difference of two views that one
    resampling does not have. In eval, flips beside other maps of their layer are part of a product.

    While a `RangeTuner` is attached (`tuned`), training draws for all layers together which
    transform each sample gets (`draw_choices`).
    """

    tuned: bool = False

    def __init__(self, *layers: AugmentationLayer) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], list | tuple | Iterator):
            raise TypeError(
                f"a module takes layers, not a {type(layers[0]).__name__} of them: "
                "AugmentationModule(*layers)"
            )
        if not layers:
            raise ValueError("a module takes at least one layer; to augment nothing: identity")
        for layer in layers:
            if not isinstance(layer, AugmentationLayer):
                raise TypeError(
                    f"a module takes layers; got {type(layer).__name__}: "
                    "AugmentationModule(AugmentationLayer(...), ...)"
                )
        self.layers = nn.ModuleList(layers)

    @property
    def joinable_params(self) -> bool:
        """Whether params of several copies can be joined."""
        return all(layer.joinable_params for layer in self)

    @property
    def independent_params(self) -> bool:
        """Whether params of several copies can be drawn at once."""
        return all(layer.independent_params for layer in self)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Pass each sample through all layers."""
        self.check(x)
        return self.apply_params(x, self.sample_params(x.shape, x, generator))

    def check(self, x: Tensor) -> None:
        """Raise an error if some layer does not accept `x`, before params are drawn."""
        for layer in self:
            layer.check(x)

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> list[LayerParams]:
        """Draw the params of all layers, one layer after the other."""
        if self.training and self.tuned:
            transforms = [layer.transforms for layer in self]
            selected = [layer.selected for layer in self if layer.selected is not None]
            choices = draw_choices(transforms, shape[0], like, generator, selected or None)
            return [
                layer.assign(choice, shape, like, generator)
                for layer, choice in zip(self, choices, strict=True)
            ]
        return [layer.sample_params(shape, like, generator) for layer in self]

    def apply_params(self, x: Tensor, params: list[LayerParams]) -> Tensor:
        """Return the view of each sample with these params."""
        for run in self._runs(params):
            if len(run) == 1:
                ((layer, drawn),) = run
                x = layer.apply_params(x, drawn)
            else:
                x = _resample_once(x, run)
        return x

    def _runs(self, params: list[LayerParams]) -> list[list[tuple[AugmentationLayer, LayerParams]]]:
        """Group consecutive layers that can share one resampling."""
        runs: list[list[tuple[AugmentationLayer, LayerParams]]] = []
        transforms: list[Transform] = []
        for layer, drawn in zip(self, params, strict=True):
            mapped = _mapped(layer, drawn)
            if transforms and mapped and shared_resampling([*transforms, *mapped]):
                runs[-1].append((layer, drawn))
                transforms += mapped
            else:
                runs.append([(layer, drawn)])
                transforms = mapped
        return runs

    def __iter__(self) -> Iterator[AugmentationLayer]:
        return iter(self.layers)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, index: int) -> AugmentationLayer:
        return self.layers[index]  # type: ignore[return-value]

    def __repr__(self) -> str:
        return "\n".join(layer.describe() for layer in self)


def _mapped(layer: AugmentationLayer, params: LayerParams) -> list[Transform]:
    """Return the transforms of a layer if their maps may be multiplied with those of others."""
    if not isinstance(params, Mixed):
        only_flips = all(isinstance(transform, Flip) for transform in layer.transforms)
        needs_gradient = layer.training and isinstance(params, Drawn)
        return [] if needs_gradient or only_flips else list(layer.transforms)
    only = layer.transforms[params.active[0]]
    return [only] if len(params.active) == 1 and isinstance(only, Affine) else []


def _resample_once(x: Tensor, run: list[tuple[AugmentationLayer, LayerParams]]) -> Tensor:
    """Resample images under the product of the maps of all layers of a run."""
    how = shared_resampling(t for layer, params in run for t in _mapped(layer, params))
    with full_precision(x):
        maps = reduce(lambda a, b: compose_maps(a, b, x), (layer.maps(x, p) for layer, p in run))
        view = resample(x, maps, how or ("bilinear", "zeros"))
        if any(isinstance(params, Assigned) for _, params in run):
            moved = distance(x, view)  # by all of them: no view lies between the layers
            for layer, _ in run:
                layer.moved = moved
        weights = [
            layer.weights[params.active[0]]
            for layer, params in run
            if isinstance(params, Mixed) and len(layer.transforms) > 1
        ]
        return view * torch.stack(weights).prod().to(x.dtype) if weights else view


def identity(x: Tensor, generator: Generator | None = None) -> Tensor:
    """Return the samples as they are: the baseline of every experiment."""
    return x
