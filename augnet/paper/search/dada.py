"""DADA (Li et al. 2020): draw sub-policies, and learn by RELAX which to draw more often.

All pairs of transforms are candidates. Each step draws one, and for each of its transforms whether
it is applied. The draw is judged by the validation loss after an unrolled step of training with
it, minus the loss without that step; RELAX estimates the gradient in the draw. The authors take
finite differences of the estimator; estimating from the unrolled loss itself is a choice of this
package. Magnitudes have gradients through the transforms; the authors set these gradients to 1.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from augnet.layers import Policy
from augnet.paper.datasets import Samples
from augnet.paper.search.gradient import EndlessBatches, GradientSearch
from augnet.paper.search.relax import Draw, Pairs, relax
from augnet.paper.search.space import STEPS
from augnet.paper.search.task import FORWARD, Task
from augnet.paper.search.unrolled import Loss, Unrolled
from augnet.training import descend, update


class DADA(GradientSearch):
    """Learn how likely each pair of transforms is drawn, while a trunk is trained with draws."""

    def __init__(
        self,
        task: Task,
        *,
        epochs: int = 20,
        pause: int = 2,
        step: float = 0.1,
        policy_lr: float = 2e-2,
        surrogate_lr: float = 1e-2,
    ) -> None:
        super().__init__(task, epochs, pause)
        self.trunk = task.net().trunk.train()
        self.pairs = Pairs(task.transforms).to(task.device)
        with self.random_state:
            inputs = (1 + STEPS) * len(self.pairs.pairs)
            layers = (nn.Linear(inputs, 100), nn.Tanh(), nn.Linear(100, 1))
            self.surrogate = nn.Sequential(*layers).to(task.device)
        self.policy_optimizer = torch.optim.Adam(
            self.pairs.parameters(), policy_lr, betas=(0.5, 0.999)
        )
        self.surrogate_optimizer = torch.optim.Adam(self.surrogate.parameters(), surrogate_lr)
        self.trunk_optimizer = task.optimizer(self.trunk)
        self.unrolled = Unrolled(self.trunk, step)
        valid_order, self.generator = Generator().manual_seed(task.seed + 1), task.generator(2)
        self.valid = EndlessBatches(task, task.splits.valid, valid_order)
        self.gain_scale = 1.0
        self.generators["draws"] = self.generator
        self.parts |= {
            "trunk": self.trunk,
            "pairs": self.pairs,
            "surrogate": self.surrogate,
            "optimizer": self.trunk_optimizer,
            "policy_optimizer": self.policy_optimizer,
            "surrogate_optimizer": self.surrogate_optimizer,
            "valid": self.valid,
        }

    def step(self, batch: Samples) -> Mapping[str, Tensor]:
        """Train surrogate and policy by a draw, then the trunk with the same draw."""
        views, dropout = self.step_seeds
        draw = Draw(self.pairs, self.generator)
        train = partial(self._train_loss, batch, draw, views, dropout)
        others = next(self.valid)
        valid = partial(self._loss, *others, dropout)
        valid_loss, direction = self.unrolled.after(train, valid)
        gain = self._relative_gain(valid_loss, valid, len(others.y))
        gradients = relax(gain, draw, self.surrogate, [self.pairs.logits, self.pairs.gates])
        self._train_surrogate(gradients)
        magnitudes = self.pairs.magnitudes
        (slope,) = (
            self.unrolled.hypergradient(train, direction, [magnitudes])
            if any(draw.applied)
            else [torch.zeros_like(magnitudes)]
        )
        update(self.policy_optimizer, [g.detach() for g in (*gradients, slope)])
        self.pairs.project()
        loss = train()
        descend(self.trunk_optimizer, loss)
        return {"train_loss": loss, "valid_loss": torch.tensor(valid_loss)}

    def _relative_gain(self, loss: float, valid: Loss, samples: int) -> float:
        """Return how much the step raises the validation loss, in units of its running mean."""
        with torch.no_grad():
            gain = loss - valid().item()
        self.task.passes -= (1 - FORWARD) * samples
        first = self.loop.done == 0
        self.gain_scale = abs(gain) or 1.0 if first else 0.9 * self.gain_scale + 0.1 * abs(gain)
        return gain / max(self.gain_scale, 1e-12)

    def _train_surrogate(self, gradients: list[Tensor]) -> None:
        """Lower the variance of the estimated gradients."""
        variance = torch.stack([g.square().sum() for g in gradients]).sum()
        parameters = list(self.surrogate.parameters())
        slopes = torch.autograd.grad(variance, parameters, retain_graph=True)
        update(self.surrogate_optimizer, slopes)

    def policy(self) -> Policy:
        """Return the policy of the most likely pairs."""
        return self.pairs.harden()

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes, as tensors and plain values."""
        return super().state_dict() | {"gain_scale": self.gain_scale}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where a search with the same arguments was left."""
        super().load_state_dict(state)
        self.gain_scale = state["gain_scale"]

    def _train_loss(self, batch: Samples, draw: Draw, seed: int, dropout: int) -> Tensor:
        """Compute the loss of views by a draw, the same for the same seeds."""
        x, y = batch
        generator = Generator(device=x.device).manual_seed(seed)
        return self._loss(self.pairs.view(x, draw.pair, draw.applied, generator), y, dropout)

    def _loss(self, x: Tensor, y: Tensor, seed: int) -> Tensor:
        torch.manual_seed(seed)  # for dropout
        return self.task.loss(self.trunk, x, y)
