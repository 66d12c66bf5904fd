"""Run training steps over epochs, with progress, history and state."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch.optim import Optimizer

Row: TypeAlias = dict[str, Any]

TIMED_STEPS = 10
"""After how many steps the planned steps are fitted into the given seconds, each time."""


class NonFiniteError(ValueError):
    """Training cannot go on: a loss, a weight or an output is NaN or infinite."""


class Loop:
    """Run `step(batch)` on the batches of each epoch; keep progress and history.

    Iterate to train: each epoch yields a row with the means of what `step` returned. The loop can
    be left after any epoch and resumed, also by another loop that loads its state. Rows are kept
    in `history`; what the caller adds to a row is kept with it. Means that are NaN or infinite end
    the training with a `NonFiniteError`.

    `batches()` gives the batches of one epoch. `schedule(progress)` is called before each step.
    `weight(batch)` is the weight of a batch in the means. Training ends after `epochs` or after
    `steps`, whichever comes first. Steps that would take longer than `seconds`, from the start of
    an iteration on, are dropped.
    """

    def __init__(
        self,
        batches: Callable[[], Iterable[Any]],
        step: Callable[[Any], Mapping[str, Tensor]],
        *,
        epochs: int | None = None,
        steps: int | None = None,
        seconds: float | None = None,
        schedule: Callable[[float], None] | None = None,
        weight: Callable[[Any], float] | None = None,
    ) -> None:
        if epochs is None and steps is None:
            raise ValueError("Loop needs epochs, steps or both; got neither")
        if seconds is not None and steps is None:
            raise ValueError("Loop lowers planned steps to fit into seconds: plan steps too")
        self.batches, self.step = batches, step
        self.epochs, self.seconds = epochs, seconds
        self.schedule, self.weight = schedule, weight
        self.done = self.epoch = 0
        self.history: list[Row] = []
        self._timed, self._begun = 0, 0.0
        self.steps = steps

    @property
    def steps(self) -> int | None:
        """The steps after which training ends. What is set stays, unless there is less time."""
        return self._steps

    @steps.setter
    def steps(self, steps: int | None) -> None:
        self._steps = self._planned = steps

    @property
    def progress(self) -> float:
        """The part of the training that is done, in steps if these are planned, else in epochs."""
        if self.steps is not None:
            done, planned = self.done, self.steps
        else:
            assert self.epochs is not None
            done, planned = len(self.history), self.epochs
        return min(1.0, done / planned) if planned > 0 else 1.0

    @property
    def finished(self) -> bool:
        """Whether all planned steps or all planned epochs are done."""
        no_steps = self.steps is not None and self.done >= self.steps
        return no_steps or (self.epochs is not None and len(self.history) >= self.epochs)

    def extend(self, steps: int) -> None:
        """Plan more steps after those that are done."""
        self.steps = self.done + steps

    def __iter__(self) -> Iterator[Row]:
        """Train to the end; yield one row per epoch."""
        self._timed, self._begun = 0, time.monotonic()
        while not self.finished:
            self.epoch = len(self.history) + 1
            row: Row = {"epoch": self.epoch, **self._run_epoch()}
            self.history.append(row)
            yield row

    def _run_epoch(self) -> dict[str, float]:
        means, before = _Means(), self.done
        for batch in self.batches():
            if self.schedule is not None:
                self.schedule(self.progress)
            values = self.step(batch)
            means.add(values, 1.0 if self.weight is None else self.weight(batch))
            self.done += 1
            self._keep_to_time(values)
            if self.finished:
                break
        if self.done == before:
            raise ValueError(
                f"epoch {self.epoch} has no batches: give more samples, or smaller batches"
            )
        computed = means.compute()
        for key, mean in computed.items():
            if not math.isfinite(mean):
                raise NonFiniteError(
                    f"{key} is {mean} in epoch {self.epoch}: lower the learning rate, or bring the "
                    "input to a usual scale, such as a standard deviation of 1"
                )
        return computed

    def _keep_to_time(self, values: Mapping[str, Tensor]) -> None:
        """Plan as many steps as fit into the given seconds, again and again.

        A machine with other load may become slower or faster at any time.
        """
        if self.seconds is None or self._steps is None or self._planned is None:
            return
        self._timed += 1
        if self._timed % TIMED_STEPS == 0:
            _synchronize(values)
        passed = time.monotonic() - self._begun
        left = self.seconds - passed
        if left <= 0:
            self._steps = min(self._steps, self.done)
        elif self._timed % TIMED_STEPS == 0:
            mean = max(passed / self._timed, 1e-9)
            self._steps = min(self._planned, self.done + int(left / mean))

    def state_dict(self) -> dict[str, Any]:
        """Return all that changes, as plain values."""
        return {
            "done": self.done,
            "epoch": self.epoch,
            "steps": self._steps,
            "planned": self._planned,
            "history": [dict(row) for row in self.history],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where a loop with the same arguments was left."""
        self.done, self.epoch = state["done"], state["epoch"]
        self._steps, self._planned = state["steps"], state["planned"]
        self.history = [dict(row) for row in state["history"]]


