"""`learn` as scikit-learn estimators: pipelines, grid searches, cross-validation.

>>> import numpy as np
>>> from augnet.sklearn import AugNetClassifier
>>> y = np.arange(64) % 2
>>> x = 2.0 * y[:, None] - 1 + 0.1 * np.random.default_rng(0).normal(size=(64, 2))
>>> model = AugNetClassifier(transforms=["sign_flip"], budget=20).fit(x, y)
>>> model.score(x, y)
1.0
>>> model.invariances_[0]["status"]
'not_invariant'
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from augnet.data.input_spec import DIMENSIONS, InputSpec
from augnet.learn import learn
from augnet.learn.inputs import LEAST, Trunk
from augnet.model import Model, save
from augnet.transforms import TransformSpec

__all__ = ["AugNetClassifier", "AugNetRegressor"]

Array = NDArray[Any]


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: samples (N, D), (N, C, T) or (N, C, H, W)."""

    def __init__(
        self,
        transforms: str | Iterable[TransformSpec] = "auto",
        layers: Iterable[Iterable[TransformSpec]] | None = None,
        trunk: Trunk = None,
        budget: int | float | str | None = None,
        copies: int | None = None,
        sfreq: float | None = None,
        channels: Iterable[str] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.transforms = transforms
        self.layers = layers
        self.trunk = trunk
        self.budget = budget
        self.copies = copies
        self.sfreq = sfreq
        self.channels = channels
        self.random_state = random_state

    def _checked(self, x: Any, y: Any = "no_validation", fitting: bool = False) -> Any:
        given = {"y": y} if fitting else {}
        numeric = not isinstance(self, ClassifierMixin)
        more = {"y_numeric": numeric, "multi_output": numeric} if fitting else {}
        return validate_data(
            self, x, **given, reset=fitting, allow_nd=True, dtype=[np.float32, np.float64],
            **more,
        )  # fmt: skip

    def _fit(self, x: Array, y: torch.Tensor, classes: tuple[str, ...]) -> None:
        if x.ndim - 1 not in DIMENSIONS:
            raise ValueError(f"X is (N, D), (N, C, T) or (N, C, H, W); got shape {x.shape}")
        if len(x) < LEAST:
            raise ValueError(f"learning takes at least {LEAST} samples; got n_samples = {len(x)}")
        samples = torch.tensor(x)
        kind = DIMENSIONS[samples.dim() - 1]
        input_spec = InputSpec(
            kind=kind,
            shape=tuple(x.shape[1:]),
            sfreq=self.sfreq,
            channels=tuple(self.channels or ()),
        ).fitted(samples)
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        found = learn(
            input_spec.prepare(samples),
            y,
            self.transforms,
            layers=self.layers,
            trunk=self.trunk,
            budget=self.budget,
            seed=self.seed_,
            **input_spec.shared,
        )
        if self.copies is not None:
            found.net.copies = self.copies
        own = self.trunk is not None
        self.model_ = Model.of(
            found.net,
            input_spec.shape,
            trunk="given:trunk" if own else "small",
            classes=classes,
            input_spec=input_spec,
            invariances=found.invariances,
        )
        self.invariances_ = [
            {
                "transform": row.transform.name,
                "status": row.status,
                "strength": row.strength,
                "unit": row.unit,
                "low": row.interval[0],
                "high": row.interval[1],
            }
            for row in found.invariances
        ]
        self.history_ = found.history

    def _outputs(self, x: Any) -> torch.Tensor:
        check_is_fitted(self)
        return self.model_.outputs(torch.tensor(self._checked(x)), self.seed_)

    def save(self, path: str | Path) -> Path:
        """Write the model to a file for `augnet predict`, `augnet inspect` and `augnet export`."""
        check_is_fitted(self)
        return save(self.model_, path)


class AugNetClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Learn classes, and which transformations leave them alone.

    The arguments are those of `augnet.learn`; numbers are centered and scaled per column or
    channel, images brought to [0, 1]. After `fit`, `invariances_` has a row per transform, which
    `pandas.DataFrame` takes as it is, and `model_` the model.
    """

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn."""
        x, y = self._checked(X, y, fitting=True)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("AugNetClassifier takes at least two classes; y has one class")
        self._fit(x, torch.from_numpy(numbers.astype(np.int64)), tuple(map(str, self.classes_)))
        return self

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Give the probability of each class."""
        return torch.softmax(self._outputs(X).double(), dim=1).numpy()

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Give the most probable class."""
        numbers = self._outputs(X).argmax(1).numpy()
        return self.classes_[numbers]


class AugNetRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """Learn values, one or several per sample, and which transformations leave them alone."""

    def __sklearn_tags__(self) -> Any:
        """Say that a target may be several values."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn."""
        x, y = self._checked(X, y, fitting=True)
        self._fit(x, torch.from_numpy(np.asarray(y, dtype=np.float32)), ())
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Give values."""
        return self._outputs(X).double().numpy()
