"""DADA (Li et al. 2020): sub-policies are drawn, and RELAX tells which ones to draw more often.

All pairs of transforms are candidates. In each step one is drawn, and for each of its transforms whether it
is used. What is drawn is judged by the validation loss after an unrolled step of training with it;
as that has no gradient in the draw, RELAX estimates one (Grathwohl et al. 2018): without bias, its
variance lowered by a surrogate that learns along. The authors take finite differences of the
estimator; that of the unrolled loss itself is ours, and what the loss would be without the step is
taken off. Magnitudes have gradients through the transforms, where the authors let 1 stand for them.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import combinations

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet.layers import Policy, Step
from augnet.paper.search.adda import forever
from augnet.paper.search.space import STEPS, SUBPOLICIES
from augnet.paper.search.task import FORWARD, Task
from augnet.paper.search.unrolled import Unrolled, assign
from augnet.transforms import Transform
from augnet.transforms.noise import uniform
from augnet.transforms.relax import unit_interval

SOFT = 0.5  # temperature of the relaxed draws


class Pairs(nn.Module):
    """All pairs of transforms: how likely each is drawn, how often and how strongly it acts."""

    def __init__(self, transforms: list[Transform]) -> None:
        super().__init__()
        self.transforms = transforms
        some = combinations(range(len(transforms)), STEPS) if len(transforms) > 1 else [(0, 0)]
        self.pairs = list(some)
        self.logits = nn.Parameter(torch.zeros(len(self.pairs)))
        self.gates = nn.Parameter(torch.zeros(len(self.pairs), STEPS))
        self.raw_magnitudes = nn.Parameter(torch.full((len(self.pairs), STEPS), 0.5))

    def view(self, x: Tensor, pair: int, used: list[bool], dice: Generator) -> Tensor:
        """Transform a batch by the transforms of a pair that are used."""
        magnitudes = unit_interval(self.raw_magnitudes)[pair]
        for transform, magnitude, acts in zip(self.pairs[pair], magnitudes, used, strict=True):
            if acts:
                act = self.transforms[transform]
                x = act.apply(x, magnitude, act.sample_params(x.shape, x, dice))
        return x

    @torch.no_grad()
    def harden(self, count: int = SUBPOLICIES) -> Policy:
        """Give the policy of the likeliest pairs."""
        chosen = self.logits.topk(min(count, len(self.pairs))).indices.tolist()
        often = torch.sigmoid(self.gates).tolist()
        magnitudes = unit_interval(self.raw_magnitudes).tolist()
        return Policy(
            [
                [
                    Step(self.transforms[transform], often[pair][k], magnitudes[pair][k])
                    for k, transform in enumerate(self.pairs[pair])
                ]
                for pair in chosen
            ]
        )


class Draw:
    """A draw of a pair and of its gates, as RELAX needs it: hard, relaxed, and that given hard."""

    def __init__(self, policy: Pairs, dice: Generator) -> None:
        logits, gates = policy.logits, policy.gates
        noise = _inside(uniform(logits, logits.shape, dice))
        relaxed = logits - (-noise.log()).log()
        index = relaxed.argmax()
        again = _inside(uniform(logits, logits.shape, dice))
        top = -(-again[index].log()).log()
        others = -(-again.log() / torch.softmax(logits, 0) - again[index].log()).log()
        given = torch.where(torch.arange(len(logits), device=logits.device) == index, top, others)

        odds = torch.sigmoid(gates)
        coin = _inside(uniform(gates, gates.shape, dice))
        tossed = coin > 1 - odds
        second = _inside(uniform(gates, gates.shape, dice))
        likely = torch.where(tossed, 1 - odds + second * odds, second * (1 - odds))
        # Only the gates of the pair are drawn with it: nothing is given of the others.
        mine = torch.arange(len(gates), device=gates.device)[:, None] == index
        likely = torch.where(mine, likely, coin)

        self.pair = int(index)
        self.used = tossed[self.pair].tolist()
        self.relaxed = _softened(relaxed, gates + torch.logit(coin))
        self.given = _softened(given, gates + torch.logit(_inside(likely)))
        hard = tossed[self.pair].to(gates.dtype)
        told = F.binary_cross_entropy_with_logits(gates[self.pair], hard, reduction="sum")
        self.log_probability = torch.log_softmax(logits, 0)[self.pair] - told


def _inside(u: Tensor) -> Tensor:
    return u.clamp(1e-6, 1 - 1e-6)


def _softened(logits: Tensor, gates: Tensor) -> Tensor:
    chosen = torch.softmax(logits / SOFT, 0)
    return torch.cat((chosen, (chosen[:, None] * torch.sigmoid(gates / SOFT)).flatten()))


def relax(
    loss: float, draw: Draw, surrogate: nn.Module, parameters: Sequence[Tensor]
) -> list[Tensor]:
    """Estimate the gradient of the expected loss, with a graph in which the surrogate can learn.

    (f(b) − c(z̃)) ∇ log p(b) + ∇ c(z) − ∇ c(z̃), where z is relaxed, and z̃ is so given b.
    """
    scores = torch.autograd.grad(draw.log_probability, parameters, retain_graph=True)
    guessed = surrogate(draw.given).squeeze()
    slopes = torch.autograd.grad(
        surrogate(draw.relaxed).squeeze() - guessed, parameters, create_graph=True
    )
    return [(loss - guessed) * score + slope for score, slope in zip(scores, slopes, strict=True)]


def dada(
    task: Task,
    *,
    epochs: int = 20,
    pause: int = 2,
    step: float = 0.1,
    policy_lr: float = 2e-2,
    surrogate_lr: float = 1e-2,
) -> Iterator[Policy]:
    """Learn how likely each pair of transforms should be drawn, while a trunk is trained with draws.

    Gives the policy of the likeliest pairs after every few epochs.
    """
    order, valid_order = (Generator().manual_seed(task.seed + n) for n in range(2))
    dice = task.dice(2)
    with torch.random.fork_rng():
        torch.manual_seed(task.seed)
        trunk = task.net().trunk.train()
        policy = Pairs(task.transforms).to(task.device)
        surrogate = nn.Sequential(
            nn.Linear((1 + STEPS) * len(policy.pairs), 100), nn.Tanh(), nn.Linear(100, 1)
        ).to(task.device)
        learned = list(policy.parameters())
        upper = torch.optim.Adam(learned, policy_lr, betas=(0.5, 0.999))
        guesses = torch.optim.Adam(surrogate.parameters(), surrogate_lr)
        lower = torch.optim.Adam(trunk.parameters(), task.training.lr, betas=task.training.betas)
        unrolled, valid = Unrolled(trunk, step), forever(task, valid_order)
        scale, turn = 1.0, 0
        for epoch in range(epochs):
            for x, y in task.batches(task.splits.train, order):
                turn += 1
                draw = Draw(policy, dice)
                train = partial(_loss, task, trunk, policy, draw, x, y, turn)
                seen = partial(_plain, task, trunk, *next(valid), turn)
                loss, direction = unrolled.after(train, seen)
                with torch.no_grad():
                    gain = loss - seen().item()
                    task.passes -= (1 - FORWARD) * len(y)
                scale = 0.9 * scale + 0.1 * abs(gain) if turn > 1 else abs(gain) or 1.0
                gradients = relax(gain / max(scale, 1e-12), draw, surrogate, learned[:2])
                variance = torch.stack([g.square().sum() for g in gradients]).sum()
                assign(list(surrogate.parameters()),
                       list(torch.autograd.grad(variance, list(surrogate.parameters()),
                                                retain_graph=True)))  # fmt: skip
                guesses.step()
                strengths = [policy.raw_magnitudes]
                slopes = (
                    unrolled.hypergradient(train, direction, strengths)
                    if any(draw.used)
                    else [torch.zeros_like(policy.raw_magnitudes)]
                )
                assign(learned, [g.detach() for g in (*gradients, *slopes)])
                upper.step()
                lower.zero_grad()
                train().backward()
                lower.step()
            if (epoch + 1) % pause == 0 or epoch + 1 == epochs:
                yield policy.harden()


def _loss(
    task: Task, trunk: nn.Module, policy: Pairs, draw: Draw, x: Tensor, y: Tensor, turn: int
) -> Tensor:
    """Give the loss of views by what was drawn, with the same dice in the same turn."""
    view = policy.view(x, draw.pair, draw.used, Generator(device=x.device).manual_seed(turn))
    return _plain(task, trunk, view, y, turn)


def _plain(task: Task, trunk: nn.Module, x: Tensor, y: Tensor, turn: int) -> Tensor:
    torch.manual_seed(turn)  # of dropout
    return task.loss(trunk, x, y)
