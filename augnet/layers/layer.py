"""One augmentation layer: what is learned about a set of transforms (eq. 2)."""

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

import torch
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.transforms import Transform
from augnet.transforms.base import Linear, Noise, full_precision, grouped, spread, take
from augnet.transforms.geometry import Affine, Interpolation, Padding, warp
from augnet.transforms.noise import chosen, uniform
from augnet.transforms.relax import unit_interval

Mixing: TypeAlias = Literal["weighted", "drawn"]
Dice: TypeAlias = tuple[Tensor, list[Noise]]
"""The dice of a layer: the lot that chooses each sample's transform, and what each transform rolled."""
Resampling: TypeAlias = tuple[Interpolation, Padding]
Weighed: TypeAlias = tuple[Transform, Tensor, Tensor]
"""A transform with its weight and its magnitude."""

REVISITS = 1 / 16
"""How often, in training, a transform of nil weight is computed all the same."""


class AugmentationLayer(nn.Module):
    """A choice between transforms, with a weight and a magnitude for each, both learned.

    In training a sample becomes the weighted sum of its views under all transforms (eq. 2):
    `sum_q w_q T_q(x; μ_q)`. In eval it becomes its view under one transform, drawn by the weights: if
    all transforms are affine maps, by one resampling under the map of each sample's transform; else only the
    transforms that were drawn are computed, each for its own samples.

    All transforms start with the same weight and with the given `magnitude`, one for all or one each.
    A lower `temperature` makes the softmax of the weights more decided.

    In training, a transform whose weight is below `tolerance` is computed in one call out of sixteen
    only, and then with sixteen times its weight: a layer that has made up its mind costs little
    more than one transform, and the mixture and its gradients are what they were in expectation, so
    that transforms can come back. Weights are read off the device for this, once per call, twice if a
    transform sleeps; a tolerance of 0 computes all transforms always, and reads nothing.

    With `mixing="drawn"` training, too, views each sample under one transform, drawn by the weights, at
    the cost of one transform (see `draw`). The loss is then that of transforms one at a time, not of their
    blend.
    """

    def __init__(
        self,
        *transforms: Transform,
        magnitude: float | Sequence[float] = 0.5,
        temperature: float = 1.0,
        tolerance: float = 1e-3,
        mixing: Mixing = "weighted",
    ) -> None:
        super().__init__()
        if not transforms:
            raise ValueError(
                "a layer takes at least one transform: AugmentationLayer(Rotate(), ...)"
            )
        for transform in transforms:
            if not isinstance(transform, Transform):
                raise TypeError(
                    f"a layer takes transforms (Transform); got {transform!r}: "
                    "AugmentationLayer(*build_transforms([...])) builds them from names"
                )
        if not temperature > 0:
            raise ValueError(f"temperature must be positive; got {temperature}")
        if not 0 <= tolerance < 1 / len(transforms):
            raise ValueError(
                "tolerance is a weight from 0 to below that of each transform at the start, "
                f"1/{len(transforms)}; got {tolerance}"
            )
        if mixing not in get_args(Mixing):
            raise ValueError(f"mixing is one of {', '.join(get_args(Mixing))}; got {mixing!r}")
        self.mixing = mixing
        self.transforms = transforms
        self.temperature = temperature
        self.tolerance = tolerance
        self.logits = nn.Parameter(torch.zeros(len(transforms)))
        self.raw_magnitudes = nn.Parameter(_initial(magnitude, len(transforms)))

    @property
    def weights(self) -> Tensor:
        """The weights of the transforms, which sum to 1."""
        return torch.softmax(self.logits / self.temperature, dim=0)

    @property
    def magnitudes(self) -> Tensor:
        """The magnitudes of the transforms, in [0, 1], with a gradient at both ends."""
        return unit_interval(self.raw_magnitudes)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Give each sample a view of its own."""
        self.check(x)
        if not self.training:
            return self.follow(x, self.roll(x, generator))
        with full_precision(x):
            return (self.draw if self.mixing == "drawn" else self.mix)(x, generator)

    def roll(self, x: Tensor, generator: Generator | None = None) -> Dice:
        """Roll the dice of one transform per sample: a lot that chooses it, and the noise of all transforms.

        The dice of all transforms are rolled, so that one seed means one view, in graphs too.
        """
        lot = uniform(self.logits, (x.shape[0], 1), generator)
        return lot, [transform.roll(x, generator) for transform in self.transforms]

    def follow(self, x: Tensor, dice: Dice) -> Tensor:
        """View each sample as the dice say."""
        if self.resampling:
            view = self.pick_by_map
        else:
            view = self.pick_by_mask if torch.compiler.is_compiling() else self.pick
        with full_precision(x):
            return view(x, dice)

    def check(self, x: Tensor) -> None:
        """Refuse what not all transforms can take."""
        validation.batch(x, "AugmentationLayer")
        validation.same_device(self.logits, x, "the layer")
        for transform in self.transforms:
            transform.check(x)

    def mix(
        self, x: Tensor, generator: Generator | None = None, awake: list[Weighed] | None = None
    ) -> Tensor:
        """Sum the views of all transforms by their weights, sharing what transforms have in common.

        Operators of transforms that act alike are summed before they act, and transforms of nil weight are
        left out now and then (see `tolerance` and `awake`). Else this equals `mix_plainly`.
        """
        mixture = left_alone = x.new_zeros(())
        operators: dict[Callable[[Tensor, Tensor], Tensor], Tensor] = {}
        for transform, weight, magnitude in awake or self.awake(x, generator):
            weight = weight.to(x.dtype)
            noise = transform.sample(x, generator)
            if isinstance(transform, Linear):
                operator = weight * transform.operator(x, magnitude, noise)
                act = type(transform).act
                operators[act] = operators[act] + operator if act in operators else operator
                left_alone = left_alone + weight
            else:
                view = transform.replay(x, magnitude, noise)
                mixture = mixture.addcmul(view, weight) if mixture.dim() else view * weight
        if operators:
            mixture = torch.addcmul(mixture, x, left_alone)
        for action, summed in operators.items():
            mixture = mixture + action(x, summed)
        return mixture

    def awake(self, x: Tensor, generator: Generator | None = None) -> list[Weighed]:
        """Give the transforms that a training pass computes: seldom those of nil weight."""
        weights, magnitudes = self.weights, self.magnitudes
        transforms = list(zip(self.transforms, weights, magnitudes, strict=True))
        if not self.tolerance or torch.compiler.is_compiling() or weights.is_meta:
            return transforms
        heavy = (weights.detach() >= self.tolerance).tolist()
        if all(heavy):
            return transforms
        visited = (uniform(x, (len(transforms),), generator) < REVISITS).tolist()
        return [
            (transform, weight if stays else weight / REVISITS, magnitude)
            for (transform, weight, magnitude), stays, visit in zip(
                transforms, heavy, visited, strict=True
            )
            if stays or visit
        ]

    def mix_plainly(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Sum the views of all transforms by their weights: the definition that `mix` is held to."""
        mixture = torch.zeros_like(x)
        for transform, weight, magnitude in zip(
            self.transforms, self.weights, self.magnitudes, strict=True
        ):
            mixture = mixture + weight * transform.view(x, magnitude, generator)
        return mixture

    def draw(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """View each sample under one transform, with a gradient for the weights.

        The choice is not differentiable. In its place stands the step from the sample to its view,
        times the weight relative to itself, which is 1:
        T_q(x) + (w_q / stop(w_q) − 1) stop(T_q(x) − x). In expectation the gradient is
        Σ_q ⟨∇L(T_q(x)), T_q(x) − x⟩ ∇w_q. That is the gradient of the expected loss,
        Σ_q w_q L(T_q(x)), where the loss is linear between a sample and its views, and has no bias
        then; where the loss is convex there, it overrates what transforms cost.
        """
        dice = self.roll(x, generator)
        view, weights = self.follow(x, dice), self.weights
        weight = weights[chosen(dice[0], weights)].to(x.dtype)
        return view.addcmul((view - x).detach(), spread(weight / weight.detach() - 1, x))

    def pick(self, x: Tensor, dice: Dice) -> Tensor:
        """View each sample under one transform, computing nothing else.

        Which transforms are needed, and for which samples, is read off the device once per call.
        """
        lots, rolled = dice
        choice = chosen(lots, self.weights)
        groups, back = grouped(choice, len(self.transforms))
        views = []
        for transform, magnitude, rolls, rows in zip(
            self.transforms, self.magnitudes, rolled, groups, strict=True
        ):
            if len(rows):
                noise = take(transform.meet(x, rolls), rows)
                views.append(transform.replay(x[rows], magnitude, noise))
        return torch.cat(views)[back]

    def pick_by_mask(self, x: Tensor, dice: Dice) -> Tensor:
        """View each sample under one transform, computing all transforms: no shape depends on the dice.

        This is the plain definition that `pick` must equal, and what compiled and exported
        graphs contain.
        """
        lots, rolled = dice
        choice = chosen(lots, self.weights)
        picked = x
        for index, (transform, magnitude, rolls) in enumerate(
            zip(self.transforms, self.magnitudes, rolled, strict=True)
        ):
            view = transform.replay(x, magnitude, transform.meet(x, rolls))
            picked = torch.where(spread(choice == index, x), view, picked)
        return picked

    @property
    def resampling(self) -> Resampling | None:
        """How all transforms resample images, if all are affine maps that do so alike."""
        found = {resampling(transform) for transform in self.transforms}
        return found.pop() if len(found) == 1 else None

    def maps(self, x: Tensor, dice: Dice) -> Tensor:
        """Give the affine map (B, 2, 3) of one transform per sample, if all transforms are such maps.

        The maps of all transforms are computed, being six numbers each; nothing is read off the device.
        """
        lots, rolled = dice
        choice = chosen(lots, self.weights)
        maps = torch.stack(
            [
                transform.map(x, magnitude, rolls)
                for transform, magnitude, rolls in zip(
                    self.transforms, self.magnitudes, rolled, strict=True
                )
                if isinstance(transform, Affine)
            ]
        )
        return maps[choice, torch.arange(x.shape[0], device=x.device)]

    def pick_by_map(self, x: Tensor, dice: Dice) -> Tensor:
        """View each sample under one transform, by one resampling for the whole batch."""
        interpolation, padding = self.resampling or ("bilinear", "zeros")
        return warp(x, self.maps(x, dice), interpolation, padding)

    def sentence(self) -> str:
        """Say what was learned, the heaviest transform first and the weightless left out."""
        rows = zip(self.weights.tolist(), self.magnitudes.tolist(), self.transforms, strict=True)
        heaviest, *others = sorted(rows, key=lambda row: -row[0])
        return " + ".join(
            f"{weight:.2f} × {transform.name} {transform.describe(magnitude)}"
            for weight, magnitude, transform in (heaviest, *others)
            if weight >= min(0.01, heaviest[0])
        )

    def __repr__(self) -> str:
        return self.sentence()


def resampling(transform: Transform) -> Resampling | None:
    """Tell how a transform resamples images, if it is an affine map."""
    return (transform.interpolation, transform.padding) if isinstance(transform, Affine) else None


def _initial(magnitude: float | Sequence[float], count: int) -> Tensor:
    values = torch.as_tensor(magnitude, dtype=torch.get_default_dtype())
    if values.dim() and tuple(values.shape) != (count,):
        raise ValueError(
            f"magnitude is one value, or one for each of {count} transforms; got {magnitude}"
        )
    if not bool(((values >= 0) & (values <= 1)).all()):
        raise ValueError(f"magnitudes lie in [0, 1], 1 being a transform's limit; got {magnitude}")
    return values.expand(count).clone()
