"""RELAX (Grathwohl et al. 2018): estimate the gradient of an expected loss in what was drawn.

What is drawn is a pair of transforms, and for each of the two whether it is applied. The estimate
has no bias, and a surrogate that is trained along lowers its variance.
"""

from collections.abc import Sequence
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet.layers import Policy, Step
from augnet.paper.search.space import STEPS, SUBPOLICIES
from augnet.transforms import Transform
from augnet.transforms.noise import uniform

TEMPERATURE = 0.5  # of the relaxed draws


class Pairs(nn.Module):
    """All pairs of transforms: how likely each is drawn, and how often and strongly it acts.

    `logits` are of the pairs, `gates` are the logits of applying each transform of a pair.
    """

    def __init__(self, transforms: list[Transform]) -> None:
        super().__init__()
        self.transforms = transforms
        several = len(transforms) > 1
        self.pairs = list(combinations(range(len(transforms)), STEPS)) if several else [(0, 0)]
        self.logits = nn.Parameter(torch.zeros(len(self.pairs)))
        self.gates = nn.Parameter(torch.zeros(len(self.pairs), STEPS))
        self.magnitudes = nn.Parameter(torch.full((len(self.pairs), STEPS), 0.5))

    def view(self, x: Tensor, pair: int, applied: list[bool], generator: Generator) -> Tensor:
        """Transform a batch by those transforms of a pair that are applied."""
        for number, magnitude, is_applied in zip(
            self.pairs[pair], self.magnitudes[pair], applied, strict=True
        ):
            if is_applied:
                transform = self.transforms[number]
                params = transform.sample_params(x.shape, x, generator)
                x = transform.apply(x, magnitude, params)
        return x

    @torch.no_grad()
    def project(self) -> None:
        """Move magnitudes back into [0, 1]; call it after each step."""
        self.magnitudes.clamp_(0, 1)

    @torch.no_grad()
    def harden(self, count: int = SUBPOLICIES) -> Policy:
        """Return the policy of the most likely pairs."""
        chosen = self.logits.topk(min(count, len(self.pairs))).indices.tolist()
        probabilities = torch.sigmoid(self.gates).tolist()
        magnitudes = self.magnitudes.tolist()
        return Policy([
            [
                Step(self.transforms[number], probabilities[pair][k], magnitudes[pair][k])
                for k, number in enumerate(self.pairs[pair])
            ]
            for pair in chosen
        ])  # fmt: skip


class Draw:
    """Draw a pair and its gates, as RELAX needs them.

    `pair` and `applied` are what was drawn; `relaxed` is the relaxed draw that they come from, and
    `conditional` another relaxed draw, given that it leads to the same pair and gates.
    """

    def __init__(self, policy: Pairs, generator: Generator) -> None:
        logits, gates = policy.logits, policy.gates
        noise = _inside(uniform(logits, logits.shape, generator))
        relaxed = logits - (-noise.log()).log()
        index = relaxed.argmax()
        second_noise = _inside(uniform(logits, logits.shape, generator))
        top = -(-second_noise[index].log()).log()
        others = -(-second_noise.log() / torch.softmax(logits, 0) - second_noise[index].log()).log()
        is_drawn = torch.arange(len(logits), device=logits.device) == index
        conditional = torch.where(is_drawn, top, others)

        probability = torch.sigmoid(gates)
        gate_noise = _inside(uniform(gates, gates.shape, generator))
        applied = gate_noise > 1 - probability
        second = _inside(uniform(gates, gates.shape, generator))
        given = torch.where(
            applied, 1 - probability + second * probability, second * (1 - probability)
        )
        # Only the gates of the pair are drawn with it: the others are not conditioned.
        given = torch.where(is_drawn[:, None], given, gate_noise)

        self.pair = int(index)
        self.applied = applied[self.pair].tolist()
        self.relaxed = _soften(relaxed, gates + torch.logit(gate_noise))
        self.conditional = _soften(conditional, gates + torch.logit(_inside(given)))
        gate_loss = F.binary_cross_entropy_with_logits(
            gates[self.pair], applied[self.pair].to(gates.dtype), reduction="sum"
        )
        self.log_probability = torch.log_softmax(logits, 0)[self.pair] - gate_loss


def _inside(u: Tensor) -> Tensor:
    """Keep uniform noise away from 0 and 1, where its logarithms are infinite."""
    return u.clamp(1e-6, 1 - 1e-6)


def _soften(logits: Tensor, gates: Tensor) -> Tensor:
    chosen = torch.softmax(logits / TEMPERATURE, 0)
    return torch.cat((chosen, (chosen[:, None] * torch.sigmoid(gates / TEMPERATURE)).flatten()))


def relax(
    loss: float, draw: Draw, surrogate: nn.Module, parameters: Sequence[Tensor]
) -> list[Tensor]:
    """Estimate the gradient of the expected loss, with a graph in which the surrogate can learn.

    (f(b) − c(z̃)) ∇ log p(b) + ∇ c(z) − ∇ c(z̃), where b is what was drawn, z is the relaxed draw,
    and z̃ the conditional one.
    """
    scores = torch.autograd.grad(draw.log_probability, parameters, retain_graph=True)
    guess = surrogate(draw.conditional).squeeze()
    slopes = torch.autograd.grad(
        surrogate(draw.relaxed).squeeze() - guess, parameters, create_graph=True
    )
    return [(loss - guess) * score + slope for score, slope in zip(scores, slopes, strict=True)]
