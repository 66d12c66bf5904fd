"""Data augmentation as it is usually done: fixed transforms, in training alone."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from augnet import validation
from augnet.transforms import Transform, Unsigned, spread
from augnet.transforms.base import full_precision, grouped
from augnet.transforms.noise import categorical, uniform


@dataclass(frozen=True)
class Step:
    """A transform, how often it is used, and how strongly.

    A transform draws its strength from all that lies within the magnitude. `parts` are for policies that
    take some values only, evenly: (-1, 1) is the magnitude itself with either sign.
    """

    transform: Transform
    probability: float = 1.0
    magnitude: float = 1.0
    parts: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("probability", "magnitude"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} lies in [0, 1]; got {getattr(self, name)}")
        if self.parts and not isinstance(self.transform, Unsigned):
            raise ValueError(
                f"parts are for transforms with a strength; {self.transform.name} has none"
            )
        if any(not -1 <= part <= 1 for part in self.parts):
            raise ValueError(f"parts of a magnitude lie in [-1, 1]; got {self.parts}")

    def view(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Transform each sample, or leave it alone, by its own dice."""
        noise = self.transform.sample(x, generator)
        if self.parts:
            place = uniform(x, x.shape[:1], generator) * len(self.parts)
            noise = x.new_tensor(self.parts)[place.long().clamp(max=len(self.parts) - 1)]
        view = self.transform.replay(x, self.magnitude, noise)
        if self.probability == 1:
            return view
        used = uniform(x, x.shape[:1], generator) < self.probability
        return torch.where(spread(used, x), view, x)


class Policy(nn.Module):
    """Sub-policies, of which each sample follows one, drawn evenly: its steps one after the other.

    With several `rounds`, each sample follows so many sub-policies, drawn anew each time. In eval a
    policy is the identity: what it teaches is trained in, not built in. `view` always augments, so
    that `AugNet(policy.view, trunk)` averages over it at test time too.
    """

    def __init__(self, subpolicies: Sequence[Sequence[Step]], rounds: int = 1) -> None:
        super().__init__()
        if not subpolicies or not all(subpolicies):
            raise ValueError("a policy takes at least one sub-policy of at least one step")
        self.subpolicies = tuple(tuple(steps) for steps in subpolicies)
        self.rounds = validation.count(rounds, "rounds")

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Give each sample a view of its own, in training."""
        self.check(x)
        return self.view(x, generator) if self.training else x

    def check(self, x: Tensor) -> None:
        """Refuse what not all transforms can take."""
        validation.batch(x, "Policy")
        for steps in self.subpolicies:
            for step in steps:
                step.transform.check(x)

    def view(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Give each sample a view of its own."""
        with full_precision(x):
            for _ in range(self.rounds):
                x = self._round(x, generator)
        return x

    def _round(self, x: Tensor, generator: Generator | None) -> Tensor:
        count = len(self.subpolicies)
        if count == 1:
            return self._follow(self.subpolicies[0], x, generator)
        choice = categorical(x.new_full((count,), 1 / count), x.shape[0], generator)
        groups, back = grouped(choice, count)
        views = [
            self._follow(steps, x[rows], generator)
            for steps, rows in zip(self.subpolicies, groups, strict=True)
            if len(rows)
        ]
        return torch.cat(views)[back]

    @staticmethod
    def _follow(steps: Sequence[Step], x: Tensor, generator: Generator | None) -> Tensor:
        for step in steps:
            x = step.view(x, generator)
        return x


class ByClass(nn.Module):
    """A policy for each class, by which samples are augmented in training, when labels are known.

    Where no label is known, nothing is done: as an augmentation of a net this is the identity, and
    training calls `labeled` before (Rommel et al. 2022).
    """

    def __init__(self, policies: Sequence[nn.Module]) -> None:
        super().__init__()
        self.policies = nn.ModuleList(policies)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Leave samples alone, whose class nobody said."""
        return x

    def labeled(self, x: Tensor, y: Tensor, generator: Generator | None = None) -> Tensor:
        """Give each sample a view by the policy of its class."""
        groups, back = grouped(y, len(self.policies))
        views = [
            policy(x[rows], generator)
            for policy, rows in zip(self.policies, groups, strict=True)
            if len(rows)
        ]
        return torch.cat(views)[back]


class Chain(nn.Module):
    """One augmentation after the other: what somebody knew, and then what is learned."""

    def __init__(self, stages: Iterable[nn.Module]) -> None:
        super().__init__()
        self.stages = nn.ModuleList(stages)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Pass each sample through all stages."""
        for stage in self.stages:
            x = stage(x, generator)
        return x

    def view(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Pass each sample through all stages, and through those that are for training only."""
        for stage in self.stages:
            x = stage.view(x, generator) if isinstance(stage, Policy) else stage(x, generator)
        return x


def built_in(
    augment: Callable[[Tensor, Generator | None], Tensor],
) -> Callable[[Tensor, Generator | None], Tensor]:
    """Give an augmentation as it is averaged over at test: policies as they are in training."""
    return augment.view if isinstance(augment, Policy | Chain) else augment
