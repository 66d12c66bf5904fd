"""Define what is searched: policies of five sub-policies of two steps.

Each step has a transform, a probability and a magnitude. The transforms are those of AugNet, and
every search returns an `augnet.layers.Policy`. `RelaxedPolicy` is the form that has gradients.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import Policy, Step
from augnet.transforms import Transform, build_transforms, spread
from augnet.transforms.base import full_precision
from augnet.transforms.noise import uniform
from augnet.transforms.relax import bernoulli

SUBPOLICIES, STEPS = 5, 2
TEMPERATURE = 0.05  # of the choice between transforms (Hataya et al. 2020)


def as_table(policy: Policy) -> list[list[dict[str, Any]]]:
    """Return a policy as plain values, one list of steps per sub-policy."""
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
    """A policy with gradients: every step is a mixture of all transforms (Hataya et al. 2020).

    The mixture is weighted by softmax(logits / 0.05). Each transform is applied with its own
    probability, by a relaxed Bernoulli variable, at its own magnitude. Sub-policies are applied to
    equal parts of the batch, whose order is random. `harden` returns the plain policy.
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

        def near(value: float, width: float) -> nn.Parameter:
            return nn.Parameter(value + width * (torch.rand(shape, generator=generator) - 0.5))

        # Different from the start: equal sub-policies would stay equal.
        self.logits = near(0.0, 0.02)
        self.probabilities = near(0.5, 0.2)
        self.magnitudes = near(0.5, 0.2)

    @property
    def weights(self) -> Tensor:
        """The weight of each transform in each step."""
        return torch.softmax(self.logits / TEMPERATURE, dim=-1)

    @torch.no_grad()
    def project(self) -> None:
        """Move probabilities and magnitudes back into [0, 1]; call it after each step.

        Their gradients are the true ones, also at the ends. A gradient that is cut off there would
        be wrong for bilevel searches, which move a policy by differences of gradients.
        """
        self.probabilities.clamp_(0, 1)
        self.magnitudes.clamp_(0, 1)

    def forward(self, x: Tensor, generator: Generator | None = None, first: int = 0) -> Tensor:
        """Return a view of each sample; the batch starts with the sub-policy of number `first`.

        With another `first` in each call, small batches use all sub-policies.
        """
        count = len(self.logits)
        with full_precision(x):
            views = [
                self._apply_subpolicy((number + first) % count, part, generator)
                for number, part in enumerate(x.tensor_split(count))
                if len(part)
            ]
        return torch.cat(views)

    def _apply_subpolicy(self, number: int, x: Tensor, generator: Generator | None) -> Tensor:
        tables = (self.weights, self.probabilities, self.magnitudes)
        for weights, probabilities, magnitudes in zip(
            *(table[number] for table in tables), strict=True
        ):
            mixture = torch.zeros_like(x)
            for transform, weight, probability, magnitude in zip(
                self.transforms, weights, probabilities, magnitudes, strict=True
            ):
                applied = bernoulli(uniform(x, x.shape[:1], generator), probability.expand(len(x)))
                params = transform.sample_params(x.shape, x, generator)
                view = x.lerp(transform.apply(x, magnitude, params), spread(applied, x))
                mixture = mixture + weight * view
            x = mixture
        return x

    @torch.no_grad()
    def harden(self) -> Policy:
        """Return the policy of the heaviest transform in every step."""
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


def search_space(
    specs: Sequence[Any], sfreq: float | None, channels: Sequence[str]
) -> list[Transform]:
    """Build the transforms that are searched, each once; some need `sfreq` or `channels`."""
    shared = {"sfreq": sfreq, "channels": tuple(channels) or None}
    given = {key: value for key, value in shared.items() if value is not None}
    return list(dict.fromkeys(build_transforms(specs, **given)))
