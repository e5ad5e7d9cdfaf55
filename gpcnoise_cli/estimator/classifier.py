"""`GPCNoiseClassifier`: the sparse variational Gaussian process classifiers of this package in scikit-learn's terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from gpcnoise_cli.config.schema import TrainConfig
from gpcnoise_cli.data.scaling import Scaler, fit_clean_scaler
from gpcnoise_cli.errors import GpcnoiseError
from gpcnoise_cli.estimator.fitting import fit_model
from gpcnoise_cli.estimator.settings import (
    AUTO,
    TARGET,
    feature_columns,
    number_of_inducing,
    parameters_of,
    rows_per_step,
    seed_from,
    settings,
    usual_ard,
)
from gpcnoise_cli.estimator.weights import merged, with_classes
from gpcnoise_cli.evaluation.metrics import clip_probabilities

if TYPE_CHECKING:
    from gpcnoise_cli.data.encoder import TableEncoder
    from gpcnoise_cli.methods.trained_model import TrainedModel


class GPCNoiseClassifier(ClassifierMixin, BaseEstimator):
    """Sparse variational Gaussian process classification with additive noise, binary and multi-class.

    The models and the training are those of `gpcnoise train`; a parameter that is None has the value of its preset
    (natural gradients, closed-form δ, and an end when the bound no longer rises).

    Parameters
    ----------
    likelihood : {"softmax", "step", "probit", "logit"}, default="softmax"
        Or one of other authors: "augmented", "probit_quadrature", "logit_quadrature", "softmax_sampled", "dirichlet".
    kernel : {"rbf", "matern32", "matern52", "matern52+rbf"}, default="rbf"
    method : {"svgp", "ep", "selu"}, default="svgp"
        What is trained: the sparse variational GP, or another method of the registry, which takes of the parameters
        here what concerns it; its own settings are overrides such as `"method.settings.layers=3"`.
    ard : bool, optional
        One lengthscale per feature, or one. By default as the preset, except that preset fast has one for fewer than
        2000 rows.
    inducing : int or "auto", default="auto"
        Number of inducing points, never more than there are different rows; "auto" is 50 + n/6, at most 300.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto" takes all rows up to 2048, and 1024 of more.
    iterations : int, optional
        Steps at most.
    learning_rate : float, optional
        Adam's rate, for the kernel.
    delta : {"free", "fixed", "optimal"}, optional
        How δ, the part of wrong labels, is found; the softmax has none.
    bound : {"tilted", "gumbel"}, optional
        The bound of the softmax likelihood; of "augmented": "collapsed" or "mean-field".
    objective : {"elbo", "predictive"}, optional
        What training maximises: a bound on the evidence, or the log density of the labels, which is no such bound.
    precision : {"mixed", "float64", "float32"}, default="mixed"
        Of the training; predictions are computed in float64.
    standardise : bool, default=True
        Centre and scale each feature on the training rows; the start values assume features of about unit variance.
    class_weight : {"balanced"}, dict or None, default=None
        What the weights of the rows of a class are multiplied by; "balanced" gives all classes the same total.
    preset : {"fast", "paper"}, default="fast"
    overrides : sequence of str, default=()
        Any other setting, as on the command line: `("kernel.shared=false",)`.
    warm_start : bool, default=False
        Let `fit` continue from the fitted model: its scaling, inducing points, kernel and q(u).
    random_state : int, RandomState instance or None, default=None
        Decides the k-means start and the minibatches.
    verbose : bool, default=False

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,), where X had names
    n_iter_ : int, the steps of the latest fit
    elbo_ : float or None, the bound on the log evidence of the training rows at the end; None with another objective
    objective_value_ : float, what training maximised, at the end
    n_inducing_ : int
    delta_ : float or None, the part of wrong labels that the model assumes

    Notes
    -----
    Weights are not brought to a mean of one: a row of weight 2 is two rows, in the bound, the scaling, the starts, the
    closed-form δ and the end of training. Class weights change the shares of the classes that probabilities speak of;
    to decide by cost, keep them out and weigh the probabilities instead (docs/trust.md).
    """

    _encoder: TableEncoder | None = None  # of a loaded run whose table was more than complete columns of numbers

    def __init__(
        self,
        likelihood: str = "softmax",
        kernel: str = "rbf",
        *,
        method: str = "svgp",
        ard: bool | None = None,
        inducing: int | str = AUTO,
        batch_size: int | str = AUTO,
        iterations: int | None = None,
        learning_rate: float | None = None,
        delta: str | None = None,
        bound: str | None = None,
        objective: str | None = None,
        precision: str = "mixed",
        standardise: bool = True,
        class_weight: Any = None,
        preset: str = "fast",
        overrides: Sequence[str] = (),
        warm_start: bool = False,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.likelihood = likelihood
        self.kernel = kernel
        self.method = method
        self.ard = ard
        self.inducing = inducing
        self.batch_size = batch_size
        self.iterations = iterations
        self.learning_rate = learning_rate
        self.delta = delta
        self.bound = bound
        self.objective = objective
        self.precision = precision
        self.standardise = standardise
        self.class_weight = class_weight
        self.preset = preset
        self.overrides = overrides
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> GPCNoiseClassifier:
        """Learn from rows X [n, d] of numbers and their classes y [n]; a row of weight 2 counts as two such rows."""
        parameters, seed = self.get_params(deep=False), seed_from(self.random_state)
        settings(parameters, seed)  # what is wrong with them is told before the data are looked at
        start = getattr(self, "_fitted", None) if self.warm_start else None
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, reset=start is None)
        check_classification_targets(y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
            X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
            if not len(y):
                raise ValueError("all sample weights are 0, so there is nothing to learn from.")
        classes, labels = self._labels(y, start)
        X, labels, weights = merged(X, labels, weights)
        if self.ard is None:
            parameters["ard"] = start.config.kernel.ard if start else usual_ard(self.preset, len(X))
        config = settings(parameters, seed)
        try:
            weights = with_classes(weights, self.class_weight, labels, classes)
            scaler = start.scaler if start else self._scaler(X, weights)
            X = scaler.transform(X)
            m = self._kept_inducing(start, config) if start else number_of_inducing(X, self.inducing)
            config = replace(config, inducing=m, batch_size=rows_per_step(len(X), self.batch_size))
            fit = fit_model(
                config, X, labels, len(classes), scaler, weights=weights, start=start, verbose=bool(self.verbose)
            )
        except GpcnoiseError as error:
            raise ValueError(str(error)) from error
        if start is None:
            self._encoder = None
        self.classes_ = classes
        self._fitted, self.n_iter_ = fit.trained, fit.facts["steps"]
        self.objective_value_, self.elbo_ = fit.facts.get("objective_value"), fit.facts.get("elbo")
        self.n_inducing_, self.delta_ = m, fit.facts.get("delta")
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        winners = self.predict_proba(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """[n, C] probabilities, in the order of `classes_`."""
        rows = self._rows(X)
        return clip_probabilities(self._fitted.predict_probabilities(rows))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of `predict_proba`, never below about −28."""
        return np.log(self.predict_proba(X))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The log odds of the second of two classes; of more, [n, C] log probabilities, centred in each row."""
        logs = self.predict_log_proba(X)
        return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs - logs.mean(axis=1, keepdims=True)

    def predict_latent(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Means μ and variances ν of the latent functions at each row.

        [n, C] each; step, probit and logit have a single latent function for two classes. ν is what the model does not
        know about f there; the noise of the likelihood comes on top.
        """
        rows = self._rows(X)
        rows = self._fitted.scaler.transform(rows)
        latent = getattr(self._fitted.predictor, "latent", None)
        if latent is None:
            raise AttributeError(f"method {self._fitted.config.method.name!r} has no latent functions.")
        parts = list(latent(rows))
        return np.concatenate([mu for mu, _ in parts]), np.concatenate([nu for _, nu in parts])

    @classmethod
    def from_run(cls, run_dir: str | Path) -> GPCNoiseClassifier:
        """The model that `gpcnoise train` (or `save_run`) left in a run folder, fitted.

        Of a run on a table of one's own the estimator takes a data frame with the columns of that table, which it reads
        as `gpcnoise predict` does, or the numbers that they were turned into (`feature_names_in_`). The classes keep
        the order of the run.
        """
        from gpcnoise_cli.methods.trained_model import TrainedModel

        loaded = TrainedModel.load(Path(run_dir))
        fitted, encoder = loaded.in_precision("float64"), loaded.encoder
        estimator = cls(**parameters_of(loaded.config))
        names = np.empty(len(encoder.class_names), dtype=object)
        names[:] = encoder.class_names
        one_type = len({type(name) for name in encoder.class_names}) == 1
        estimator.classes_ = np.asarray(names.tolist()) if one_type else names
        estimator.n_features_in_ = fitted.d
        estimator.feature_names_in_ = np.asarray(encoder.feature_names, dtype=object)
        estimator._fitted = fitted
        if any(column.kind != "numeric" or column.missing == "impute" for column in encoder.columns):
            estimator._encoder = encoder
        estimator.n_inducing_ = fitted.config.inducing
        estimator.delta_ = loaded.predictor.facts().get("delta")
        return estimator

    def save_run(self, run_dir: str | Path) -> Path:
        """Write a new folder on which `gpcnoise predict` and `gpcnoise evaluate --data` work; returns it.

        Its columns are `feature_names_in_` (x0, x1, … without names), its target column is `class`.
        """
        check_is_fitted(self)
        from gpcnoise_cli.data.cell import plain
        from gpcnoise_cli.data.encoder import Column, TableEncoder
        from gpcnoise_cli.runs.run_folder import RunFolder

        names = feature_columns(getattr(self, "feature_names_in_", None), self.n_features_in_)
        columns = tuple(Column(name, "numeric") for name in names)
        classes = tuple(plain(name) for name in self.classes_.tolist())
        trained = replace(self._fitted, encoder=self._encoder or TableEncoder(columns, TARGET, classes))
        trained = trained.in_precision(self.precision)
        trained.save(RunFolder.create(replace(trained.config, out=str(run_dir))).path)
        return Path(run_dir)

    def _labels(self, y: NDArray[Any], start: TrainedModel | None) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The classes, and y as numbers 0..C−1."""
        classes, labels = np.unique(y, return_inverse=True)
        if start is not None:
            known = {name: number for number, name in enumerate(self.classes_.tolist())}
            for name in classes.tolist():
                if name not in known:
                    raise ValueError(
                        f"warm_start: class {name!r} is not among those of the first fit, {list(known)}; "
                        "set warm_start=False to start from the beginning."
                    )
            labels = np.asarray([known[name] for name in classes.tolist()])[labels]
            classes = self.classes_
        if len(classes) < 2:
            raise ValueError(
                f"at least two classes are needed to tell them apart; y holds only one class, {classes.tolist()[0]!r}."
            )
        return classes, labels.astype(np.int64)

    def _scaler(self, X: NDArray[np.float64], weights: NDArray[np.float64] | None) -> Scaler:
        if self.standardise:
            return fit_clean_scaler(X, weights=weights)
        return Scaler(np.zeros(X.shape[1]), np.ones(X.shape[1]))

    def _kept_inducing(self, start: TrainedModel, config: TrainConfig) -> int:
        """The number of inducing points of `start`, which must be the kind of model that is asked for."""
        before = start.config
        for name in ("likelihood.name", "kernel.name", "kernel.ard", "objective"):
            had, asked = (attrgetter(name)(one) for one in (before, config))
            if asked != had:
                told = name.removesuffix(".name").removeprefix("kernel.")
                raise ValueError(
                    f"warm_start: the fitted model has {told}={had!r}, not {asked!r}; "
                    "set warm_start=False to start from the beginning."
                )
        return before.inducing

    def _rows(self, X: Any) -> NDArray[np.float64]:
        """X checked, as numbers; a data frame of a run with other columns is encoded as that run did."""
        check_is_fitted(self)
        encoder = self._encoder
        if encoder is not None and all(column.name in getattr(X, "columns", ()) for column in encoder.columns):
            X = _frame(encoder.encode(X), encoder.feature_names)
        return validate_data(self, X, dtype=np.float64, reset=False)


def _frame(X: NDArray[np.float64], names: Sequence[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=list(names))
