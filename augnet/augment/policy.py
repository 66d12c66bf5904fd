"""Data augmentation as it is usually done: fixed words, in training alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from augnet import checks
from augnet.transforms import Transform, spread
from augnet.transforms.base import full_precision, grouped
from augnet.transforms.noise import categorical, uniform


@dataclass(frozen=True)
class Step:
    """A word, how often it is used, and how strongly."""

    word: Transform
    probability: float = 1.0
    magnitude: float = 1.0

    def __post_init__(self) -> None:
        for name in ("probability", "magnitude"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} lies in [0, 1]; got {getattr(self, name)}")


class Policy(nn.Module):
    """Sub-policies, of which each sample follows one, drawn evenly: its steps one after the other.

    In eval a policy is the identity: what it teaches is trained in, not built in.
    """

    def __init__(self, subpolicies: Sequence[Sequence[Step]]) -> None:
        super().__init__()
        if not subpolicies or not all(subpolicies):
            raise ValueError("a policy takes at least one sub-policy of at least one step")
        self.subpolicies = tuple(tuple(steps) for steps in subpolicies)

    def forward(self, x: Tensor, generator: Generator | None = None) -> Tensor:
        """Give each sample a view of its own."""
        checks.batch(x, "Policy")
        for steps in self.subpolicies:
            for step in steps:
                step.word.check(x)
        if not self.training:
            return x
        count = len(self.subpolicies)
        choice = categorical(x.new_full((count,), 1 / count), x.shape[0], generator)
        groups, back = grouped(choice, count)
        with full_precision(x):
            views = [
                self._follow(steps, x[rows], generator)
                for steps, rows in zip(self.subpolicies, groups, strict=True)
                if len(rows)
            ]
        return torch.cat(views)[back]

    @staticmethod
    def _follow(steps: Sequence[Step], x: Tensor, generator: Generator | None) -> Tensor:
        for step in steps:
            used = uniform(x, x.shape[:1], generator) < step.probability
            x = torch.where(spread(used, x), step.word.view(x, step.magnitude, generator), x)
        return x
