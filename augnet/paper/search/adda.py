"""ADDA and CADDA (Rommel et al. 2022): move a relaxed policy down the validation loss.

The paper does not say how a choice between transforms is relaxed; this is the relaxation of Faster
AutoAugment. The policy moves in the direction that lowers the validation loss after one step of
training.
"""

from collections.abc import Mapping
from functools import partial

import torch
from torch import Generator, Tensor, nn

from augnet.layers import ByClass, Policy
from augnet.paper.datasets import Samples
from augnet.paper.search.gradient import EndlessBatches, GradientSearch
from augnet.paper.search.space import RelaxedPolicy
from augnet.paper.search.task import Task
from augnet.paper.search.unrolled import Unrolled
from augnet.training import descend, update
from augnet.transforms.base import grouped


class ADDA(GradientSearch):
    """Pretrain a trunk; then alternate: move the policy by its hypergradient, train the trunk.

    `by_class` learns one policy for each class. The paper gives a policy learning rate of 5·10⁴.
    That is far too much for Adam, whose steps have about the length of the rate: `sgd=True` moves
    the policy by the plain hypergradient, which is small enough for such a rate.
    """

    def __init__(
        self,
        task: Task,
        *,
        epochs: int = 20,
        pause: int = 2,
        step: float = 0.1,
        policy_lr: float = 1e-2,
        sgd: bool = False,
        by_class: bool = False,
    ) -> None:
        super().__init__(task, epochs, pause)
        self.by_class = by_class
        first, valid_order = (Generator().manual_seed(task.seed + n) for n in (1, 2))
        classes = int(task.splits.train.y.max()) + 1 if by_class else 1
        self.trunk = task.net().trunk.train()
        self.relaxed = [
            RelaxedPolicy(task.transforms, generator=first).to(task.device) for _ in range(classes)
        ]
        self.learned = [p for policy in self.relaxed for p in policy.parameters()]
        self.policy_optimizer: torch.optim.Optimizer = (
            torch.optim.SGD(self.learned, policy_lr)
            if sgd
            else torch.optim.Adam(self.learned, policy_lr, betas=(0.5, 0.999))
        )
        self.trunk_optimizer = task.optimizer(self.trunk)
        self.unrolled = Unrolled(self.trunk, step)
        self.valid = EndlessBatches(task, task.splits.valid, valid_order)
        self.parts |= {
            "trunk": self.trunk,
            "policy": nn.ModuleList(self.relaxed),
            "optimizer": self.trunk_optimizer,
            "policy_optimizer": self.policy_optimizer,
            "valid": self.valid,
        }

    def start(self) -> None:
        """Pretrain the trunk without augmentation."""
        self.trunk.load_state_dict(self.task.train().net.trunk.state_dict())

    def step(self, batch: Samples) -> Mapping[str, Tensor]:
        """Move the policy by its hypergradient, then train the trunk on views."""
        train = partial(self._train_loss, batch, self.loop.done, *self.step_seeds)
        valid = partial(self.task.loss, self.trunk, *next(self.valid))
        valid_loss, direction = self.unrolled.after(train, valid)
        update(self.policy_optimizer, self.unrolled.hypergradient(train, direction, self.learned))
        for policy in self.relaxed:
            policy.project()
        loss = train()
        descend(self.trunk_optimizer, loss)
        return {"train_loss": loss, "valid_loss": torch.tensor(valid_loss)}

    def policy(self) -> Policy | ByClass:
        """Return the policy of the heaviest transforms, or one for each class."""
        policies = [policy.harden() for policy in self.relaxed]
        return ByClass(policies) if self.by_class else policies[0]

    def _train_loss(self, batch: Samples, first: int, seed: int, dropout: int) -> Tensor:
        """Compute the loss of views; views and dropout are the same for the same seeds.

        The first samples of a batch, or of a class in it, have the sub-policy of number `first`.
        """
        x, y = batch
        generator = Generator(device=x.device).manual_seed(seed)
        torch.manual_seed(dropout)
        choice = y if self.by_class else torch.zeros_like(y)
        groups, back = grouped(choice, len(self.relaxed))
        views = [
            policy(x[rows], generator, first)
            for policy, rows in zip(self.relaxed, groups, strict=True)
            if len(rows)
        ]
        return self.task.loss(self.trunk, torch.cat(views)[back], y)


CADDA = partial(ADDA, by_class=True)
