"""ADDA and CADDA (Rommel et al. 2022): gradients of the validation loss in a relaxed policy.

How a choice between transforms is relaxed is not published; ours is that of Faster AutoAugment. The
sign of the update follows from the derivative: what lowers the validation loss after a step of
training is followed.
"""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Generator, Tensor

from augnet.layers import ByClass, Policy
from augnet.paper.search.space import RelaxedPolicy
from augnet.paper.search.task import Task
from augnet.paper.search.unrolled import Unrolled, assign


def adda(
    task: Task,
    *,
    epochs: int = 20,
    pause: int = 2,
    step: float = 0.1,
    policy_lr: float = 1e-2,
    by_class: bool = False,
) -> Iterator[Policy | ByClass]:
    """Pretrain a trunk; then in turns move the policy by its hypergradient, and train the trunk.

    `by_class` learns a policy for each class. Gives the policy after every few epochs.
    """
    order, start, valid_order = (Generator().manual_seed(task.seed + n) for n in range(3))
    net = task.train().net.train()
    classes = int(task.splits.train.y.max()) + 1 if by_class else 1
    with torch.random.fork_rng():
        torch.manual_seed(task.seed)
        policies = [
            RelaxedPolicy(task.transforms, generator=start).to(task.device) for _ in range(classes)
        ]
        learned = [p for policy in policies for p in policy.parameters()]
        upper = torch.optim.Adam(learned, policy_lr, betas=(0.5, 0.999))
        lower = torch.optim.Adam(
            net.trunk.parameters(), task.training.lr, betas=task.training.betas
        )
        unrolled = Unrolled(net.trunk, step)
        valid = forever(task, valid_order)
        turn = 0
        for epoch in range(epochs):
            for x, y in task.batches(task.splits.train, order):
                turn += 1
                train = partial(_loss, task, net.trunk, policies, x, y, turn)
                seen = next(valid)
                _, direction = unrolled.after(train, partial(task.loss, net.trunk, *seen))
                assign(learned, unrolled.hypergradient(train, direction, learned))
                upper.step()
                lower.zero_grad()
                train().backward()
                lower.step()
            if (epoch + 1) % pause == 0 or epoch + 1 == epochs:
                hard = [policy.harden() for policy in policies]
                yield ByClass(hard) if by_class else hard[0]


cadda = partial(adda, by_class=True)


def forever(task: Task, order: Generator) -> Iterator[tuple[Tensor, Tensor]]:
    """Go through the validation set again and again."""
    while True:
        yield from task.batches(task.splits.valid, order)


def _loss(
    task: Task,
    trunk: torch.nn.Module,
    policies: list[RelaxedPolicy],
    x: Tensor,
    y: Tensor,
    turn: int,
) -> Tensor:
    """Give the loss of views, by the same dice in the same turn: dropout's among them."""
    dice = Generator(device=x.device).manual_seed(turn)
    torch.manual_seed(turn)
    if len(policies) == 1:
        return task.loss(trunk, policies[0](x, dice, turn), y)
    return task.loss(trunk, ByClass(policies).labeled(x, y, dice), y)
