"""Log ranges while a network trains: in a loop of your own, Lightning, skorch or TensorBoard.

`RangeLog` measures how far a network holds under a few transforms, on held-out samples, and writes
the strengths to any place that takes names and numbers. Ranges that a `RangeTuner` learns are
logged by `log_tuned`.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Generator

from augnet.audit.load import Loaded
from augnet.audit.model_input import ModelInput
from augnet.audit.predictor import Predictor
from augnet.layers import RangeTuner
from augnet.learn.config import DEFAULTS
from augnet.learn.evaluate import Evaluator
from augnet.learn.held import find_held
from augnet.learn.inputs import prepare_data, prepare_transforms
from augnet.learn.response import FRACTIONS, measure_response
from augnet.transforms import Bernoulli, TransformSpec

Writer: TypeAlias = Callable[[Mapping[str, float], int], object]
"""A function that is called with numbers by name, and the epoch."""


class RangeLog:
    """Measure after an epoch how far a network holds: `log(network, epoch)`.

    `x` and `y` are held-out samples, as `learn` takes them. For each transform the largest strength
    is written at which the added error is within the tolerance, as `range/rotate`; a Bernoulli
    transform has 1 if it holds, else 0. `writers` are functions of numbers by name and the epoch,
    SummaryWriters of TensorBoard, or Lightning modules; without any, a line is written to stderr.

    >>> import torch
    >>> from augnet.audit.hooks import RangeLog
    >>> y = torch.arange(64) % 2
    >>> x = (2.0 * y - 1)[:, None] + 0.1 * torch.randn(64, 2, generator=torch.manual_seed(0))
    >>> rows = []
    >>> log = RangeLog(x, y, ["sign_flip"], writers=[lambda numbers, epoch: rows.append(numbers)])
    >>> log(torch.nn.Linear(2, 2), 1) == rows[0]
    True
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        transforms: str | TransformSpec | Sequence[TransformSpec] = "auto",
        *,
        writers: Sequence[Any] = (),
        tolerance: float = DEFAULTS.tolerance,
        every: int = 1,
        max_samples: int = 512,
        input: Any = "auto",
        **shared: Any,
    ) -> None:
        data = prepare_data(x, y, Generator().manual_seed(0))
        self.rows = data.held_out[:max_samples]
        self.evaluator = Evaluator(data, DEFAULTS.max_class_weight)
        self.transforms = prepare_transforms(transforms, data.x, **shared)
        self.writers = [as_writer(each) for each in writers] or [write_line]
        factor = 1.0 if data.classes else DEFAULTS.value_factor
        self.tolerance, self.every = factor * tolerance, every
        self.input = ModelInput.of(input)

    @torch.no_grad()
    def __call__(self, network: Any, epoch: int) -> dict[str, float]:
        """Measure a network and write the ranges; nothing between every `every` epochs."""
        if epoch % self.every:
            return {}
        predictor = Predictor(
            Loaded(network, type(network).__name__), self.evaluator.data, self.input
        )
        rest = self.evaluator.outputs(predictor, self.evaluator.data.x[self.rows])
        numbers = {}
        for transform in self.transforms:
            steps = (1.0,) if isinstance(transform, Bernoulli) else FRACTIONS
            response = measure_response(
                self.evaluator, predictor, transform, self.rows, rest, steps
            )
            held = find_held(response, self.evaluator, self.tolerance, DEFAULTS)
            strength = held.fraction if len(steps) == 1 else held.strengths(transform)[0]
            numbers[f"range/{transform.name}"] = strength
        for writer in self.writers:
            writer(numbers, epoch)
        return numbers


def log_tuned(tuner: RangeTuner, epoch: int, *writers: Any) -> dict[str, float]:
    """Write the strengths that a `RangeTuner` has learned so far, and what their edges cost."""
    numbers = {}
    for row in tuner.table():
        name = row.name if len(tuner.layers) == 1 else f"{row.layer}.{row.name}"
        numbers[f"range/{name}"] = float(row.strength)
        numbers[f"cost/{name}"] = float(row.cost)
    for writer in writers or (write_line,):
        as_writer(writer)(numbers, epoch)
    return numbers


def as_writer(target: Any) -> Writer:
    """Return a function that writes to a SummaryWriter, a Lightning module, or a function."""
    if hasattr(target, "add_scalar"):

        def write(numbers: Mapping[str, float], epoch: int) -> None:
            for name, value in numbers.items():
                target.add_scalar(name, value, epoch)

        return write
    if hasattr(target, "log_dict"):
        return lambda numbers, epoch: target.log_dict(dict(numbers))
    if not callable(target):
        raise TypeError(
            "a writer is a function of numbers and an epoch, a SummaryWriter or a Lightning "
            f"module; got {type(target).__name__}"
        )
    return target


def write_line(numbers: Mapping[str, float], epoch: int) -> None:
    """Write a line to stderr."""
    values = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items())
    sys.stderr.write(f"epoch {epoch}: {values}\n")


def tensorboard(folder: str) -> Any:
    """Return a SummaryWriter of TensorBoard, where it is installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise ImportError("TensorBoard is not installed: pip install tensorboard") from None
    return SummaryWriter(folder)


def lightning_callback(log: RangeLog | RangeTuner) -> Any:
    """Return a Lightning callback that logs ranges after each validation epoch.

    It takes a `RangeLog`, which measures the module, or a `RangeTuner`, whose ranges it logs.
    """
    base = _callback_class()

    class RangeCallback(base):  # type: ignore[misc, valid-type]
        """Log ranges by `pl_module.log_dict`."""

        def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
            """Measure, and log."""
            if trainer.sanity_checking:
                return
            if isinstance(log, RangeTuner):
                log_tuned(log, trainer.current_epoch, pl_module)
            else:
                pl_module.log_dict(log(pl_module, trainer.current_epoch))

    return RangeCallback()


def skorch_callback(log: RangeLog | RangeTuner) -> Any:
    """Return a skorch callback that records ranges in the history of the net after each epoch."""
    try:
        from skorch.callbacks import Callback
    except ImportError:
        raise ImportError(
            "skorch is not installed: pip install skorch, or call RangeLog yourself"
        ) from None

    class RangeCallback(Callback):  # type: ignore[misc]
        """Record ranges in `net.history`."""

        def on_epoch_end(self, net: Any, **given: Any) -> None:
            """Measure, and record."""

            def write(numbers: Mapping[str, float], epoch: int) -> None:
                for name, value in numbers.items():
                    net.history.record(name, value)

            epoch = len(net.history)
            if isinstance(log, RangeTuner):
                log_tuned(log, epoch, write)
            else:
                write(log(net.module_, epoch), epoch)

    return RangeCallback()


def _callback_class() -> Any:
    """Return the Callback of the Lightning that is loaded, or installed."""
    for name in ("pytorch_lightning", "lightning.pytorch"):
        if name in sys.modules:
            return sys.modules[name].Callback
    try:
        from pytorch_lightning import Callback
    except ImportError:
        raise ImportError(
            "Lightning is not installed: pip install pytorch-lightning, or call RangeLog yourself"
        ) from None
    return Callback
