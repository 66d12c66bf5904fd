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

from augnet.categories import look_like_values
from augnet.data.input_spec import DIMENSIONS, InputSpec
from augnet.learn import OPTIONS, LearnConfig, learn
from augnet.learn.config import Trunk
from augnet.learn.result import Invariance
from augnet.model import Model, save
from augnet.model.header import Measurement
from augnet.transforms import TransformSpec

__all__ = ["AugNetClassifier", "AugNetRegressor"]

Array = NDArray[Any]


class _Estimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: samples (N, D), (N, C, T) or (N, C, H, W)."""

    # scikit-learn reads parameters off this signature. They are the options of `learn`, with
    # random_state for seed, and what transforms share; a test compares the two.
    def __init__(
        self,
        transforms: str | Iterable[TransformSpec] = "auto",
        layers: Iterable[Iterable[TransformSpec]] | None = None,
        trunk: Trunk = "auto",
        budget: int | float | str | None = None,
        seeds: int = 1,
        copies: int = 10,
        lr: float = 2e-3,
        threads: int | None = None,
        tolerance: float = LearnConfig.tolerance,
        jobs: int = 1,
        by_class: bool = False,
        sfreq: float | None = None,
        channels: Iterable[str] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.transforms = transforms
        self.layers = layers
        self.trunk = trunk
        self.budget = budget
        self.seeds = seeds
        self.copies = copies
        self.lr = lr
        self.threads = threads
        self.tolerance = tolerance
        self.jobs = jobs
        self.by_class = by_class
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

    def _fit(self, x: Array, y: torch.Tensor, classes: tuple[str, ...], groups: Any) -> None:
        if x.ndim - 1 not in DIMENSIONS:
            raise ValueError(f"X is (N, D), (N, C, T) or (N, C, H, W); got shape {x.shape}")
        self.seed_ = int(check_random_state(self.random_state).randint(2**31 - 1))
        names = [each.name for each in OPTIONS if each.name != "seed"]
        config = LearnConfig(seed=self.seed_, **{name: getattr(self, name) for name in names})
        if len(x) < config.min_samples:
            raise ValueError(
                f"learn takes at least {config.min_samples} samples; got n_samples = {len(x)}"
            )
        samples = torch.tensor(x)
        spec = InputSpec(
            kind=DIMENSIONS[samples.dim() - 1],
            shape=tuple(x.shape[1:]),
            sfreq=self.sfreq,
            channels=tuple(self.channels or ()),
        ).fitted(samples)
        result = learn(spec.prepare(samples), y, groups=groups, config=config, **spec.shared)
        self.model_ = Model.of(
            result.net,
            spec.shape,
            trunk=config.net_trunk if isinstance(config.net_trunk, str) else "given:trunk",
            classes=classes,
            input_spec=spec,
            invariances=result.invariances,
            measurement=Measurement.of(result),
        )
        self.invariances_ = [_row(row) for row in self.model_.invariances]
        self.measurement_ = self.model_.header.measurement.model_dump()
        self.history_ = result.history

    def _outputs(self, x: Any) -> torch.Tensor:
        check_is_fitted(self)
        return self.model_.outputs(torch.tensor(self._checked(x)), self.seed_)

    def save(self, path: str | Path) -> Path:
        """Write the model to a file for `augnet predict`, `augnet inspect` and `augnet export`."""
        check_is_fitted(self)
        return save(self.model_, path)


def _row(row: Invariance) -> dict[str, Any]:
    """Return an invariance as a row of a table; what is unclear has no strength."""
    clear = row.status != "unclear"
    low, high = row.interval
    return {
        "transform": row.transform.name,
        "status": row.status,
        "strength": row.strength if clear else None,
        "unit": row.unit,
        "low": low if clear else None,
        "high": high if clear else None,
        "cost": row.cost,
        "reason": row.reason,
    }


class AugNetClassifier(ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Learn classes, and which transforms preserve them.

    The arguments are the options of `augnet.learn`; numbers are centered and scaled per column or
    channel, images are scaled to [0, 1]. After `fit`, `invariances_` has a row per transform, which
    `pandas.DataFrame` accepts; `measurement_` has the score and the chance of the network that
    measured them, its training steps and warnings; `model_` is the model.
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:  # noqa: N803
        """Measure the invariances, and train the net; no group is both fitted and held out."""
        x, y = self._checked(X, y, fitting=True)
        check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("AugNetClassifier takes at least two classes; y has one class")
        labels = torch.from_numpy(numbers.astype(np.int64))
        if self.classes_.dtype.kind in "iu" and look_like_values(labels.bincount()):
            raise ValueError(
                f"AugNetClassifier takes classes; {len(y)} samples have {len(self.classes_)} "
                "different whole numbers, most of them rare: AugNetRegressor is for values"
            )
        self._fit(x, labels, tuple(map(str, self.classes_)), groups)
        return self

    def predict_proba(self, X: Any) -> Array:  # noqa: N803
        """Return the probability of each class."""
        return torch.softmax(self._outputs(X).double(), dim=1).numpy()

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return the most probable class."""
        numbers = self._outputs(X).argmax(1).numpy()
        return self.classes_[numbers]


class AugNetRegressor(RegressorMixin, _Estimator):  # type: ignore[misc]
    """Learn values, one or several per sample, and which transforms preserve them."""

    def __sklearn_tags__(self) -> Any:
        """Declare that a target may be several values."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:  # noqa: N803
        """Measure the invariances, and train the net; no group is both fitted and held out."""
        x, y = self._checked(X, y, fitting=True)
        self._fit(x, torch.from_numpy(np.asarray(y, dtype=np.float32)), (), groups)
        return self

    def predict(self, X: Any) -> Array:  # noqa: N803
        """Return values."""
        return self._outputs(X).double().numpy()
