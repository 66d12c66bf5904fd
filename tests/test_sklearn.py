"""The estimators are scikit-learn's: clones, pipelines, searches, and its own checks."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from augnet.learn import OPTIONS, learn
from augnet.learn.result import Invariance
from augnet.model import load
from augnet.sklearn import AugNetClassifier, AugNetRegressor, _row
from augnet.transforms import SignFlip


def blobs(size=48):
    draws = np.random.default_rng(0)
    y = np.array(["no", "yes"])[np.arange(size) % 2]
    return 3.0 * (y == "yes")[:, None] + draws.normal(size=(size, 3)), y


def test_the_parameters_are_the_options_of_learn():
    parameters = inspect.signature(AugNetClassifier).parameters
    options = {each.name: each.default for each in OPTIONS if each.name != "seed"}
    assert list(parameters) == [*options, "sfreq", "channels", "random_state"]
    assert {name: parameters[name].default for name in options} == options
    assert list(AugNetRegressor().get_params()) == sorted(parameters)


def small(**more):
    return AugNetClassifier(transforms=["sign_flip", "gaussian_noise"], budget=30, **more)


@pytest.fixture(scope="module")
def fitted():
    return small().fit(*blobs())


def test_it_learns_and_reports_invariances(fitted, tmp_path):
    x, y = blobs()
    assert fitted.score(x, y) > 0.9
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert np.allclose(fitted.predict_proba(x).sum(1), 1)
    assert [row["transform"] for row in fitted.invariances_] == ["sign_flip", "gaussian_noise"]
    assert set(fitted.invariances_[0]) == {
        "transform",
        "status",
        "strength",
        "unit",
        "low",
        "high",
        "cost",
        "reason",
    }
    assert set(fitted.measurement_) == {"score", "chance", "steps", "warnings", "gain"}
    again = load(fitted.save(tmp_path / "m"))
    assert again.header.classes == ("no", "yes")
    copied = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(copied.predict_proba(x), fitted.predict_proba(x))


def test_rows_that_are_unclear_have_a_reason_and_no_strength():
    row = _row(Invariance(SignFlip(), "unclear", 0.0, (0.0, 0.5), reason="no time"))
    assert row == {
        "transform": "sign_flip", "status": "unclear", "strength": None, "unit": "probability",
        "low": None, "high": None, "cost": None, "reason": "no time",
    }  # fmt: skip


def test_it_is_cloned_piped_and_searched():
    x, y = blobs()
    pipeline = make_pipeline(StandardScaler(), small())
    search = GridSearchCV(pipeline, {"augnetclassifier__budget": [1, 20]}, cv=2).fit(x, y)
    assert search.best_score_ > 0.7
    assert clone(small(copies=3)).copies == 3


def test_signals_images_and_values():
    draws = np.random.default_rng(0)
    y = np.arange(40) % 2
    for shape in ((2, 64), (1, 12, 12)):
        x = draws.random((40, *shape)) + y.reshape(-1, *(1 for _ in shape))
        model = AugNetClassifier(["gaussian_noise"], budget=40, copies=2).fit(x, y)
        assert model.predict(x).shape == (40,)
        assert model.model_.net.copies == 2
    x = draws.normal(size=(60, 3))
    model = AugNetRegressor(["sign_flip"], budget=60).fit(x, x[:, 0])
    assert model.predict(x).shape == (60,)
    assert model.score(x, x[:, 0]) > 0.5
    both = AugNetRegressor(["sign_flip"], budget=1).fit(x, x[:, :2])
    assert both.predict(x).shape == (60, 2)
    with pytest.raises(ValueError, match="got shape"):
        AugNetRegressor().fit(np.zeros((20, 2, 2, 2, 2)), np.arange(20.0))


def test_groups_are_given_to_fit(monkeypatch):
    x, y = blobs()
    groups = [f"s{number // 6}" for number in range(len(y))]
    given = []
    monkeypatch.setattr(
        "augnet.sklearn.learn",
        lambda *data, **more: given.append(more["groups"]) or learn(*data, **more),
    )
    model = AugNetClassifier(["sign_flip"], budget=1)
    model.fit(x, y, groups=groups)
    make_pipeline(StandardScaler(), model).fit(x, y, augnetclassifier__groups=groups)
    AugNetRegressor(["sign_flip"], budget=1).fit(x, x[:, 0], groups)
    assert given == [groups, groups, groups]
    with pytest.raises(ValueError, match="one group per sample"):
        model.fit(x, y, groups=groups[:5])
    with pytest.raises(ValueError, match="in fewer: 0, 1"):
        model.fit(x, y, groups=y)


def test_booleans_are_classes_and_many_whole_numbers_are_not():
    x, y = blobs()
    model = AugNetClassifier(["sign_flip"], budget=1).fit(x, y == "yes")
    assert model.classes_.tolist() == [False, True]
    assert model.predict(x).dtype == bool
    with pytest.raises(ValueError, match="AugNetRegressor is for values"):
        AugNetClassifier(["sign_flip"]).fit(x, np.arange(len(y)) // 2)


def test_frames_of_pandas_are_taken():
    pandas = pytest.importorskip("pandas")
    x, y = blobs()
    frame = pandas.DataFrame(x, columns=list("abc"))
    groups = pandas.Series(np.arange(len(y)) // 6)
    model = AugNetClassifier(["sign_flip"], budget=1).fit(frame, pandas.Series(y), groups=groups)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.predict(frame).shape == y.shape


FEW = "learn takes 16 samples, and 4 of each class: this check has fewer"
RANDOM = "predictions average over copies, whose random params depend on the batch"
EXPECTED = {
    "check_methods_sample_order_invariance": RANDOM,
    "check_methods_subset_invariance": RANDOM,
    "check_fit2d_1feature": FEW,
    "check_n_features_in_after_fitting": FEW,
    "check_estimators_nan_inf": FEW,
    "check_regressors_no_decision_function": FEW,
    "check_classifier_data_not_an_array": FEW,
    "check_regressor_multioutput": FEW,
}


@pytest.mark.slow
@parametrize_with_checks(
    [
        AugNetClassifier(transforms=["gaussian_noise"], budget=30, copies=2),
        AugNetRegressor(transforms=["gaussian_noise"], budget=30, copies=2),
    ],
    expected_failed_checks=lambda estimator: EXPECTED,
)
@pytest.mark.filterwarnings("default")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
