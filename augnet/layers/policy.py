"""Fixed augmentation policies, which learn nothing."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.transforms import Params, Ranged, Transform, spread
from augnet.transforms.base import checked_apply, constant, full_precision, grouped
from augnet.transforms.noise import categorical, uniform


@dataclass(frozen=True)
class Step:
    """A transform, the probability that it is applied, and its magnitude.

    A transform draws its strength from the whole range of the magnitude. With `fractions` it draws
    evenly from these values only: (-1, 1) is the magnitude itself with either sign.
    """

    transform: Transform
    probability: float = 1.0
    magnitude: float = 1.0
    fractions: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("probability", "magnitude"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} lies in [0, 1]; got {getattr(self, name)}")
        if self.fractions and not isinstance(self.transform, Ranged):
            raise ValueError(
                f"fractions are for transforms with a strength; {self.transform.name} has none"
            )
        if any(not -1 <= fraction <= 1 for fraction in self.fractions):
            raise ValueError(f"fractions of a magnitude lie in [-1, 1]; got {self.fractions}")

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> tuple[Params, Tensor | None]:
        """Draw the params of the transform, and whether each sample is transformed."""
        params = self.transform.sample_params(shape, like, generator)
        if self.fractions:
            index = uniform(like, shape[:1], generator) * len(self.fractions)
            params = _values(self.fractions, like)[index.long().clamp(max=len(self.fractions) - 1)]
        if self.probability == 1:
            return params, None
        return params, uniform(like, shape[:1], generator) < self.probability

    def apply(self, x: Tensor, params: tuple[Params, Tensor | None]) -> Tensor:
        """Transform each sample, or return it as it is."""
        drawn, applied = params
        view = checked_apply(self.transform, x, self.magnitude, drawn)
        return view if applied is None else torch.where(spread(applied, x), view, x)


@constant
def _values(values: tuple[float, ...], device: torch.device, dtype: torch.dtype) -> Tensor:
    """Return values as a tensor on a device."""
    return torch.tensor(values, device=device, dtype=dtype)


class RoundParams(NamedTuple):
    """The rows that follow each sub-policy, the order that undoes it, and the params of steps."""

    groups: tuple[Tensor, ...] | None
    back: Tensor | None
    steps: list[list[tuple[Params, Tensor | None]]]


class Policy(nn.Module):
    """Sub-policies: sequences of steps, of which each sample follows one, drawn evenly.

    With several `rounds`, each sample follows so many sub-policies, drawn anew each time. In eval a
    policy is the identity, unless it is to act `in_eval` too; `AugNet` then averages over it.

    AutoAugment, RandAugment, TrivialAugment and padded crops are such tables. Params are drawn for
    the samples of each group, not for the whole batch, so params of copies cannot be joined.
    """

    def __init__(
        self, subpolicies: Sequence[Sequence[Step]], rounds: int = 1, in_eval: bool = False
    ) -> None:
        super().__init__()
        if not subpolicies or not all(subpolicies):
            raise ValueError("a policy takes at least one sub-policy of at least one step")
        self.subpolicies = tuple(tuple(steps) for steps in subpolicies)
        self.rounds = validation.count(rounds, "rounds")
        self.in_eval = in_eval

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Return a view of each sample."""
        self.check(x)
        return self.apply_params(x, self.sample_params(x.shape, x, generator))

    def check(self, x: Tensor) -> None:
        """Raise an error if some transform does not accept `x`."""
        validation.batch(x, "Policy")
        for steps in self.subpolicies:
            for step in steps:
                step.transform.check(x)

    def sample_params(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None = None
    ) -> list[RoundParams]:
        """Draw the params of all rounds; of none in eval, unless the policy acts `in_eval`."""
        if not (self.training or self.in_eval):
            return []
        return [self._sample_round(shape, like, generator) for _ in range(self.rounds)]

    def apply_params(self, x: Tensor, params: list[RoundParams]) -> Tensor:
        """Return the view of each sample with these params."""
        with full_precision(x):
            for each in params:
                x = self._apply_round(x, each)
        return x

    def _sample_round(
        self, shape: Sequence[int], like: Tensor, generator: Generator | None
    ) -> RoundParams:
        count = len(self.subpolicies)
        groups, back, sizes = None, None, [shape[0]]
        if count > 1:
            choice = categorical(like.new_full((count,), 1 / count), shape[0], generator)
            groups, back = grouped(choice, count)
            sizes = [len(rows) for rows in groups]
        steps = [
            [step.sample_params((size, *shape[1:]), like, generator) for step in steps if size]
            for steps, size in zip(self.subpolicies, sizes, strict=True)
        ]
        return RoundParams(groups, back, steps)

    def _apply_round(self, x: Tensor, params: RoundParams) -> Tensor:
        views = []
        for number, (steps, drawn) in enumerate(zip(self.subpolicies, params.steps, strict=True)):
            if drawn:
                view = x if params.groups is None else x[params.groups[number]]
                for step, each in zip(steps, drawn, strict=True):
                    view = step.apply(view, each)
                views.append(view)
        return views[0] if params.back is None else torch.cat(views)[params.back]


class ByClass(nn.Module):
    """One policy per class (Rommel et al. 2022).

    Labels are known in training only, which calls `labeled`. Without labels this is the identity.
    """

    def __init__(self, policies: Sequence[nn.Module]) -> None:
        super().__init__()
        self.policies = nn.ModuleList(policies)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Return samples as they are, because their classes are unknown."""
        return x

    def labeled(self, x: Tensor, y: Tensor, generator: Generator | None = None) -> Tensor:
        """Return a view of each sample by the policy of its class."""
        groups, back = grouped(y, len(self.policies))
        views = [
            policy(x[rows], generator)
            for policy, rows in zip(self.policies, groups, strict=True)
            if len(rows)
        ]
        return torch.cat(views)[back]


class Chain(nn.Module):
    """Augmentations in sequence, such as a fixed policy and then layers that learn."""

    def __init__(self, stages: Iterable[nn.Module]) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Pass each sample through all stages."""
        for stage in self:
            x = stage(x, generator)
        return x

    def __iter__(self) -> Iterator[Any]:
        return iter(self.stages)


def active_in_eval(
    augment: Callable[[Tensor, Generator | None], Tensor],
) -> Callable[[Tensor, Generator | None], Tensor]:
    """Return an augmentation whose policies act in eval too, so that a net averages over them."""
    if isinstance(augment, Policy):
        return Policy(augment.subpolicies, augment.rounds, in_eval=True)
    if isinstance(augment, Chain):
        stages = [active_in_eval(stage) for stage in augment]
        return Chain(stage for stage in stages if isinstance(stage, nn.Module))
    return augment
