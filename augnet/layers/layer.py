"""One augmentation layer: the weights and magnitudes of a set of transforms (eq. 2)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias, get_args

import torch
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.layers.edges import (
    Assigned,
    Choice,
    assign,
    distance,
    draw_choices,
    magnitudes_per_sample,
    to_edge,
)
from augnet.layers.operators import pick_all, pick_rows
from augnet.layers.resampling import Maps, Resampling, chosen_maps, resample, shared_resampling
from augnet.layers.weight_gradient import with_weight_gradient
from augnet.transforms import Transform, spread
from augnet.transforms.base import Linear, Params, checked_apply, full_precision
from augnet.transforms.geometry import Affine
from augnet.transforms.noise import chosen, uniform
from augnet.transforms.relax import unit_interval

Mixing: TypeAlias = Literal["weighted", "drawn"]

REVISITS = 1 / 16
"""How often training computes a transform of negligible weight."""


class Drawn(NamedTuple):
    """Params for one transform per sample: numbers in [0, 1) that choose it, and all params."""

    choice: Tensor
    transforms: list[Params]


class Mixed(NamedTuple):
    """Params for a weighted sum: the indices of the active transforms, their scales and params."""

    active: list[int]
    scales: list[float]
    transforms: list[Params]


LayerParams: TypeAlias = Drawn | Mixed | Assigned


class AugmentationLayer(nn.Module):
    """A choice between transforms, with a learned weight and a learned magnitude for each.

    In training a sample becomes the weighted sum of its views under all transforms (eq. 2):
    `sum_q w_q T_q(x; μ_q)`. In eval it becomes its view under one transform, drawn by the weights.

    All transforms start with the same weight and with the given `magnitude`, one for all or one
    each. A lower `temperature` makes the softmax of the weights sharper.

    In training, a transform with a weight below `tolerance` is computed in one call out of sixteen,
    with sixteen times its weight. So a layer with one dominant weight costs little more than one
    transform, the mixture and its gradients are the same in expectation, and weights can grow back.
    A nonlinear loss sees a second-order difference. Weights are read from the device for this, once
    per call, and a second time if a transform is skipped; `tolerance=0` computes all transforms and
    reads nothing.

    With `mixing="drawn"` training also draws one transform per sample, at the cost of one transform
    (see `with_weight_gradient`). The loss is then that of single transforms, not of their blend.
    A fraction `edges` of the samples is at an end of the range of its transform, the others are
    anywhere within it; each layer draws this for itself.

    While a `RangeTuner` is attached (`tuned`), training draws one transform per sample as it wants
    them (`draw_choices`), whatever the weights. `choice` and `moved` remember the last draw and how
    far it moved each sample; `selected` is the transform that the tuner selects, if it selects one.

    Fast paths equal a plain definition that stays in the code, and tests compare them: `mix` equals
    `mix_plainly`, `pick` and `pick_by_map` equal `pick_by_mask`. Draws read nothing from
    an accelerator.
    """

    tuned: bool = False
    edges: float = 0.0
    choice: Choice | None = None
    moved: Tensor | None = None
    selected: Tensor | None = None

    def __init__(
        self,
        *transforms: Transform,
        magnitude: float | Sequence[float] = 0.5,
        temperature: float = 1.0,
        tolerance: float = 1e-3,
        mixing: Mixing = "weighted",
        edges: float = 0.0,
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
        if not 0 <= edges <= 1 or (edges and mixing != "drawn"):
            raise ValueError(
                "edges is a fraction of samples, and needs mixing='drawn'; "
                f"got {edges} with mixing={mixing!r}"
            )
        self.mixing, self.edges = mixing, edges
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

    @property
    def resampling(self) -> Resampling | None:
        """How all transforms resample images, if all are affine maps that can share it."""
        return shared_resampling(self.transforms)

    @property
    def joinable_params(self) -> bool:
        """Whether params of several copies can be joined: in eval, where none are skipped."""
        return not self.training

    @property
    def independent_params(self) -> bool:
        """Whether params of several copies can be drawn at once: no transform pairs samples."""
        return not any(transform.batch_coupled for transform in self.transforms)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Return a view of each sample."""
        self.check(x)
        return self.apply_params(x, self.sample_params(x.shape, x, generator))

    def check(self, x: Tensor) -> None:
        """Raise an error if some transform does not accept `x`."""
        validation.batch(x, "AugmentationLayer")
        validation.same_device(self.logits, x, "the layer")
        for transform in self.transforms:
            transform.check(x)

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> LayerParams:
        """Draw params for a batch of this shape.

        If one transform per sample is drawn, the params of all transforms are still sampled, so
        that a seed gives the same view in a graph and outside of one.
        """
        if self.training and self.tuned:
            (assigned,) = draw_choices([self.transforms], shape[0], like, generator)
            return self.assign(assigned, shape, like, generator)
        if self.training and self.mixing == "weighted":
            active, scales = self.active(like, generator)
            transforms = [self.transforms[index] for index in active]
            return Mixed(
                active, scales, [t.sample_params(shape, like, generator) for t in transforms]
            )
        choice = uniform(self.logits, (shape[0], 1), generator)
        params = [t.sample_params(shape, like, generator) for t in self.transforms]
        if self.training and self.edges:
            at_edge = uniform(like, shape[:1], generator) < self.edges
            pairs = zip(self.transforms, params, strict=True)
            params = [to_edge(transform, each, at_edge) for transform, each in pairs]
        return Drawn(choice, params)

    def assign(
        self, choice: Choice, shape: Sequence[int], like: Tensor, generator: Generator | None
    ) -> Assigned:
        """Draw params for a batch whose transforms are chosen, and remember the choice."""
        self.choice = choice
        return assign(self.transforms, choice, shape, like, generator)

    def apply_params(self, x: Tensor, params: LayerParams) -> Tensor:
        """Return the view of each sample with these params; `nn.Module.apply` is something else."""
        with full_precision(x):
            if isinstance(params, Mixed):
                return self.mix(x, params)
            if self.resampling:
                view = self.pick_by_map(x, params)
            elif torch.compiler.is_compiling():
                view = self.pick_by_mask(x, params)
            else:
                view = self.pick(x, params)
            if isinstance(params, Assigned):
                self.moved = distance(x, view)
            if self.training and isinstance(params, Drawn):
                weight = self.weights[self._chosen(params)].to(x.dtype)
                return with_weight_gradient(view, x, weight)
            return view

    def active(
        self, like: Tensor, generator: Generator | None = None
    ) -> tuple[list[int], list[float]]:
        """Draw which transforms a training pass computes, and the factors of their weights."""
        everything = list(range(len(self.transforms)))
        weights = self.weights.detach()
        if not self.tolerance or torch.compiler.is_compiling() or weights.is_meta:
            return everything, [1.0] * len(everything)
        negligible = (weights < self.tolerance).tolist()
        if not any(negligible):
            return everything, [1.0] * len(everything)
        revisited = (uniform(like, (len(everything),), generator) < REVISITS).tolist()
        active = [index for index in everything if revisited[index] or not negligible[index]]
        return active, [1 / REVISITS if negligible[index] else 1.0 for index in active]

    def mix(self, x: Tensor, params: Mixed) -> Tensor:
        """Sum the views of the active transforms by their weights.

        Operators of linear transforms that act alike are summed before they act.
        """
        mixture = unchanged = x.new_zeros(())
        operators: dict[Callable[[Tensor, Tensor], Tensor], Tensor] = {}
        for transform, weight, magnitude, drawn in self._weighted(params, x):
            if isinstance(transform, Linear):
                operator = weight * transform.operator(x, magnitude, drawn)
                act = type(transform).act
                operators[act] = operators[act] + operator if act in operators else operator
                unchanged = unchanged + weight
            else:
                view = checked_apply(transform, x, magnitude, drawn)
                mixture = mixture.addcmul(view, weight) if mixture.dim() else view * weight
        if operators:
            mixture = torch.addcmul(mixture, x, unchanged)
        for action, summed in operators.items():
            mixture = mixture + action(x, summed)
        return mixture

    def mix_plainly(self, x: Tensor, params: Mixed) -> Tensor:
        """Sum the views of the active transforms by their weights: the definition of `mix`."""
        mixture = torch.zeros_like(x)
        for transform, weight, magnitude, drawn in self._weighted(params, x):
            mixture = mixture + weight * checked_apply(transform, x, magnitude, drawn)
        return mixture

    def _weighted(
        self, params: Mixed, x: Tensor
    ) -> Iterator[tuple[Transform, Tensor, Tensor, Params]]:
        """Iterate over the active transforms, with their weights, magnitudes and params."""
        weights, magnitudes = self.weights.to(x.dtype), self.magnitudes
        for index, scale, drawn in zip(*params, strict=True):
            weight = weights[index] if scale == 1 else weights[index] * scale
            yield self.transforms[index], weight, magnitudes[index], drawn

    def pick(self, x: Tensor, params: Drawn | Assigned) -> Tensor:
        """Apply one transform per sample, and compute no other (see `operators`)."""
        pick = pick_rows if x.device.type == "cpu" else pick_all
        return pick(x, self._chosen(params), list(self._all(params)))

    def pick_by_mask(self, x: Tensor, params: Drawn | Assigned) -> Tensor:
        """Apply one transform per sample, computing all of them: the definition of `pick`.

        Compiled and exported graphs contain this, because no shape depends on random values.
        """
        choice = self._chosen(params)
        picked = x
        for index, (transform, magnitude, drawn) in enumerate(self._all(params)):
            view = checked_apply(transform, x, magnitude, drawn)
            picked = torch.where(spread(choice == index, x), view, picked)
        return picked

    def pick_by_map(self, x: Tensor, params: Drawn | Assigned) -> Tensor:
        """Apply one affine transform per sample, by one resampling of the whole batch."""
        return resample(x, self.maps(x, params), self.resampling or ("bilinear", "zeros"))

    def maps(self, x: Tensor, params: LayerParams) -> Maps:
        """Return the map of each sample: of the drawn transform, or of the only active one."""
        if isinstance(params, Mixed):
            ((transform, _, magnitude, drawn),) = self._weighted(params, x)
            assert isinstance(transform, Affine)
            return Maps(transform.map(x, magnitude, drawn), {})
        choice = self._chosen(params)
        if isinstance(params, Assigned):  # no transform is any transform at magnitude 0
            choice = choice.clamp(max=len(self.transforms) - 1)
        return chosen_maps(x, choice, self._all(params))

    def _chosen(self, params: Drawn | Assigned) -> Tensor:
        """Return the index of the transform of each sample."""
        if isinstance(params, Assigned):
            return params.choice.transform
        return chosen(params.choice, self.weights)

    def _all(self, params: Drawn | Assigned) -> Iterator[tuple[Transform, Tensor, Params]]:
        """Iterate over all transforms, with their magnitudes and params."""
        magnitudes: Iterable[Tensor] = self.magnitudes
        if isinstance(params, Assigned):
            magnitudes = magnitudes_per_sample(self.transforms, self.magnitudes, params)
        return zip(self.transforms, magnitudes, params.transforms, strict=True)

    def describe(self) -> str:
        """Describe the transforms by falling weight; those below 0.01 are left out."""
        rows = zip(self.weights.tolist(), self.magnitudes.tolist(), self.transforms, strict=True)
        first, *others = sorted(rows, key=lambda row: -row[0])
        return " + ".join(
            f"{weight:.2f} × {transform.name} {transform.describe(magnitude)}"
            for weight, magnitude, transform in (first, *others)
            if weight >= min(0.01, first[0])
        )

    def __repr__(self) -> str:
        return self.describe()


def _initial(magnitude: float | Sequence[float], count: int) -> Tensor:
    values = torch.as_tensor(magnitude, dtype=torch.get_default_dtype())
    if values.dim() and tuple(values.shape) != (count,):
        raise ValueError(
            f"magnitude is one value, or one for each of {count} transforms; got {magnitude}"
        )
    if not bool(((values >= 0) & (values <= 1)).all()):
        raise ValueError(f"magnitudes lie in [0, 1], 1 being a transform's limit; got {magnitude}")
    return values.expand(count).clone()
