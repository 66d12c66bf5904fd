"""Faster AutoAugment (Hataya et al. 2020): learn views that a critic cannot tell from samples."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import Policy
from augnet.paper.config import ConfigError
from augnet.paper.datasets import Samples
from augnet.paper.search.gradient import GradientSearch
from augnet.paper.search.space import RelaxedPolicy
from augnet.paper.search.task import Task
from augnet.training import update
from augnet.transforms import spread
from augnet.transforms.noise import uniform

CLASS_WEIGHT, SLOPE_WEIGHT = 0.1, 10.0  # of the loss of the classes, of the gradient penalty


class Critic(nn.Module):
    """A trunk with a second head that says how real a sample looks.

    The second head has the same input as the last linear layer of the trunk.
    """

    def __init__(self, trunk: nn.Module, hidden: int = 64) -> None:
        super().__init__()
        linear = [part for part in trunk.modules() if isinstance(part, nn.Linear)]
        if not linear:
            raise ValueError(
                "Faster AutoAugment needs a trunk with a linear layer; "
                f"{type(trunk).__name__} has none"
            )
        self.trunk = trunk
        self.head = nn.Sequential(
            nn.Linear(linear[-1].in_features, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self._features: list[Tensor] = []
        linear[-1].register_forward_pre_hook(self._keep_features)

    def _keep_features(self, module: nn.Module, inputs: Any) -> None:
        self._features.append(inputs[0])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of the classes, and how real each sample looks."""
        scores = self.trunk(x)
        return scores, self.head(self._features.pop()).squeeze(1)


class FasterAutoAugment(GradientSearch):
    """Learn a policy against a critic, which learns to tell views from samples (WGAN-GP).

    Half of each batch is augmented, half is not.
    """

    def __init__(
        self,
        task: Task,
        *,
        epochs: int = 20,
        pause: int = 2,
        lr: float = 1e-3,
        policy_lr: float = 1e-2,
    ) -> None:
        train = task.splits.train
        if task.batch_size(train) < 2:
            raise ConfigError(
                "faster-autoaugment compares two halves of each batch: train.batch_size takes a "
                "whole number from 2, and there must be 2 samples; got "
                f"{task.training.batch_size} and {len(train.y)}"
            )
        super().__init__(task, epochs, pause)
        self.batches_per_epoch = len(train.y) // task.batch_size(train)
        self.order.manual_seed(task.seed + 1)
        self.generator = task.generator(2)
        with self.random_state:
            self.critic = Critic(task.trunk()).to(task.device)
            first = Generator().manual_seed(task.seed)
            self.relaxed = RelaxedPolicy(task.transforms, generator=first).to(task.device)
        betas = (0.0, 0.999)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr, betas=betas)
        self.policy_optimizer = torch.optim.Adam(self.relaxed.parameters(), policy_lr, betas=betas)
        self.generators["views"] = self.generator
        self.parts |= {
            "critic": self.critic,
            "policy": self.relaxed,
            "critic_optimizer": self.critic_optimizer,
            "policy_optimizer": self.policy_optimizer,
        }

    def step(self, batch: Samples) -> Mapping[str, Tensor]:
        """Train the critic, then the policy."""
        x, y = batch
        half = len(y) // 2
        views = self.relaxed(x[:half], self.generator, self.loop.done % self.batches_per_epoch)
        critic_loss = self._critic_loss(views.detach(), x[half:], y[half:])
        _descend_own(self.critic_optimizer, critic_loss)
        scores, realism = self.critic(views)
        policy_loss = CLASS_WEIGHT * self.task.class_loss(scores, y[:half]) - realism.mean()
        _descend_own(self.policy_optimizer, policy_loss)
        self.relaxed.project()
        self.task.passes += 5 * half  # samples, views, two for the slope, and the policy's
        return {"critic_loss": critic_loss, "policy_loss": policy_loss}

    def policy(self) -> Policy:
        """Return the policy of the heaviest transforms."""
        return self.relaxed.harden()

    def _critic_loss(self, views: Tensor, samples: Tensor, labels: Tensor) -> Tensor:
        """Compute the loss of telling samples from views, with slopes of norm 1 in between.

        The norm is taken over the whole sample.
        """
        scores, sample_realism = self.critic(samples)
        _, view_realism = self.critic(views)
        count = min(len(views), len(samples))
        where = spread(uniform(samples, (count,), self.generator), samples)
        between = torch.lerp(views[:count], samples[:count], where).requires_grad_()
        realism = self.critic(between)[1].sum()
        (slope,) = torch.autograd.grad(realism, between, create_graph=True)
        excess = (slope.flatten(1).norm(dim=1) - 1).square().mean()
        class_loss = CLASS_WEIGHT * self.task.class_loss(scores, labels)
        return class_loss - sample_realism.mean() + view_realism.mean() + SLOPE_WEIGHT * excess


def _descend_own(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Take a step down a loss; compute no gradients of other parameters."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    update(optimizer, torch.autograd.grad(loss, parameters, allow_unused=True))
