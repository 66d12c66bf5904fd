"""Faster AutoAugment (Hataya et al. 2020): views that a critic cannot tell from samples."""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from augnet.layers import Policy
from augnet.paper.config import ConfigError
from augnet.paper.search.space import RelaxedPolicy
from augnet.paper.search.task import Task
from augnet.transforms import spread
from augnet.transforms.noise import uniform

CLASSES, SLOPE = 0.1, 10.0  # weights of the classes' loss and of the gradient penalty


class Critic(nn.Module):
    """A trunk with a second head: one number that says how real a sample looks.

    The second head sees what the trunk's last linear layer sees.
    """

    def __init__(self, trunk: nn.Module, hidden: int = 64) -> None:
        super().__init__()
        linear = [part for part in trunk.modules() if isinstance(part, nn.Linear)]
        if not linear:
            raise ValueError("a critic needs a trunk that ends with a linear layer")
        self.trunk = trunk
        self.head = nn.Sequential(
            nn.Linear(linear[-1].in_features, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )
        self._features: list[Tensor] = []
        linear[-1].register_forward_pre_hook(self._look)

    def _look(self, module: nn.Module, inputs: Any) -> None:
        self._features.append(inputs[0])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Give scores of the classes, and how real each sample looks."""
        scores = self.trunk(x)
        return scores, self.head(self._features.pop()).squeeze(1)


def faster_autoaugment(
    task: Task, *, epochs: int = 20, pause: int = 2, lr: float = 1e-3, policy_lr: float = 1e-2
) -> Iterator[Policy]:
    """Learn a policy against a critic, which learns to tell views from samples (WGAN-GP).

    Half of each batch is augmented, half is not. Gives the policy after every few epochs.
    """
    if min(task.training.batch_size, len(task.splits.train.y)) < 2:
        raise ConfigError(
            "faster-autoaugment compares two halves of each batch: train.batch_size takes a whole "
            f"number from 2, and there must be 2 samples; got {task.training.batch_size} and "
            f"{len(task.splits.train.y)}"
        )
    return _learned(task, epochs, pause, lr, policy_lr)


def _learned(task: Task, epochs: int, pause: int, lr: float, policy_lr: float) -> Iterator[Policy]:
    start, order = (Generator().manual_seed(task.seed + n) for n in range(2))
    dice = task.dice(2)
    with torch.random.fork_rng():
        torch.manual_seed(task.seed)
        critic = Critic(task.trunk()).to(task.device)
        policy = RelaxedPolicy(task.transforms, generator=start).to(task.device)
        critics = torch.optim.Adam(critic.parameters(), lr, betas=(0.0, 0.999))
        policies = torch.optim.Adam(policy.parameters(), policy_lr, betas=(0.0, 0.999))
        for epoch in range(epochs):
            for turn, (x, y) in enumerate(task.batches(task.splits.train, order)):
                half = len(y) // 2
                views = policy(x[:half], dice, turn)
                _step(critics, _critic_loss(critic, views.detach(), x[half:], y[half:], dice))
                scores, real = critic(views)
                _step(policies, CLASSES * F.cross_entropy(scores, y[:half]) - real.mean())
                task.passes += 5 * half  # real, views, twice for the slope; and the policy's own
            if (epoch + 1) % pause == 0 or epoch + 1 == epochs:
                yield policy.harden()


def _critic_loss(
    critic: Critic, views: Tensor, real: Tensor, labels: Tensor, dice: Generator
) -> Tensor:
    """Tell real from views, with slopes of norm 1 in between, taken over the whole sample."""
    scores, of_real = critic(real)
    _, of_views = critic(views)
    count = min(len(views), len(real))
    where = spread(uniform(real, (count,), dice), real)
    between = torch.lerp(views[:count], real[:count], where).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between)[1].sum(), between, create_graph=True)
    steep = (slope.flatten(1).norm(dim=1) - 1).square().mean()
    known = CLASSES * F.cross_entropy(scores, labels)
    return known - of_real.mean() + of_views.mean() + SLOPE * steep


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    """Step down a loss; gradients that fall on others are dropped."""
    optimizer.zero_grad()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for parameter, gradient in zip(
        parameters, torch.autograd.grad(loss, parameters, allow_unused=True), strict=True
    ):
        parameter.grad = gradient
    optimizer.step()
