"""`GPCNoiseClassifier` as scikit-learn users meet it: its rules, its tools, and what it does with odd data."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from gpcnoise_cli import GPCNoiseClassifier
from gpcnoise_cli.training import reuse

QUICK = {"inducing": 8, "iterations": 30, "random_state": 0}
# The checks that fit on little and take a second or so each; the slow test runs all of them.
QUICK_CHECKS = {
    "check_no_attributes_set_in_init",
    "check_fit_score_takes_y",
    "check_estimators_unfitted",
    "check_dont_overwrite_parameters",
    "check_mixin_order",
    "check_estimators_nan_inf",
    "check_estimators_pickle",
    "check_classifiers_one_label",
    "check_classifiers_regression_target",
    "check_fit2d_1sample",
    "check_dict_unchanged",
    "check_methods_sample_order_invariance",
    "check_set_params",
    "check_requires_y_none",
}


def cases() -> list[Any]:
    made = []
    for estimator, check in estimator_checks_generator(GPCNoiseClassifier()):
        name = check.func.__name__
        marks = () if name in QUICK_CHECKS else (pytest.mark.slow,)
        made.append(pytest.param(estimator, check, id=name, marks=marks))
    return made


@pytest.fixture(scope="module")
def iris() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_iris(return_X_y=True)
    return X, y


@pytest.fixture(scope="module")
def fitted(iris: tuple[np.ndarray, np.ndarray]) -> GPCNoiseClassifier:
    return GPCNoiseClassifier(**QUICK).fit(*iris)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(("estimator", "check"), cases())
def test_scikit_learn_s_own_checks(estimator: Any, check: Any) -> None:
    """None of them is expected to fail."""
    if check.func.__name__ in QUICK_CHECKS:
        estimator = estimator.set_params(iterations=60)
    check(estimator)


def test_importing_it_does_not_load_tensorflow_and_the_package_not_even_numpy() -> None:
    code = (
        "import sys, gpcnoise_cli; assert not {'numpy', 'sklearn', 'tensorflow'} & set(sys.modules)\n"
        "gpcnoise_cli.GPCNoiseClassifier(); assert 'sklearn' in sys.modules and 'tensorflow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_probabilities_logs_decisions_and_classes_agree(fitted: GPCNoiseClassifier, iris: Any) -> None:
    X, y = iris
    p = fitted.predict_proba(X)
    assert p.shape == (150, 3)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_allclose(np.exp(fitted.predict_log_proba(X)), p)
    assert_array_equal(fitted.predict(X), fitted.classes_[p.argmax(axis=1)])
    assert_array_equal(fitted.decision_function(X).argmax(axis=1), p.argmax(axis=1))
    assert fitted.score(X, y) > 0.9
    mu, nu = fitted.predict_latent(X)
    assert mu.shape == nu.shape == (150, 3)
    assert np.all(nu > 0)


@pytest.mark.parametrize("names", [["no", "yes"], [False, True], [-3, 7], [1.0, 2.0]])
@pytest.mark.parametrize("likelihood", ["softmax", "probit"])
def test_two_classes_of_any_type(names: list[Any], likelihood: str, iris: Any) -> None:
    X, y = iris
    named = np.asarray(names)[(y > 0).astype(int)]
    clf = GPCNoiseClassifier(likelihood, **QUICK).fit(X, named)
    assert clf.classes_.tolist() == names
    assert clf.predict(X).dtype == named.dtype
    assert clf.score(X, named) > 0.95
    p = clf.predict_proba(X)
    assert_allclose(clf.decision_function(X), np.log(p[:, 1] / p[:, 0]))
    assert clf.predict_latent(X)[0].shape == (150, 2 if likelihood == "softmax" else 1)
    assert (clf.delta_ is None) == (likelihood == "softmax")


def test_same_seed_same_model_and_a_pickle_predicts_to_the_last_bit(fitted: GPCNoiseClassifier, iris: Any) -> None:
    X, y = iris
    again = clone(fitted).fit(X, y)
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    content = pickle.dumps(fitted)
    assert b"tensorflow" not in content
    assert b"gpflow" not in content
    assert_array_equal(pickle.loads(content).predict_proba(X), fitted.predict_proba(X))
    assert len(content) < 20_000


@pytest.mark.parametrize(
    "options",
    [
        {"likelihood": "probit", "batch_size": 32},
        *(pytest.param(o, marks=pytest.mark.slow) for o in ({}, {"kernel": "matern52+rbf"})),
    ],
)
def test_a_compiled_loop_that_is_used_again_gives_the_same_model(options: dict[str, Any], iris: Any) -> None:
    """Between two fits on the same rows comes one of the same shape on others, and one that fails."""
    X, y = iris
    clf = GPCNoiseClassifier(**QUICK, **options)
    reuse._kept.clear()
    first = clone(clf).fit(X, y)
    assert len(reuse._kept) == 1
    (loop,) = (one.loop for one in reuse._kept.values())
    other = clone(clf).fit(-X[::-1], (y[::-1] + 1) % 3)
    again = clone(clf).fit(X, y)
    assert [one.loop for one in reuse._kept.values()] == [loop]
    assert loop._run.experimental_get_tracing_count() == 1
    assert_array_equal(again.predict_proba(X), first.predict_proba(X))
    assert (again.elbo_, again.n_iter_) == (first.elbo_, first.n_iter_)
    assert other.score(-X, (y + 1) % 3) > 0.9
    assert first.score(X, y) > 0.9


@pytest.mark.slow
def test_a_pickle_works_in_a_new_process(fitted: GPCNoiseClassifier, iris: Any, tmp_path: Any) -> None:
    (tmp_path / "model.pkl").write_bytes(pickle.dumps((fitted, iris[0])))
    code = (
        "import pickle, sys; clf, X = pickle.load(open(sys.argv[1], 'rb')); "
        "print(repr(float(clf.predict_proba(X)[3, 0])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.pkl")], check=True, capture_output=True, text=True
    )
    assert_allclose(float(done.stdout), fitted.predict_proba(iris[0])[3, 0], rtol=1e-9)
    assert done.stderr == ""


@pytest.mark.slow
def test_the_predictive_objective_has_a_value_and_no_bound(iris: Any) -> None:
    clf = GPCNoiseClassifier(**QUICK, objective="predictive").fit(*iris)
    assert clf.elbo_ is None
    assert clf.objective_value_ < 0.0
    assert clf.score(*iris) > 0.8
    plain = GPCNoiseClassifier(**QUICK).fit(*iris)
    assert plain.elbo_ == plain.objective_value_


@pytest.mark.slow
def test_warm_start_goes_on_where_the_fit_ended(iris: Any) -> None:
    X, y = iris
    clf = GPCNoiseClassifier(**QUICK, warm_start=True).fit(X, y)
    first, names = clf.elbo_, clf.classes_
    clf.set_params(iterations=40).fit(X[::2], y[::2])
    clf.fit(X, y)
    assert clf.elbo_ > first
    assert clf.classes_ is names
    with pytest.raises(ValueError, match="class 9 is not among those of the first fit"):
        clf.fit(X, np.where(y == 2, 9, y))
    with pytest.raises(ValueError, match="kernel='rbf', not 'matern32'"):
        clf.set_params(kernel="matern32").fit(X, y)
    with pytest.raises(ValueError, match="objective='elbo', not 'predictive'"):
        clf.set_params(kernel="rbf", objective="predictive").fit(X, y)
    with pytest.raises(ValueError, match="features"):
        clf.set_params(objective=None).fit(X[:, :2], y)
    clf.set_params(warm_start=False).fit(X[:, :2], y)
    assert clf.n_features_in_ == 2


def test_columns_of_a_data_frame_are_known_by_name(iris: Any) -> None:
    X, y = iris
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    clf = GPCNoiseClassifier(**QUICK).fit(frame, y)
    assert clf.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    with pytest.raises(ValueError, match="in the same order"):
        clf.predict(frame[["b", "a", "c", "d"]])


@pytest.mark.slow
def test_it_works_in_pipelines_searches_and_calibration(iris: Any) -> None:
    X, y = iris
    quick = GPCNoiseClassifier(inducing=8, iterations=20, random_state=0)
    grid = {"gpcnoiseclassifier__likelihood": ["softmax", "step"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), quick), grid, cv=2, scoring="neg_log_loss").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    calibrated = CalibratedClassifierCV(quick, cv=2).fit(X, y)
    assert calibrated.score(X, y) > 0.8


@pytest.mark.slow
def test_two_processes_of_joblib(iris: Any) -> None:
    scores = [cross_val_score(GPCNoiseClassifier(**QUICK), *iris, cv=4, n_jobs=jobs) for jobs in (1, 2)]
    assert_allclose(*scores)


@pytest.mark.slow
def test_a_lengthscale_per_feature_needs_rows_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)

    def lengthscales(**parameters: Any) -> int:
        fitted = GPCNoiseClassifier(inducing=8, iterations=2, random_state=0, **parameters).fit(X, y)
        return np.size(fitted._fitted.hyperparameters["kernel.stack.lengthscales"]) // 3  # a kernel for each class

    assert lengthscales() == 1
    assert lengthscales(ard=True) == lengthscales(overrides=("kernel.ard=true",)) == 4
    monkeypatch.setattr("gpcnoise_cli.estimator.settings.LEAST_FOR_ARD", 100)
    assert lengthscales() == 4
    assert lengthscales(ard=False) == 1


@pytest.mark.slow
def test_automatic_sizes_fit_the_data(iris: Any) -> None:
    X, y = iris
    assert GPCNoiseClassifier(iterations=1).fit(X, y).n_inducing_ == 75
    few = GPCNoiseClassifier(iterations=1).fit(np.repeat(X[::50], 30, axis=0), np.repeat(y[::50], 30))
    assert few.n_inducing_ == 3
    assert GPCNoiseClassifier(iterations=1, inducing=500, batch_size=999).fit(X, y).n_inducing_ == 149


@pytest.mark.slow
@settings(max_examples=5)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(2, 12),
    d=st.integers(1, 3),
    kind=st.sampled_from(["plain", "constant column", "all constant", "huge", "repeated"]),
)
def test_small_and_odd_data_are_fitted_too(seed: int, n: int, d: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.arange(n) % 2
    if kind == "constant column":
        X[:, 0] = 3.7
    elif kind == "all constant":
        X[:] = 1e-3
    elif kind == "huge":
        X *= 1e12
    elif kind == "repeated":
        X[:] = X[rng.integers(2, size=n)]
    p = GPCNoiseClassifier(iterations=3, random_state=seed).fit(X, y).predict_proba(X)
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"likelihood": "softmx"}, "unknown likelihood 'softmx'; did you mean 'softmax'"),
        ({"inducing": 0}, "inducing must be 'auto' or a whole number of at least 1, not 0"),
        ({"inducing": "many"}, "not 'many'"),
        ({"batch_size": 2.5}, "batch_size must be"),
        ({"iterations": 0}, "iterations must be at least 1"),
        ({"learning_rate": -1.0}, "optimizer.learning_rate must be greater than 0"),
        ({"precision": "float16"}, "float16"),
        ({"bound": ["tilted"]}, "bound must be a text or a number"),
        ({"overrides": ("kernel.shard=true",)}, "unknown key 'kernel.shard'"),
        ({"overrides": ("dataset.storage=disk",)}, "storage=disk says how a file is read or split"),
        ({"overrides": ("dataset.holdout=0.2",)}, "holdout=0.2 says how a file is read or split"),
        ({"overrides": ("folds=5",)}, "folds=5 says how a file is read or split"),
    ],
)
def test_a_wrong_parameter_is_a_value_error_in_one_sentence(wrong: dict[str, Any], words: str, iris: Any) -> None:
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        GPCNoiseClassifier(**wrong).fit(*iris)


def test_the_runtime_is_heeded(iris: Any) -> None:
    import tensorflow as tf

    X, y = iris[0][::10], iris[1][::10]
    few = {"iterations": 2, "inducing": 5}
    with pytest.raises(ValueError, match="--device gpu: TensorFlow sees no GPU here"):
        GPCNoiseClassifier(overrides=("runtime.device=gpu",), **few).fit(X, y)
    GPCNoiseClassifier(**few).fit(X, y)  # TensorFlow has started
    with pytest.warns(UserWarning, match="runtime.threads=7 comes too late"):
        GPCNoiseClassifier(overrides=("runtime.threads=7",), **few).fit(X, y)
    with pytest.raises(RuntimeError, match="determinism"):  # of an operation that cannot be had so
        tf.random.uniform([2])


def test_another_method_in_a_pipeline(iris: Any, tmp_path: Any) -> None:
    small = ("method.settings.units=16", "method.settings.layers=2", "method.settings.batch_size=16")
    model = make_pipeline(StandardScaler(), GPCNoiseClassifier(method="selu", overrides=small, random_state=0))
    assert model.fit(*iris).score(*iris) > 0.9
    selu = model[-1]
    assert (selu.delta_, selu.elbo_) == (None, None)
    with pytest.raises(AttributeError, match="method 'selu' has no latent functions"):
        selu.predict_latent(iris[0])
    loaded = GPCNoiseClassifier.from_run(selu.save_run(tmp_path / "run"))
    assert loaded.get_params()["method"] == "selu"
    X = model[0].transform(iris[0])
    named = pd.DataFrame(X, columns=loaded.feature_names_in_)
    np.testing.assert_array_equal(loaded.predict_proba(named), selu.predict_proba(X))


def test_verbose_prints_and_silence_is_the_default(iris: Any, capsys: pytest.CaptureFixture[str]) -> None:
    GPCNoiseClassifier(inducing=5, iterations=3).fit(*iris)
    assert capsys.readouterr() == ("", "")
    GPCNoiseClassifier(inducing=5, iterations=3, verbose=True).fit(*iris)
    assert "step 3 of at most 3: loss" in capsys.readouterr().out


def test_unfitted_it_says_so(iris: Any) -> None:
    for method in ("predict", "predict_proba", "predict_latent", "decision_function"):
        with pytest.raises(NotFittedError):
            getattr(GPCNoiseClassifier(), method)(iris[0])
