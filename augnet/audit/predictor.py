"""Any model as a network whose outputs are checked."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from augnet.audit.load import AuditError, Loaded
from augnet.audit.model_input import ModelInput
from augnet.categories import listing
from augnet.learn.inputs import LearnData
from augnet.text import one_line

if TYPE_CHECKING:
    from augnet.data.input_spec import InputSpec


class Predictor(nn.Module):
    """Predict samples as `learn` takes them; say in one line what is wrong with the outputs.

    The outputs are scores (B, K) in the order of the classes of the data, or values.
    """

    def __init__(
        self,
        loaded: Loaded,
        data: LearnData,
        given: ModelInput,
        spec: "InputSpec | None" = None,
        classes: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.loaded, self.given, self.spec = loaded, given, spec or loaded.spec
        self.classes, self.shape = data.classes, tuple(data.y.shape[1:])
        self.columns = (
            _columns(loaded, tuple(classes) or data.class_names) if data.classes else None
        )
        self.predicted = 0
        """How many samples were predicted."""
        function = loaded.function
        self.arrays = hasattr(function, "predict_proba") or (
            not callable(function) and hasattr(function, "predict")
        )
        if not self.arrays and not callable(function):
            raise AuditError(
                f"a model is a function of a batch, or has predict_proba; got {loaded.name}"
            )

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        """Predict a batch."""
        self.predicted += len(x)
        given = self.given(x, self.spec, self.loaded.raw).clone()  # a model may change its input
        try:
            output = self._call(given)
        except (Exception, SystemExit) as error:  # whatever a model raises
            raise AuditError(
                f"{self.loaded.name} fails on a batch of shape {tuple(given.shape)}: "
                f"{type(error).__name__}: {one_line(error)}"
            ) from error
        return self._checked(output, len(x)).to(x.device)

    def _call(self, x: Tensor) -> Any:
        function: Any = self.loaded.function
        if self.arrays:
            predict = getattr(function, "predict_proba", None) if self.classes else None
            return (predict or function.predict)(x.cpu().numpy())
        if not isinstance(function, nn.Module):
            return function(x)
        own = next(function.parameters(), None)
        x = x if own is None else x.to(own.device, own.dtype)
        training = [module for module in function.modules() if module.training]
        for module in training:
            module.training = False
        try:
            return function(x)
        finally:
            for module in training:
                module.training = True

    def _checked(self, output: Any, size: int) -> Tensor:
        name = self.loaded.name
        try:
            array = output if isinstance(output, Tensor) else torch.as_tensor(np.asarray(output))
        except (TypeError, ValueError):
            raise AuditError(f"{name} gives {type(output).__name__}, not a tensor") from None
        array = array.detach()
        if array.is_complex():
            raise AuditError(f"{name} gives complex numbers; expected scores or values")
        if self.classes and not array.is_floating_point() and array.shape == (size,):
            array = self._one_hot(array.long())
        expected = (size, self._width) if self.classes else (size, *self.shape)
        if not self.classes and array.numel() == size and len(expected) == 1:
            array = array.reshape(size)
        if tuple(array.shape) != expected:
            hint = " (a score per class; if it knows more classes, name its outputs)"
            hint = hint if self.classes else ""
            raise AuditError(
                f"{name} gives shape {tuple(array.shape)} for {size} samples; expected "
                f"{expected}{hint}"
            )
        array = array.float()
        bad = ~array.isfinite().reshape(size, -1).all(1)
        if bool(bad.any()):
            raise AuditError(
                f"{name} gives NaN or infinite values for {int(bad.sum())} of {size} samples: is "
                "its input scaled as it expects (input=)?"
            )
        return array if self.columns is None else array[:, self.columns]

    def _one_hot(self, predicted: Tensor) -> Tensor:
        """Return predicted classes as scores."""
        low, high = int(predicted.min()), int(predicted.max())
        if low < 0 or high >= self._width:
            raise AuditError(
                f"{self.loaded.name} predicts classes from {low} to {high}; expected numbers from "
                f"0 to {self._width - 1}"
            )
        return torch.nn.functional.one_hot(predicted, self._width)

    @property
    def _width(self) -> int:
        return self.classes if self.columns is None else len(self.columns)


def _columns(loaded: Loaded, names: tuple[str, ...]) -> Tensor | None:
    """Return the outputs of a model in the order of the classes of the data, others last."""
    if not loaded.classes or not names:
        return None
    if len(set(loaded.classes)) < len(loaded.classes):
        raise AuditError(
            f"two outputs of {loaded.name} have the same name: {listing(loaded.classes)}"
        )
    missing = [name for name in names if name not in loaded.classes]
    if missing:
        raise AuditError(
            f"{loaded.name} does not know {listing(missing)}: its classes are "
            f"{listing(loaded.classes)}"
        )
    order = [loaded.classes.index(name) for name in names]
    rest = [number for number in range(len(loaded.classes)) if number not in order]
    return torch.tensor(order + rest)
