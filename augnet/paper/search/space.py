"""What is searched: policies of five sub-policies of two transforms with probability and magnitude.

The same transforms as AugNet's. A policy is `augment.Policy`, whoever found it; here are the ways to
draw one, to write one down, and the relaxed one that has gradients.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import Policy, Step
from augnet.transforms import Transform, build_transforms, spread
from augnet.transforms.base import full_precision
from augnet.transforms.noise import uniform
from augnet.transforms.relax import bernoulli, unit_interval

SUBPOLICIES, STEPS = 5, 2
SHARP = 0.05  # temperature of the choice between transforms (Hataya et al. 2020)


def as_table(policy: Policy) -> list[list[dict[str, Any]]]:
    """Write a policy down: transforms by name, probabilities, magnitudes and strengths in transforms."""
    return [
        [
            {
                "transform": step.transform.name,
                "probability": round(step.probability, 4),
                "magnitude": round(step.magnitude, 4),
                "strength": step.transform.describe(step.magnitude),
            }
            for step in steps
        ]
        for steps in policy.subpolicies
    ]


class RelaxedPolicy(nn.Module):
    """A policy with gradients: in every step, a mixture of all transforms (Hataya et al. 2020).

    Step k of sub-policy s makes of x the sum over transforms of softmax(logits / 0.05), each transform used
    by a coin of its own probability, at its own magnitude. Samples follow the sub-policies in equal
    parts of the batch, whose order is random anyway. `harden` gives the plain policy.
    """

    def __init__(
        self,
        transforms: Sequence[Transform],
        subpolicies: int = SUBPOLICIES,
        steps: int = STEPS,
        generator: Generator | None = None,
    ) -> None:
        super().__init__()
        self.transforms = tuple(transforms)
        shape = (subpolicies, steps, len(self.transforms))

        def around(value: float, width: float) -> nn.Parameter:
            return nn.Parameter(value + width * (torch.rand(shape, generator=generator) - 0.5))

        # Not quite alike: sub-policies that begin as one would stay one.
        self.logits = around(0.0, 0.02)
        self.raw_probabilities = around(0.5, 0.2)
        self.raw_magnitudes = around(0.5, 0.2)

    @property
    def weights(self) -> Tensor:
        """The weight of each transform in each step."""
        return torch.softmax(self.logits / SHARP, dim=-1)

    @property
    def probabilities(self) -> Tensor:
        """How often each transform is used, if it is chosen."""
        return unit_interval(self.raw_probabilities)

    @property
    def magnitudes(self) -> Tensor:
        """How strongly."""
        return unit_interval(self.raw_magnitudes)

    def forward(self, x: Tensor, generator: Generator | None = None, turn: int = 0) -> Tensor:
        """Give each sample a view of its own; small batches see other sub-policies every `turn`."""
        count = len(self.logits)
        with full_precision(x):
            views = [
                self._follow((number + turn) % count, part, generator)
                for number, part in enumerate(x.tensor_split(count))
                if len(part)
            ]
        return torch.cat(views)

    def _follow(self, number: int, x: Tensor, generator: Generator | None) -> Tensor:
        settings = (self.weights, self.probabilities, self.magnitudes)
        for weights, probabilities, magnitudes in zip(
            *(each[number] for each in settings), strict=True
        ):
            mixture = torch.zeros_like(x)
            for transform, weight, probability, magnitude in zip(
                self.transforms, weights, probabilities, magnitudes, strict=True
            ):
                used = bernoulli(uniform(x, x.shape[:1], generator), probability.expand(len(x)))
                params = transform.sample_params(x.shape, x, generator)
                view = x.lerp(transform.apply(x, magnitude, params), spread(used, x))
                mixture = mixture + weight * view
            x = mixture
        return x

    @torch.no_grad()
    def harden(self) -> Policy:
        """Give the policy of the heaviest transform in every step."""
        chosen = self.logits.argmax(-1)
        return Policy(
            [
                [
                    Step(
                        self.transforms[transform],
                        self.probabilities[number, step, transform].item(),
                        self.magnitudes[number, step, transform].item(),
                    )
                    for step, transform in enumerate(row)
                ]
                for number, row in enumerate(chosen.tolist())
            ]
        )


def vocabulary(
    specs: Sequence[Any], sfreq: float | None, channels: Sequence[str]
) -> list[Transform]:
    """Build the transforms that are searched, each once."""
    shared = {"sfreq": sfreq, "channels": tuple(channels) or None}
    given = {key: value for key, value in shared.items() if value is not None}
    return list(dict.fromkeys(build_transforms(specs, **given)))