class _Means:
    """Compute weighted means of scalars, and read them off the device once."""

    def __init__(self) -> None:
        self.totals: dict[str, Tensor] = {}
        self.weights: dict[str, float] = {}

    def add(self, values: Mapping[str, Tensor], weight: float) -> None:
        for key, value in values.items():
            if value.numel() != 1:
                raise ValueError(
                    f"step returned {key!r} of shape {tuple(value.shape)}, not a scalar: reduce it"
                )
            value = value.detach().reshape(())
            # Low precision loses small steps of a long sum; MPS has no float64.
            value = value.float() if value.device.type == "mps" else value.double()
            self.totals[key] = self.totals.get(key, 0.0) + weight * value
            self.weights[key] = self.weights.get(key, 0.0) + weight

    def compute(self) -> dict[str, float]:
        if not self.totals:
            return {}
        totals = torch.stack(list(self.totals.values())).tolist()
        return {
            key: total / self.weights[key] for key, total in zip(self.totals, totals, strict=True)
        }


def _synchronize(values: Mapping[str, Tensor]) -> None:
    """Wait for CUDA, which runs steps long after they were called."""
    for device in {value.device for value in values.values() if value.is_cuda}:
        torch.cuda.synchronize(device)


def descend(
    optimizer: Optimizer,
    loss: Tensor,
    *others: Optimizer,
    backward: Callable[[Tensor], Any] | None = None,
) -> None:
    """Take one step down a loss, with one optimizer or several; `backward` may be Fabric's."""
    optimizers = (optimizer, *others)
    for each in optimizers:
        each.zero_grad()
    if backward is None:
        loss.backward()
    else:
        backward(loss)
    for each in optimizers:
        each.step()


def update(optimizer: Optimizer, gradients: Iterable[Tensor | None]) -> None:
    """Give the optimizer's parameters these gradients, in order, and take one step.

    A parameter without a gradient (None) is left as it is.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    gradients = list(gradients)
    if len(gradients) != len(parameters):
        raise ValueError(
            f"got {len(gradients)} gradients for {len(parameters)} parameters of the optimizer: "
            "give one per parameter, None where there is none"
        )
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = gradient
    optimizer.step()


def one_cycle(optimizer: Optimizer, peak: float, progress: float) -> None:
    """Set learning rates: warm up over a tenth, then follow half a cosine down to almost zero."""
    warm = min(1.0, progress / 0.1 + 0.05)
    cool = 0.5 * (1 + math.cos(math.pi * max(0.0, progress - 0.1) / 0.9))
    for group in optimizer.param_groups:
        group["lr"] = peak * warm * max(cool, 1e-3)
