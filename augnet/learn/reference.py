"""The reference: a network trained without transforms, and stopped before it memorizes."""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Generator, Tensor, nn

from augnet.learn.config import LearnConfig
from augnet.learn.evaluate import Evaluator
from augnet.learn.inputs import LearnData
from augnet.training import Loop, Row, WeightAverage, adamw, descend


@dataclass(frozen=True)
class Control:
    """A network that was trained on without any transform, on the held-out samples."""

    errors: Tensor
    """Its errors."""
    changed: float = 0.0
    """The fraction of samples for which it predicts another class than the reference."""
    distances: Tensor | None = None
    """How far predictions are from the truth without any transform: those of the reference, or of
    networks that were trained on with and without noise, whichever are closest."""


class Reference:
    """Train a network on the fitted samples; keep its best state on the held-out samples.

    What the best state predicts for the fitted samples are the targets of all branches: values, or
    the probabilities of classes. If labels are wrong, a network learns the rule first and wrong
    labels later, so that its best state corrects most of them. And a branch without a transform
    has nothing to learn, so that what it loses is lost by the transform.
    """

    def __init__(
        self, data: LearnData, trunk: nn.Module, generator: Generator, config: LearnConfig
    ) -> None:
        self.data, self.trunk, self.generator, self.config = data, trunk, generator, config
        self.evaluator = Evaluator(data, config.max_class_weight, config.max_held_out)
        self.average = WeightAverage(trunk, config.reference_average)
        self.best, self.best_step = copy.deepcopy(trunk), 0
        self.best_loss = self.best_distance = float("inf")
        self.optimizer = adamw(trunk.parameters(), config.lr, config.weight_decay)
        self.held_out = self.evaluator.rows
        self.per_epoch = max(1, len(data.fitted) // config.batch_size)
        steps = max(config.reference_steps, config.reference_epochs * self.per_epoch)
        if config.epochs is not None:
            steps = config.epochs * self.per_epoch
        self.planned = steps
        self.every = max(1, steps // config.evaluations)
        self.loop = Loop(self._batches, self._step, steps=steps, schedule=self._schedule)
        self.cut = False
        """Whether the time was over before the network was trained."""

    def fit(self, seconds: float | None = None) -> Iterator[Row]:
        """Train from the current state; yield one row per epoch."""
        self.trunk.train()
        self.loop.seconds = seconds
        yield from self.loop
        done = self.loop.done
        if done % self.every:  # the time was over between two evaluations
            self._keep_best(done)
        self.cut = done < min(self.planned, self.config.min_steps) and not self._is_trained(done)
        self._finish()

    def _finish(self) -> None:
        """Measure the best state."""
        evaluator, fitted = self.evaluator, self.data.fitted
        self.network = self.best.eval().requires_grad_(False)
        output = evaluator.outputs(self.network, self.data.x[fitted])
        if self.data.classes:
            output = output.softmax(1)
        self.targets = output.new_zeros(len(self.data.y), *output.shape[1:])
        self.targets[fitted] = output
        output = evaluator.outputs(self.network, self.data.x[self.held_out])
        self.errors = evaluator.errors(output, self.held_out)
        self.distances = evaluator.distances(output, self.held_out)
        self.error = evaluator.mean(self.errors, self.held_out).item()
        self.score = evaluator.score(output, self.held_out)
        self.predicted = output.argmax(1) if self.data.classes else output
        self.control = Control(self.errors)
        """What a control says, once one is trained."""

    @property
    def usual_distances(self) -> Tensor:
        """The squared distances from the truth without a transform: the control's, if it errs.

        Otherwise a control is only there if another transform needs one.
        """
        found = self.control.distances if self.errs else None
        return self.distances if found is None else found

    @property
    def tolerance(self) -> float:
        """The error that a transform may add."""
        return max(self.stable_tolerance, self.config.unstable_tolerance * self.instability)

    @property
    def stable_tolerance(self) -> float:
        """The tolerance if no prediction changes by training alone."""
        return max(self.least_tolerance, self.config.relative_tolerance * self.error)

    @property
    def errs(self) -> bool:
        """Whether it makes more than a few errors, so that predictions may be unstable."""
        return self.error > 2 * self.least_tolerance

    @property
    def instability(self) -> float:
        """The fraction of held-out predictions that change if training just goes on.

        Noisy inputs make predictions unstable. Wrong labels do not, as long as the network learns
        the rule: it errs, but always in the same way.
        """
        return self.control.changed if self.errs else 0.0

    @property
    def least_tolerance(self) -> float:
        """The tolerance of a network that makes no errors."""
        factor = 1.0 if self.data.classes else self.config.value_factor
        return factor * self.config.tolerance

    @property
    def doubt(self) -> str:
        """Why no transform can be measured with this network, or nothing."""
        if self.cut:
            return "no time was left to train a network"
        better = self.evaluator.chance - self.error
        noise = self.evaluator.deviation(self.errors, self.held_out)
        if better < self.config.min_deviations * noise or better < self.config.min_better:
            return "the network is not better than chance"
        if better < self.config.min_tolerances * self.stable_tolerance:
            return "the network is hardly better than chance"
        return ""

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes in training, except the trunk and the generator."""
        return {
            "average": self.average.network.state_dict(),
            "updates": self.average.updates,
            "best": self.best.state_dict(),
            "best_loss": self.best_loss,
            "best_distance": self.best_distance,
            "best_step": self.best_step,
            "optimizer": self.optimizer.state_dict(),
            "loop": self.loop.state_dict(),
            "cut": self.cut,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where another reference with the same arguments was left."""
        self.average.network.load_state_dict(state["average"])
        self.average.updates = state["updates"]
        self.best.load_state_dict(state["best"])
        self.best_loss, self.best_step = state["best_loss"], state["best_step"]
        self.best_distance = state["best_distance"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.loop.load_state_dict(state["loop"])
        self.cut = state["cut"]
        if self.loop.finished:
            self._finish()

    def _batches(self) -> list[Tensor]:
        return self.data.batches(self.config.batch_size, self.generator)

    def _schedule(self, progress: float) -> None:
        warm = min(1.0, (self.loop.done + 1) / self.config.warm_up)
        for group in self.optimizer.param_groups:
            group["lr"] = warm * self.config.lr

    def _step(self, rows: Tensor) -> dict[str, Tensor]:
        output = self.trunk(self.data.x[rows])
        losses = self.evaluator.losses(output, self.data.y[rows])
        loss = self.evaluator.mean(losses, rows)
        descend(self.optimizer, loss)
        self.average.update(self.trunk)
        done = self.loop.done + 1
        if done % self.every == 0 or done == self.loop.steps:
            self._keep_best(done)
        return {"loss": loss.detach()}

    def _keep_best(self, done: int) -> None:
        network, rows, evaluator = self.average.network, self.held_out, self.evaluator
        output = evaluator.outputs(network, self.data.x[rows])
        losses = evaluator.losses(output, self.data.y[rows])
        # The loss of a network that becomes too sure rises, though it predicts better.
        distances = evaluator.distances(output, rows) if self.data.classes else losses
        distance = evaluator.mean(distances, rows).item()
        if distance < self.best_distance * (1 - self.config.min_improvement):
            self.best.load_state_dict(network.state_dict())
            self.best_loss = evaluator.mean(losses, rows).item()
            self.best_distance, self.best_step = distance, done
        if self._is_trained(done):
            self.loop.steps = done

    def _is_trained(self, done: int) -> bool:
        """Whether more steps would improve nothing."""
        waited = done - self.best_step >= self.config.patience * self.planned
        return waited or self.best_loss < self.config.perfect_loss
