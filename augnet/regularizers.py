"""4 LOSS: what pushes towards strong transformations (eq. 3), and when."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import Augerino, AugmentationLayer
from augnet.transforms import Bernoulli
from augnet.transforms.noise import derangement

AT_REST = 0.02  # magnitudes below are moved as if they were this, so that no transform dies
MOVED = 32  # samples tell how far a transform moves the data
STILL = 0.01  # of the distance between samples: layers that move data less are all but at rest


def selective(weights: Tensor | nn.Module, magnitudes: Tensor | None = None) -> Tensor:
    """Reward strong transforms that have weight: −‖w ⊙ μ‖₂ (section 3.4).

    Of two vectors, or read off a layer or module, all of whose layers share one norm. Tying
    weights to magnitudes keeps the net from putting all weight on a transform of magnitude 0, and
    makes each layer select one transform.
    """
    if isinstance(weights, nn.Module):
        layers = _layers(weights, "selective")
        weights = torch.cat([layer.weights for layer in layers])
        if magnitudes is None:
            magnitudes = torch.cat([layer.magnitudes for layer in layers])
    if magnitudes is None:
        raise TypeError("selective takes weights and magnitudes, or a layer or module with both")
    return _minus_norm(weights * magnitudes)


def magnitude_only(magnitudes: Tensor | nn.Module) -> Tensor:
    """Reward strong transforms, whatever their weights: −‖μ‖₂ (Augerino's penalty, section 3.4)."""
    if isinstance(magnitudes, nn.Module):
        found = [
            part.magnitudes
            for part in magnitudes.modules()
            if isinstance(part, AugmentationLayer | Augerino)
        ]
        if not found:
            raise TypeError(
                f"magnitude_only reads magnitudes off augmentation layers or Augerino; "
                f"{type(magnitudes).__name__} has none"
            )
        magnitudes = torch.cat(found)
    return _minus_norm(magnitudes)


def _minus_norm(values: Tensor) -> Tensor:
    # A norm has no gradient at zero, where magnitudes may start: the shift, too small to be seen
    # anywhere else, makes all of them grow alike from there.
    return -(values + 1e-12).norm()


@torch.no_grad()
def displacement(layer: AugmentationLayer, x: Tensor, generator: Generator | None = None) -> Tensor:
    """Tell how far each transform of a layer moves a batch, as a part of the distance between samples.

    Magnitudes of different transforms have no common unit; this is one, in the space of the data. To
    let transforms compete in it, give it to `selective` in the place of the magnitudes. Samples that do
    not differ, or a single one, are no measure: then all transforms are at 0.
    """
    layer.check(x)
    if x.shape[0] == 1:
        return torch.zeros_like(layer.logits)
    views = [
        transform.apply(x, magnitude, transform.sample_params(x.shape, x, generator))
        for transform, magnitude in zip(layer.transforms, layer.magnitudes, strict=True)
    ]
    others = x[derangement(x, len(x), generator)]
    moved = torch.stack([(view - x).square().mean().sqrt() for view in views])
    apart = (others - x).square().mean().sqrt()
    return torch.where(apart > 0, moved / apart, 0.0)


def in_data_space(augment: nn.Module, x: Tensor, generator: Generator | None = None) -> Tensor:
    """Let transforms compete for weight by how far they move the data; each grows in its own range.

    −‖w ⊙ stop(d)‖ − ‖stop(w) ⊙ μ‖, where d is the `displacement` of each transform.
    """
    layers = _layers(augment, "in_data_space")
    weights = torch.cat([layer.weights for layer in layers])
    magnitudes = torch.cat([layer.magnitudes for layer in layers])
    moved = torch.cat([displacement(layer, x, generator) for layer in layers])
    return selective(weights, moved) + selective(weights.detach(), magnitudes)


def travel(augment: nn.Module, x: Tensor, generator: Generator | None = None) -> Tensor:
    """Reward each transform by how far it moves the data: −Σ w d(μ), with a gradient in both.

    d is the mean distance between a sample and its view, as a part of that between two samples; for
    coins it is the expectation, exactly. A transform grows until moving samples a little farther costs
    more than that is worth: so transforms that move the data far at little cost go first, and no unit
    of magnitude matters. For layers of one transform each, which compete for nothing but the task.
    """
    return -_travelled(_layers(augment, "travel"), x, generator).sum()


def shares(augment: nn.Module, x: Tensor, generator: Generator | None = None) -> Tensor:
    """Grant each layer the same cost: −Σ log Σ w d(μ), with d as in `travel`.

    A transform whose cost is in proportion to how far it moves the data grows until it costs λ, the
    weight of the penalty, in units of the loss; one that costs less goes to its limit, one that
    costs more moves the data less. So no transform takes the place of another, and none dies.
    """
    return -(_travelled(_layers(augment, "shares"), x, generator) + STILL).log().sum()


def _travelled(layers: list[AugmentationLayer], x: Tensor, generator: Generator | None) -> Tensor:
    """Give Σ w d(μ) of each layer."""
    x = x[:MOVED]
    if len(x) == 1:  # no other sample, no measure
        return x.new_zeros(len(layers))
    apart = _distance(x, x[derangement(x, len(x), generator)])
    travelled = []
    for layer in layers:
        layer.check(x)
        total = x.new_zeros(())
        transforms = zip(layer.transforms, layer.weights, layer.magnitudes, strict=True)
        for transform, weight, magnitude in transforms:
            if isinstance(transform, Bernoulli):
                moved = transform.strength(magnitude) * _distance(transform.transform(x), x)
            else:
                # At rest a distance has no gradient: there it is that of a small step.
                stirred = magnitude + (AT_REST - magnitude.detach()).clamp(min=0)
                params = transform.sample_params(x.shape, x, generator)
                moved = _distance(transform.apply(x, stirred, params), x)
            total = total + weight * moved
        travelled.append(total)
    return torch.stack(travelled) / apart.clamp(min=1e-6)


def _distance(first: Tensor, second: Tensor) -> Tensor:
    # A view may equal its sample, where a norm has no gradient: the shift makes it 0.
    return ((first - second).square().flatten(1).mean(1) + 1e-12).sqrt().mean()


def _layers(augment: nn.Module, who: str) -> list[AugmentationLayer]:
    layers = [part for part in augment.modules() if isinstance(part, AugmentationLayer)]
    if not layers:
        raise TypeError(
            f"{who} reads weights off augmentation layers; {type(augment).__name__} has none: "
            "for Augerino use magnitude_only"
        )
    return layers


@dataclass(frozen=True)
class Schedule:
    """A number that changes at given epochs: `Schedule([[0, 0.5], [40, 0.05]])(epoch)`.

    One number is a schedule that never changes.
    """

    steps: tuple[tuple[int, float], ...]

    def __init__(self, steps: float | Sequence[Sequence[float]]) -> None:
        pairs: Any = [(0, steps)] if isinstance(steps, Real) else steps
        try:
            mine = tuple((int(epoch), float(value)) for epoch, value in pairs)
            epochs = [epoch for epoch, _ in mine]
            whole = epochs == [epoch for epoch, _ in pairs]
        except (TypeError, ValueError):
            mine, epochs, whole = (), [], False
        if not mine or not whole or epochs[0] != 0 or any(a >= b for a, b in pairwise(epochs)):
            raise ValueError(
                "a schedule is a number or [[epoch, value], ...], whole epochs that start at 0 and "
                f"increase; got {steps}"
            )
        object.__setattr__(self, "steps", mine)

    def __call__(self, epoch: int) -> float:
        """Give the value at an epoch."""
        if epoch < 0:
            raise ValueError(f"epochs count from 0; got {epoch}")
        return self.steps[bisect_right(self.steps, epoch, key=lambda step: step[0]) - 1][1]
